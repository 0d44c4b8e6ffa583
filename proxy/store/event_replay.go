package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Replay is what a reader needs that tells a thread's events from a number on: for that it has to have each run from
// its start.
type Replay struct {
	// From is the number after which to read: all runs that are at work after the asked number begin there or later.
	From int64
	// Floor is the number up to which the log cannot be told any more, since the state that a run began on there was
	// dropped (ForgetHistory).
	Floor int64
	// Trimmed: the asked number lies within a run that has ended, and some of what was logged meanwhile was removed
	// since, such as its tokens (DeleteTokenEvents).
	Trimmed bool
	// Orphaned: the event with the asked number has stayed although its run was deleted.
	Orphaned bool
	// Checkpoints are those that were made up to From, in order, as their events name them.
	Checkpoints []mapping.Checkpoint
}

// Replay finds where a reader begins that wants what comes after a number; 0 is the thread's start. No event's data is
// read.
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

// readCheckpoints reads the checkpoints.
func (r *Replay) readCheckpoints(t *sqldb.Tx, thread int64) error {
	return t.Each(`SELECT seq, at_us, head FROM events WHERE thread = $1 AND line IS NOT NULL AND checkpoint IS NOT NULL AND seq <= $2 ORDER BY seq`,
		sqldb.In{thread, r.From}, func(scan func(...any) error) error {
			row, err := scanCheckpoint(thread, scan)
			r.Checkpoints = append(r.Checkpoints, row)
			return err
		})
}
