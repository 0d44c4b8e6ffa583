package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Claims assigns runs to processes that execute them, and releases them.
type Claims struct{ base *base }

// Claimed is a run that this process now holds.
type Claimed struct {
	Run             mapping.Run
	Thread          mapping.Thread
	AdditionalInput json.RawMessage // of its task
	Fence           int64
	Logged          []mapping.Event // this run's events so far, in order; empty if it never started
	Taken           bool            // it was running in another process, or here before a restart, and must be resumed
	From            string          // the process that held it (Store.Owner); "" if not known
	// Running is the time since the run was first claimed, by the database's clock. It is 0 if the run was claimed just
	// now.
	Running time.Duration
}

// ClaimNext claims the oldest run that may start now: it is pending and due, first in its thread, nothing is active
// there, and its agent is not in full. A run whose owner's lease has expired may start, too. It covers all tenants. c
// is nil if there is no such run. next is the time at which the earliest delayed run is due, zero if there is none.
func (s *Claims) ClaimNext(ctx context.Context, full []string) (c *Claimed, next time.Time, err error) {
	// Searching does not use the writer. The result is checked again in the write.
	var due int64
	seen, ahead := false, false
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		key, _, err := claimable(t, full)
		seen = key != 0
		if err != nil || seen {
			return err
		}
		if due, err = nextDue(t); err != nil || due == 0 {
			return err
		}
		return t.Get(`SELECT EXISTS (SELECT 1 FROM runs WHERE `+delayedAhead+`)`, sqldb.In{t.Now + clock.Slack.Microseconds()}, sqldb.Out{&ahead})
	})
	if err == nil && ahead {
		if err = s.base.DB.Write(ctx, s.base.takeDelaysBack); err == nil {
			return s.ClaimNext(ctx, full)
		}
	}
	if err != nil || !seen {
		return nil, sqldb.TimeOf(due), err
	}
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		key, taken, err := lockClaimable(t, full)
		if err != nil || key == 0 {
			c = nil
			return err
		}
		c, err = s.claim(t, key, taken)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return c, time.Time{}, nil
}

// lockClaimable finds the next claimable run and locks its thread. If another process was faster, it tries the next
// one.
func lockClaimable(t *sqldb.Tx, full []string) (key int64, taken bool, err error) {
	for {
		if key, taken, err = claimable(t, full); err != nil || key == 0 || !t.Shared() {
			return key, taken, err
		}
		if still, err := lockIfClaimable(t, key, taken); err != nil || still {
			return key, taken, err
		}
	}
}

// lockIfClaimable locks the thread of a run and reports whether the run can still be claimed.
func lockIfClaimable(t *sqldb.Tx, key int64, taken bool) (still bool, err error) {
	var thread int64
	if err := t.Get(`SELECT thread FROM runs WHERE id = $1`, sqldb.In{key}, sqldb.Out{&thread}); err != nil {
		return false, ifAny(err)
	}
	if err := tables.LockThread(t, thread); err != nil {
		return false, err
	}
	var id int64
	if taken {
		err = t.Get(`SELECT id FROM runs WHERE id = $1 AND `+orphaned, sqldb.In{key}, sqldb.Out{&id})
	} else {
		err = t.Get(`SELECT r.id FROM runs r WHERE r.id = $1 AND `+startable, sqldb.In{key, t.Now}, sqldb.Out{&id})
	}
	return err == nil, ifAny(err)
}

func ifAny(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

const (
	// orphaned selects running runs that no process holds.
	orphaned = `status = 'running' AND parked = 0 AND holder = ''`
	// startable selects runs that could start at time $2 if there is a slot.
	startable = `r.status = 'pending' AND r.run_after_us <= $2 AND NOT EXISTS (
 SELECT 1 FROM runs o WHERE o.thread = r.thread AND o.ended_us = 0 AND o.id <> r.id AND (o.concurrent = 0 OR r.concurrent <> 1)
 AND (o.status = 'running' OR (o.id < r.id AND o.run_after_us <= $2)))
 AND NOT EXISTS (SELECT 1 FROM updates u WHERE u.thread = r.thread)`
)

// delayedAhead selects delayed runs created while the clock was ahead.
const delayedAhead = `status = 'pending' AND run_after_us > 0 AND created_us > $1`

// takeDelaysBack restarts the delay of runs that were created while the clock was ahead, from now.
func (s *base) takeDelaysBack(t *sqldb.Tx) error {
	if err := s.DB.SetClock(t); err != nil {
		return err
	}
	return t.Put(`UPDATE runs SET run_after_us = run_after_us - created_us + $2, created_us = $2 WHERE `+delayedAhead, t.Now+clock.Slack.Microseconds(), t.Now)
}

func nextDue(t *sqldb.Tx) (due int64, err error) {
	err = t.Get(`SELECT coalesce(min(run_after_us), 0) FROM runs WHERE status = 'pending' AND run_after_us > 0 AND run_after_us > CAST($1 AS BIGINT)`, sqldb.In{t.Now}, sqldb.Out{&due})
	return due, err
}

// claimable returns the next run to claim: orphaned runs first, then pending ones.
func claimable(t *sqldb.Tx, full []string) (key int64, taken bool, err error) {
	err = t.Until(`SELECT id, agent FROM runs WHERE `+orphaned+` ORDER BY id`, nil,
		func(scan func(...any) error) (bool, error) {
			var id int64
			var agent string
			if err := scan(&id, &agent); err != nil || slices.Contains(full, agent) {
				return err == nil, err
			}
			key = id
			return false, nil
		})
	if err != nil || key != 0 {
		return key, true, err
	}
	key, err = oldestPending(t, full)
	return key, false, err
}

// oldestPending queries each agent separately, so that the long queue of a busy agent is not scanned for the others.
func oldestPending(t *sqldb.Tx, full []string) (oldest int64, err error) {
	agent := ""
	for {
		err := t.Get(`SELECT agent FROM runs WHERE status = 'pending' AND agent > $1 ORDER BY agent LIMIT 1`, sqldb.In{agent}, sqldb.Out{&agent})
		if errors.Is(err, sql.ErrNoRows) {
			return oldest, nil
		}
		if err != nil {
			return 0, err
		}
		if slices.Contains(full, agent) {
			continue
		}
		var id int64
		err = t.Get(`SELECT r.id FROM runs r WHERE r.agent = $1 AND `+startable+` ORDER BY r.id LIMIT 1`, sqldb.In{agent, t.Now}, sqldb.Out{&id})
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		if id != 0 && (oldest == 0 || id < oldest) {
			oldest = id
		}
	}
}

// claim makes this process the holder of a run, with a new fence.
func (s *Claims) claim(t *sqldb.Tx, key int64, taken bool) (*Claimed, error) {
	first, from := false, ""
	if err := t.Get(`SELECT started_us = 0, left_by FROM runs WHERE id = $1`, sqldb.In{key}, sqldb.Out{&first, &from}); err != nil {
		return nil, err
	}
	if _, err := t.Exec(`UPDATE runs SET status = 'running', parked = 0, holder = $2, fence = fence + 1, updated_us = $3,
 from_seq = CASE WHEN started_us = 0 THEN (SELECT seq FROM thread_seq WHERE thread = runs.thread) ELSE from_seq END,
 base = CASE WHEN started_us = 0 AND base = '' THEN (SELECT head FROM thread_seq WHERE thread = runs.thread) ELSE base END,
 started_us = CASE WHEN started_us = 0 THEN $3 ELSE started_us END WHERE id = $1`, key, s.base.Owner, t.Now); err != nil {
		return nil, err
	}
	row, err := readRun(t, `r.id = $1`, key)
	if err != nil {
		return nil, err
	}
	if err := setThread(t, row.thread, mapping.ThreadBusy, nil); err != nil {
		return nil, err
	}
	th, err := readThreadByKey(t, row.thread)
	if err != nil {
		return nil, err
	}
	if first && row.Base != th.Head {
		if _, err := s.base.fork(t, row.thread, row.Base, th.Head); err != nil {
			return nil, err
		}
		th.Head = row.Base
		if th.Interrupts, err = closeQuestions(t, runKey{Run: key, Thread: row.thread}, th.Interrupts, true); err != nil {
			return nil, err
		}
	}
	task, err := readTask(t, `k.id = $1`, row.task)
	if err != nil {
		return nil, err
	}
	logged, err := readEvents(t, row.thread, row.from, 0, runsOwn, row.key, row.to())
	if err != nil {
		return nil, err
	}
	name, at := row.ID, runKey{Run: row.key, Thread: row.thread, Overlaps: row.Options.MayOverlap}
	t.After(func() { s.base.Keys.Add(name, at) })
	running := time.Duration(t.Now-sqldb.Micros(row.StartedAt)) * time.Microsecond
	return &Claimed{Run: row.Run, Thread: th.Thread, AdditionalInput: task.AdditionalInput, Fence: row.fence, Logged: logged, Taken: taken, From: from, Running: running}, nil
}

// ClaimParked claims a parked run for its next step. It fails with Conflict if the run is no longer parked.
func (s *Claims) ClaimParked(ctx context.Context, runID string) (c *Claimed, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := lockRun(t, tables.ScopeOf(ctx), "", runID)
		if err != nil {
			return err
		}
		if row.Status != mapping.RunRunning || !row.Parked {
			return mapping.Errorf(mapping.Conflict, "run_not_parked", "Run %q is not waiting for a step.", runID)
		}
		c, err = s.claim(t, row.key, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Release gives up a run held by this process, so that another process, or this one, may claim it at once. It returns
// ErrFenced if the run is no longer held.
func (s *Claims) Release(ctx context.Context, runID string, fence int64) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		n, err := t.Exec(`UPDATE runs SET left_by = holder, holder = '', updated_us = $4 WHERE run_id = $1 AND holder = $2 AND fence = $3 AND status = 'running' AND parked = 0`,
			runID, s.base.Owner, fence, t.Now)
		if err == nil && n == 0 {
			return ErrFenced
		}
		s.base.Notify(t, NoticePending, "")
		return err
	})
}

// RequestStop records in a running run that its holder must stop it, with the reason. The holder reads it with
// StopRequests. It returns a Conflict if the run has ended.
func (s *Claims) RequestStop(ctx context.Context, runID, reason string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := lockRun(t, tables.ScopeOf(ctx), "", runID)
		if err != nil {
			return err
		}
		if !row.Status.Active() {
			return mapping.Errorf(mapping.Conflict, "run_ended", "Run %q has already ended (%s).", runID, row.Status)
		}
		return s.base.noteStop(t, row, stopCancel, reason)
	})
}

func (s *base) noteStop(t *sqldb.Tx, row *runRow, action, reason string) error {
	s.Notify(t, NoticeStop, row.ID)
	return t.Put(`UPDATE runs SET stop = $2, cancel_reason = $3 WHERE id = $1 AND stop NOT LIKE 'rollback%'`, row.key, action, reason)
}

// ListHeld returns the fences of the runs that this process holds, by run id. The process executes them, or should do
// so. It covers all tenants.
func (s *Claims) ListHeld(ctx context.Context) (map[string]int64, error) {
	found := make(map[string]int64)
	err := s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT run_id, fence FROM runs WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder = $1`, sqldb.In{s.base.Owner}, func(scan func(...any) error) error {
			var id string
			var fence int64
			err := scan(&id, &fence)
			found[id] = fence
			return err
		})
	})
	return found, err
}

// StopRequest is a recorded request to stop a run.
type StopRequest struct {
	Action string // see displacing
	Reason string // mapping.Run.CancelReason
}

// StopRequests returns the requests for the runs held by this process, by run id. It covers all tenants.
func (s *Claims) StopRequests(ctx context.Context) (map[string]StopRequest, error) {
	found := make(map[string]StopRequest)
	err := s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT run_id, stop, cancel_reason FROM runs WHERE holder = $1 AND stop <> ''`, sqldb.In{s.base.Owner}, func(scan func(...any) error) error {
			var id string
			var asked StopRequest
			err := scan(&id, &asked.Action, &asked.Reason)
			found[id] = asked
			return err
		})
	})
	return found, err
}

// Waiting reports whether any run waits to be claimed, now or later. It covers all tenants.
func (s *Claims) Waiting(ctx context.Context) (some bool, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT EXISTS (SELECT 1 FROM runs WHERE status = 'pending') OR EXISTS (SELECT 1 FROM runs WHERE status = 'running' AND parked = 0 AND holder = '')`,
			nil, sqldb.Out{&some})
	})
	return some, err
}
