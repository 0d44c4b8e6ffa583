package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Replay is the place at which a reader must start to replay a thread's events after a number. The reader needs each
// run from its start.
type Replay struct {
	// From is the number to read after. All runs that are active after the requested number begin at From or later.
	From int64
	// Floor is the number up to which the log can no longer be replayed, because the state on which a run began was
	// dropped (ForgetHistory).
	Floor int64
	// Trimmed means that the requested number lies within a run that has ended and some of whose events have since been
	// removed, such as its tokens (DeleteTokenEvents).
	Trimmed bool
	// Orphaned means that the event with the requested number remains although its run was deleted.
	Orphaned bool
	// Checkpoints are those created up to From, in order, as named in their events.
	Checkpoints []mapping.Checkpoint
}

// Replay returns where to start reading for events after a number; 0 is the start of the thread. It reads no event
// data.
func (s *Events) Replay(ctx context.Context, threadID string, after int64) (r Replay, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		r = Replay{}
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		return r.find(t, key, after)
	})
	return r, err
}

func (r *Replay) find(t *sqldb.Tx, thread, after int64) error {
	if err := t.Get(`SELECT EXISTS (SELECT 1 FROM events WHERE thread = $1 AND seq = $2 AND run = `+ofDeleted+`)`, sqldb.In{thread, after}, sqldb.Out{&r.Orphaned}); err != nil {
		return err
	}
	if err := t.Get(`SELECT coalesce(max(r.last_seq), 0) FROM runs r WHERE r.thread = $1 AND r.started_us > 0 AND r.ended_us > 0 AND r.base <> ''
 AND NOT EXISTS (SELECT 1 FROM events e WHERE e.thread = $1 AND e.checkpoint = r.base)`, sqldb.In{thread}, sqldb.Out{&r.Floor}); err != nil {
		return err
	}
	if r.From = r.Floor; after <= r.Floor {
		return nil
	}
	var last int64
	if err := t.Get(`SELECT seq FROM thread_seq WHERE thread = $1`, sqldb.In{thread}, sqldb.Out{&last}); err != nil {
		return err
	}
	after = min(after, last+1)
	if err := t.Get(`SELECT coalesce(min(from_seq), $2) FROM runs WHERE thread = $1 AND started_us > 0 AND from_seq < $2 AND (ended_us = 0 OR last_seq >= $2)`,
		sqldb.In{thread, after}, sqldb.Out{&r.From}); err != nil {
		return err
	}
	if err := t.Get(`SELECT EXISTS (SELECT 1 FROM runs r WHERE r.thread = $1 AND r.started_us > 0 AND r.ended_us > 0 AND r.from_seq < $2 AND r.last_seq > $2
 AND (SELECT count(*) FROM events e WHERE e.thread = $1 AND e.seq > r.from_seq AND e.seq <= r.last_seq) < r.last_seq - r.from_seq)`,
		sqldb.In{thread, after}, sqldb.Out{&r.Trimmed}); err != nil {
		return err
	}
	r.From = max(min(r.From, after-1), r.Floor)
	return r.readCheckpoints(t, thread)
}

func (r *Replay) readCheckpoints(t *sqldb.Tx, thread int64) error {
	return t.Each(`SELECT seq, at_us, head FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL AND seq <= $2 ORDER BY seq`,
		sqldb.In{thread, r.From}, func(scan func(...any) error) error {
			row, err := scanCheckpoint(thread, scan)
			r.Checkpoints = append(r.Checkpoints, row)
			return err
		})
}
