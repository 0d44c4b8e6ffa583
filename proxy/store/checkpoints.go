package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// State is what a state is folded from: the newest snapshot at or before the
// checkpoint and the state-changing events after it, up to and including it.
type State struct {
	Checkpoint mapping.Checkpoint // zero on an empty thread
	Snapshot   []byte             // nil: empty state
	Events     []mapping.Event
	DiffBytes  int // bytes of Events
}

// StateAt reads a checkpoint; "" is the head. An empty thread gives a zero
// State; an unknown id is NotFound.
func (s *Store) StateAt(ctx context.Context, threadID, checkpointID string) (st State, err error) {
	err = s.read(ctx, func(t *tx) error {
		key, err := s.threadKey(t, tenantOf(ctx), threadID)
		if err != nil {
			return err
		}
		id := checkpointID
		if id == "" {
			if err := t.get(`SELECT head FROM thread_seq WHERE thread = $1`, in{key}, out{&id}); err != nil {
				return noThread(err, threadID)
			}
		}
		if id == "" {
			st = State{}
			return nil
		}
		st, err = stateAt(t, key, id)
		return err
	})
	return st, err
}

// spot is where a checkpoint's state is to be read from.
type spot struct{ seq, line, base int64 }

func findSpot(t *tx, thread int64, id string) (at spot, err error) {
	err = t.get(`SELECT seq, line, base FROM checkpoints WHERE thread = $1 AND checkpoint_id = $2`, in{thread, id}, out{&at.seq, &at.line, &at.base})
	return at, missing(err, mapping.CodeCheckpointNotFound, "checkpoint", id)
}

func stateAt(t *tx, thread int64, id string) (st State, err error) {
	at, err := findSpot(t, thread, id)
	if err != nil {
		return st, err
	}
	if st.Snapshot, err = snapshotAt(t, thread, at.base); err != nil {
		return st, err
	}
	if st.Events, err = readEvents(t, thread, at.base, 0, onLine, at.line, at.seq); err != nil {
		return st, err
	}
	if err := st.tell(t, thread, at); err != nil {
		return st, err
	}
	return st, nil
}

func snapshotAt(t *tx, thread, base int64) (snapshot []byte, err error) {
	if base == 0 {
		return nil, nil
	}
	err = t.get(`SELECT snapshot FROM checkpoints WHERE thread = $1 AND seq = $2`, in{thread, base}, out{&snapshot})
	return snapshot, err
}

// tell fills in the checkpoint itself, from the event that made it, and the
// size of the events.
func (st *State) tell(t *tx, thread int64, at spot) error {
	made := st.Events
	if len(made) == 0 { // the checkpoint is its own snapshot
		var err error
		if made, err = readEvents(t, thread, at.seq-1, 1, everything); err != nil {
			return err
		}
	}
	if len(made) > 0 && made[len(made)-1].Head.Checkpoint != nil {
		st.Checkpoint = *made[len(made)-1].Head.Checkpoint
	}
	st.DiffBytes = 0
	for i := range st.Events {
		st.DiffBytes += len(st.Events[i].Data)
	}
	return nil
}
