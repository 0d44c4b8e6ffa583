package store

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// keepFolded stores a snapshot of the thread's own state in place of the snapshots that the run requested of its view
// of the state. It is stored with the last of those checkpoints.
func keepFolded(t *sqldb.Tx, thread int64, events []mapping.Event, wanted map[string][]byte) error {
	for _, e := range slices.Backward(events) {
		if e.Head.Checkpoint == nil || wanted[e.Head.Checkpoint.ID] == nil {
			continue
		}
		at, err := findCheckpoint(t, thread, e.Head.Checkpoint.ID)
		if err != nil {
			return err
		}
		fold, err := foldAt(t, thread, at)
		if err != nil {
			return err
		}
		return keepAt(t, thread, e.Seq, fold.JSON())
	}
	return nil
}

func foldAt(t *sqldb.Tx, thread int64, at checkpointPos) (*state.Fold, error) {
	snapshot, events, err := stateSource(t, thread, at)
	if err != nil {
		return nil, err
	}
	fold, err := state.NewFold(snapshot)
	if err != nil {
		return nil, err
	}
	return fold.ApplyAll(events)
}

// keepAt stores a snapshot at seq and makes it the base of the checkpoints from there on.
func keepAt(t *sqldb.Tx, thread, seq int64, state []byte) error {
	if err := t.Put(`UPDATE events SET snapshot = $3 WHERE thread = $1 AND seq = $2`, thread, seq, t.Sealed(state, colEventSnapshot, thread, seq)); err != nil {
		return err
	}
	if err := t.Put(`UPDATE events SET base = $2 WHERE thread = $1 AND seq >= $2 AND checkpoint IS NOT NULL`, thread, seq); err != nil {
		return err
	}
	return t.Put(`UPDATE thread_seq SET base = $2 WHERE thread = $1`, thread, seq)
}
