package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// States reads the states of threads at their checkpoints and updates them outside of runs.
type States struct {
	base  *base
	holds updateHolds
}

// State is the source of a state: the newest snapshot at or before the checkpoint, and the state-changing events after
// the snapshot up to and including the checkpoint.
type State struct {
	Checkpoint mapping.Checkpoint // zero on an empty thread
	Snapshot   []byte             // nil means the empty state
	Events     []mapping.Event
	DiffBytes  int // bytes of the Data of Events
	// Continues means that Events contains only the changes since the previous state in the list (States.List), and
	// Snapshot is not set.
	Continues bool
}

// checkpointPos locates a checkpoint: its number, its line, and the base that its state is folded on. If base > 0, it
// is the number of the event with the snapshot. If it is 0, the base is the empty state. If base < 0, the line forked
// from the state at number -base.
type checkpointPos struct{ seq, line, base int64 }

func findCheckpoint(t *sqldb.Tx, thread int64, id string) (at checkpointPos, err error) {
	err = t.Get(`SELECT seq, line, base FROM events WHERE thread = $1 AND checkpoint = $2`, sqldb.In{thread, id}, sqldb.Out{&at.seq, &at.line, &at.base})
	return at, tables.NotFound(err, mapping.CodeCheckpointNotFound, "checkpoint", id)
}

// At reads a checkpoint. An empty id means the head. It returns the zero State for an empty thread, and NotFound for an
// unknown id.
func (s *States) At(ctx context.Context, threadID, checkpointID string) (st State, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		id := checkpointID
		if id == "" {
			if err := t.Get(`SELECT head FROM thread_seq WHERE thread = $1`, sqldb.In{key}, sqldb.Out{&id}); err != nil {
				return tables.NoThread(err, threadID)
			}
		}
		if id == "" {
			return nil
		}
		at, err := findCheckpoint(t, key, id)
		if err != nil {
			return err
		}
		st, err = readState(t, key, at)
		return err
	})
	return st, err
}

// Checkpoint reads a checkpoint without its state. An empty id means the head. It returns the zero Checkpoint for an
// empty thread, and NotFound for an unknown id.
func (s *States) Checkpoint(ctx context.Context, threadID, checkpointID string) (c mapping.Checkpoint, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		c = mapping.Checkpoint{}
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		id := checkpointID
		if id == "" {
			if err := t.Get(`SELECT head FROM thread_seq WHERE thread = $1`, sqldb.In{key}, sqldb.Out{&id}); err != nil || id == "" {
				return tables.NoThread(err, threadID)
			}
		}
		found := false
		err = t.Each(`SELECT seq, at_us, head FROM events WHERE thread = $1 AND checkpoint = $2`, sqldb.In{key, id}, func(scan func(...any) error) error {
			row, err := scanCheckpoint(key, scan)
			c, found = row, true
			return err
		})
		if err == nil && !found {
			err = sql.ErrNoRows
		}
		return tables.NotFound(err, mapping.CodeCheckpointNotFound, "checkpoint", id)
	})
	return c, err
}

func readState(t *sqldb.Tx, thread int64, at checkpointPos) (st State, err error) {
	if st.Snapshot, st.Events, err = stateSource(t, thread, at); err != nil {
		return st, err
	}
	return st, st.fillIn(t, thread, at)
}

// stateSource reads the source of a state. It follows forks back to a line with a snapshot.
func stateSource(t *sqldb.Tx, thread int64, at checkpointPos) (snapshot []byte, events []mapping.Event, err error) {
	if at.base >= 0 {
		if snapshot, err = snapshotAt(t, thread, at.base); err != nil {
			return nil, nil, err
		}
		events, err = readEvents(t, thread, at.base, 0, stateOnly, at.seq)
		return snapshot, events, err
	}
	from := checkpointPos{seq: -at.base}
	if err := t.Get(`SELECT line, base FROM events WHERE thread = $1 AND seq = $2`, sqldb.In{thread, from.seq}, sqldb.Out{&from.line, &from.base}); err != nil {
		return nil, nil, err
	}
	if snapshot, events, err = stateSource(t, thread, from); err != nil {
		return nil, nil, err
	}
	own, err := readEvents(t, thread, at.line-1, 0, stateOnly, at.seq)
	return snapshot, append(events, own...), err
}

func snapshotAt(t *sqldb.Tx, thread, base int64) (snapshot []byte, err error) {
	if base == 0 {
		return nil, nil
	}
	err = t.Get(`SELECT snapshot FROM events WHERE thread = $1 AND seq = $2`, sqldb.In{thread, base}, sqldb.Out{sqldb.Unsealed(&snapshot, colEventSnapshot, thread, base)})
	return snapshot, err
}

// fillIn adds the checkpoint, from the event that created it, and the size of the events.
func (st *State) fillIn(t *sqldb.Tx, thread int64, at checkpointPos) error {
	made := st.Events
	if len(made) == 0 || made[len(made)-1].Seq != at.seq { // the checkpoint has its own snapshot
		var err error
		if made, err = readEvents(t, thread, at.seq-1, 1, everything); err != nil {
			return err
		}
	}
	if len(made) > 0 && made[len(made)-1].Head.Checkpoint != nil {
		st.Checkpoint = *made[len(made)-1].Head.Checkpoint
	}
	for i := range st.Events {
		st.DiffBytes += len(st.Events[i].Data)
	}
	return nil
}

// List reads several checkpoints of one thread at once, in the given order. A checkpoint on the same line as the
// previous one, and not before it, contains only the changes since (Continues).
func (s *States) List(ctx context.Context, threadID string, ids []string) (states []State, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		states = make([]State, len(ids))
		var before checkpointPos
		for i, id := range ids {
			at, err := findCheckpoint(t, key, id)
			if err != nil {
				return err
			}
			if i > 0 && at.line == before.line && at.seq >= before.seq {
				states[i], err = continued(t, key, before, at)
			} else {
				states[i], err = readState(t, key, at)
			}
			if err != nil {
				return err
			}
			before = at
		}
		return nil
	})
	return states, err
}

func continued(t *sqldb.Tx, thread int64, before, at checkpointPos) (st State, err error) {
	st.Continues = true
	if st.Events, err = readEvents(t, thread, before.seq, 0, stateOnly, at.seq); err != nil {
		return st, err
	}
	return st, st.fillIn(t, thread, at)
}

// CheckpointQuery selects checkpoints of a thread. Empty fields match all.
type CheckpointQuery struct {
	Before   string // id: only checkpoints created before it
	At       string // id: only this one
	Metadata json.RawMessage
	Limit    int // 0 means all
}

// Checkpoints lists checkpoints, newest first. Their states are read by List. Metadata is matched by containment
// against rule.CheckpointMetadata. It returns NotFound if Before or At is unknown.
func (s *States) Checkpoints(ctx context.Context, threadID string, q CheckpointQuery) (list []mapping.Checkpoint, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		list = nil
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		from, to, err := q.bounds(t, key)
		if err != nil {
			return err
		}
		keep := containing(q.Metadata)
		return t.Until(`SELECT seq, at_us, head FROM events WHERE thread = $1 AND seq >= $2 AND seq < $3 AND line IS NOT NULL AND checkpoint IS NOT NULL ORDER BY seq DESC`, sqldb.In{key, from, to}, func(scan func(...any) error) (bool, error) {
			c, err := scanCheckpoint(key, scan)
			if err != nil {
				return false, err
			}
			if keep == nil || keep(rule.CheckpointMetadata(threadID, c)) {
				list = append(list, c)
			}
			return q.Limit <= 0 || len(list) < q.Limit, nil
		})
	})
	return list, err
}

// bounds returns the range [from, to) of the numbers of matching checkpoints.
func (q CheckpointQuery) bounds(t *sqldb.Tx, thread int64) (from, to int64, err error) {
	to = 1 << 62
	if q.Before != "" {
		before, err := findCheckpoint(t, thread, q.Before)
		if err != nil {
			return 0, 0, err
		}
		to = before.seq
	}
	if q.At != "" {
		at, err := findCheckpoint(t, thread, q.At)
		if err != nil {
			return 0, 0, err
		}
		from, to = at.seq, min(to, at.seq+1)
	}
	return from, to, nil
}

func scanCheckpoint(thread int64, scan func(...any) error) (c mapping.Checkpoint, err error) {
	var seq, at int64
	var head []byte
	var h mapping.Head
	if err := scan(&seq, &at, sqldb.Unsealed(&head, colEventHead, thread, &seq)); err != nil {
		return c, err
	}
	if err := decode(head, &h); err != nil {
		return c, err
	}
	if h.Checkpoint != nil {
		c = *h.Checkpoint
	}
	c.Seq, c.CreatedAt = seq, sqldb.TimeOf(at)
	return c, nil
}
