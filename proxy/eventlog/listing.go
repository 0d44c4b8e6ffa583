package eventlog

import (
	"context"

	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

// listingKeeps is the number of bytes of states that one Listing keeps in memory.
const listingKeeps = 2 << 20

// Listing reads the states of many threads for a list of threads. It uses states in memory, and adds only the first few
// others to memory. So a short list that is requested repeatedly is read only once, and a long one uses no more memory
// than a short one and evicts nothing. Not safe for concurrent use.
type Listing struct {
	log  *Log
	room int // bytes that may still be kept
}

// Listing returns a Listing for one list of threads.
func (l *Log) Listing() *Listing { return &Listing{log: l, room: listingKeeps} }

// Base is like Log.Base, with the limited caching of a Listing.
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
