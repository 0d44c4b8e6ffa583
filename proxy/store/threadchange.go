package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Expire is when a thread's time is over (zero: never), and what happens then: it is
// deleted, or its states but the newest are.
type Expire struct {
	At         time.Time
	KeepLatest bool
}

// PatchThread merges metadata key by key (nil: none) and sets the expiry (nil:
// leave).
func (s *threads) PatchThread(ctx context.Context, id string, metadata json.RawMessage, expires *Expire) (th mapping.Thread, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		row, err := holdThread(t, scopeOf(ctx), id)
		if err != nil {
			return noThread(err, id)
		}
		if metadata != nil {
			if row.Metadata, err = mapping.MergeMetadata(row.Metadata, metadata); err != nil {
				return err
			}
		}
		if expires != nil {
			row.Expires, row.KeepLatest = timeOf(micros(expires.At)), expires.KeepLatest
			s.due(t, dueExpiry)
		}
		row.UpdatedAt = timeOf(t.Now)
		_, err = t.Exec(`UPDATE threads SET metadata = $2, expires_us = $3, keep_latest = $4, updated_us = $5 WHERE id = $1`,
			row.key, []byte(row.Metadata), micros(row.Expires), number(row.KeepLatest), t.Now)
		th = row.Thread
		return err
	})
	return th, err
}

// StateOptions of AppendState.
type StateOptions struct {
	ForkFrom        string // parent checkpoint, when it is not the head: a new line begins there
	Snapshot        []byte // full state at the last event, kept with its checkpoint; nil: none. See Distance
	Links           []mapping.Link
	ClearInterrupts bool
	Held            string // the token of HoldUpdate, where the thread is held for this update
	Key             Key    // of the request that asks for it
	Makes           string // what a repeated request with the Key is told to have made
}

// AppendState appends state events outside of a run (state update, PATCH, fork,
// import): Conflict thread_busy while a run is active (parked ones too), CodeUpdating
// while the thread is held for another update.
// expectHead guards against a head that moved since the caller folded it ("":
// thread has no head): on a mismatch it returns Conflict head_moved and the
// caller tries again. A request with the Key that came before is Conflict
// CodeRepeated. Returned events carry Seq and parents.
func (s *states) AppendState(ctx context.Context, threadID, expectHead string, evs []mapping.Event, opt StateOptions) (events []mapping.Event, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		key, err := threadKey(t, scopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		if earlier, err := claimKey(t, tenantOf(ctx), opt.Key, opt.Makes); err != nil || earlier != "" {
			return repeated(earlier, err)
		}
		if err := hold(t, key); err != nil {
			return err
		}
		if err := s.mayUpdate(t, key, threadID, opt.Held); err != nil {
			return err
		}
		part := stretch{thread: key, events: evs}
		if head, _ := part.newest(); head != "" && opt.Snapshot != nil {
			part.snapshots = map[string][]byte{head: opt.Snapshot}
		}
		if events, err = part.onHead(t, expectHead, opt.ForkFrom); err != nil {
			return err
		}
		if err := putLinks(t, key, opt.Links); err != nil {
			return err
		}
		return touch(t, key, opt.ClearInterrupts)
	})
	if err == nil && opt.Held != "" {
		s.holds.over(opt.Held, false)
	}
	return events, err
}

// onHead appends under the condition that the head did not move.
func (s *stretch) onHead(t *sqldb.Tx, expect, forkFrom string) ([]mapping.Event, error) {
	if forkFrom != "" && forkFrom != expect {
		ok, err := fork(t, s.thread, forkFrom, expect)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, HeadMoved()
		}
		expect = forkFrom
	}
	from, ok, err := s.take(t, advanceFrom, expect)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, HeadMoved()
	}
	return s.write(t, from)
}

func mustBeFree(t *sqldb.Tx, thread int64, threadID string) error {
	var run string
	err := t.Get(`SELECT run_id FROM runs WHERE thread = $1 AND ended_us = 0 ORDER BY status DESC, id LIMIT 1`, in{thread}, out{&run})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return busy(threadID, run, "")
}

// touch notes that a thread's state changed. One whose question is withdrawn is
// idle.
func touch(t *sqldb.Tx, thread int64, clear bool) error {
	text := `UPDATE threads SET updated_us = $2 WHERE id = $1`
	if clear {
		text = `UPDATE threads SET updated_us = $2, interrupts = NULL, status = CASE WHEN status = 'interrupted' THEN 'idle' ELSE status END WHERE id = $1`
	}
	_, err := t.Exec(text, thread, t.Now)
	return err
}

// CopyThread copies a thread with its checkpoints, the events they are folded
// from, its artifacts, all under the numbers and ids they have, and its agents; not its
// links, tasks, runs and time to go: the copy is idle, and stays.
func (s *threads) CopyThread(ctx context.Context, id, newID string) (th mapping.Thread, err error) {
	p := mapping.PrincipalOf(ctx)
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		old, err := holdThread(t, scopeFor(p), id)
		if err != nil {
			return noThread(err, id)
		}
		row, fresh, err := s.insertThread(t, p, mapping.Thread{ID: newID, Metadata: old.Metadata, Config: old.Config}, old.agents)
		if err != nil {
			return err
		}
		if !fresh {
			return mapping.Errorf(mapping.Conflict, codeThreadThere, "There is a thread %q already.", newID)
		}
		row.Head = old.Head
		th = row.Thread
		return copyHistory(t, old.key, row.key)
	})
	return th, err
}

func copyHistory(t *sqldb.Tx, from, to int64) error {
	for _, text := range []string{
		`INSERT INTO thread_seq (thread, seq, head, prev_head, line, base, prev_base)
 SELECT $2, seq, head, prev_head, line, base, prev_base FROM thread_seq WHERE thread = $1`,
		`INSERT INTO events (thread, seq, run, kind, at_us, line, checkpoint, base, head, data, snapshot)
 SELECT $2, seq, NULL, kind, at_us, line, checkpoint, base, head, data, snapshot FROM events WHERE thread = $1 AND line IS NOT NULL ORDER BY seq`,
	} {
		if _, err := t.Exec(text, from, to); err != nil {
			return err
		}
	}
	return copyArtifacts(t, from, to)
}
