package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// StateOptions configures States.Append.
type StateOptions struct {
	ForkFrom        string // parent checkpoint if it is not the head; a new line begins there
	Snapshot        []byte // full state at the last event, stored with its checkpoint; nil for none; see Distance
	Links           []mapping.Link
	Files           []artifact.FileWrite // added by the state, see mapping.Artifact.Brought
	DropFiles       []string             // removed paths
	ClearInterrupts bool
	Held            string         // the token of Hold, if the thread is held for this update
	Key             IdempotencyKey // of the request
	Makes           string         // id returned for a repeated request with the Key as the object that it created
}

// Append logs state events outside of a run (state update, PATCH, fork, import). It returns Conflict thread_busy while
// a run is active, including parked ones, and CodeUpdating while the thread is held for another update. expectHead
// guards against a head that has moved since the caller folded it ("" means that the thread has no head): on a mismatch
// it returns Conflict head_moved, and the caller retries. A repeated request with the same Key gets Conflict
// CodeRepeated. The returned events have Seq and parents.
func (s *States) Append(ctx context.Context, threadID, expectHead string, evs []mapping.Event, opt StateOptions) (events []mapping.Event, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		key, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		if earlier, err := claimKey(t, mapping.PrincipalOf(ctx), opt.Key, opt.Makes); err != nil || earlier != "" {
			return repeatedRequest(earlier, err)
		}
		if err := tables.LockThread(t, key); err != nil {
			return err
		}
		if err := s.mayUpdate(t, key, threadID, opt.Held); err != nil {
			return err
		}
		batch := eventBatch{thread: key, events: evs}
		if head, _ := batch.newest(); head != "" && opt.Snapshot != nil {
			batch.snapshots = map[string][]byte{head: opt.Snapshot}
		}
		if events, err = s.onHead(t, &batch, expectHead, opt.ForkFrom); err != nil {
			return err
		}
		if err := putLinks(t, key, opt.Links); err != nil {
			return err
		}
		if expectHead == "" {
			if err := noteAgents(t, key, opt.Links); err != nil {
				return err
			}
		}
		if _, err := artifact.Publish(s.base.Quotas, t, key, artifact.ByUpdate, artifact.Changes{Files: opt.Files, Drop: opt.DropFiles}); err != nil {
			return err
		}
		return touch(t, key, opt.ClearInterrupts)
	})
	if err == nil && opt.Held != "" {
		s.holds.remove(opt.Held, false)
	}
	return events, err
}

// noteAgents records the agents that created the first state of a thread. Those of later states created it or had a run.
func noteAgents(t *sqldb.Tx, thread int64, links []mapping.Link) error {
	for _, l := range links {
		if _, err := t.Exec(`UPDATE threads SET agents = agents || $2 WHERE id = $1 AND replace(agents, $2, '') = agents`, thread, tables.WithAgent("", l.Agent)); err != nil {
			return err
		}
	}
	return nil
}

// onHead appends under the condition that the head has not moved.
func (s *States) onHead(t *sqldb.Tx, b *eventBatch, expect, forkFrom string) ([]mapping.Event, error) {
	if forkFrom != "" && forkFrom != expect {
		ok, err := s.base.fork(t, b.thread, forkFrom, expect)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, HeadMoved()
		}
		expect = forkFrom
	}
	from, ok, err := b.takeNumbers(t, advanceFrom, expect)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, HeadMoved()
	}
	return b.write(t, from)
}

func mustBeFree(t *sqldb.Tx, thread int64, threadID string) error {
	var run string
	err := t.Get(`SELECT run_id FROM runs WHERE thread = $1 AND ended_us = 0 ORDER BY status DESC, id LIMIT 1`, sqldb.In{thread}, sqldb.Out{&run})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy, "Thread %q is busy with run %q. Wait for it or cancel it.", threadID, run)
	e.Detail = map[string]string{"thread_id": threadID, "run_id": run}
	return e
}

// touch records that a thread's state changed. If clear is set, it drops the questions, and an interrupted thread
// becomes idle.
func touch(t *sqldb.Tx, thread int64, clear bool) error {
	text := `UPDATE threads SET updated_us = $2 WHERE id = $1`
	if clear {
		text = `UPDATE threads SET updated_us = $2, interrupts = NULL, status = CASE WHEN status = 'interrupted' THEN 'idle' ELSE status END WHERE id = $1`
	}
	_, err := t.Exec(text, thread, t.Now)
	return err
}
