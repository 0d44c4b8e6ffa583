package eventlog

import (
	"context"

	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

// listingKeeps is how many bytes of states one Listing keeps in memory.
const listingKeeps = 2 << 20

// Listing reads the states of many threads, as a list of threads does. It takes them from memory where they are there,
// and keeps the first few of the others there: so a short list that is asked for again and again is read once, and a
// long one takes no more memory than a short one and displaces nothing. Used by one goroutine.
type Listing struct {
	log  *Log
	room int // bytes that may still be kept
}

// Listing returns a Listing for one list of threads.
func (l *Log) Listing() *Listing { return &Listing{log: l, room: listingKeeps} }

// Base is Log.Base with the memory of a Listing.
func (x *Listing) Base(ctx context.Context, threadID, checkpointID string) (*state.Fold, error) {
	if checkpointID == "" {
		return state.NewFold(nil)
	}
	if k, ok := x.log.folds.get(checkpointID); ok {
		return k.fold, nil
	}
	s, err := x.log.states.At(ctx, threadID, checkpointID)
	if err != nil {
		return nil, err
	}
	f, err := FoldState(s)
	if err == nil {
		x.keep(s, f)
	}
	return f, err
}

func (x *Listing) keep(s store.State, f *state.Fold) {
	if x.room -= f.Size(); x.room >= 0 {
		x.log.Keep(s.Checkpoint.ID, f, s.Distance())
	}
}
