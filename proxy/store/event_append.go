package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Append is one transaction of a running run.
type Append struct {
	ThreadID, RunID string
	Fence           int64
	Events          []mapping.Event   // Seq and checkpoint parents are filled in by the store
	Snapshots       map[string][]byte // checkpoint id → full state to keep with it
	Links           []mapping.Link
	Artifacts       []string             // ids of staged artifacts that become visible (see artifact.Table.Save)
	Files           []artifact.FileWrite // small files of the state, written as artifacts
	DropFiles       []string             // paths of removed files
	WriteHook       WriteHook            // returns notifications when the task's work begins; nil means none
	Relaxed         bool                 // not yet visible to any reader: Flush or a later commit brings it to disk
	End             *End
}

// End describes how a run ends in this process. Its end event is the last of Events. A parked run has no end event.
type End struct {
	Outcome mapping.Outcome
	Thread  mapping.ThreadStatus // if no further run is pending there
	Webhook *Webhook             // of the run itself
	Hook    WriteHook            // returns notifications for hooks of the task; nil means none
	Expire  time.Time            // delete thread (DeleteAfter) at
	// Totals are those of the run so far, or nil if they have not changed. Their cost is that of the whole task, from
	// which the cost of the task's other runs is subtracted.
	Totals *mapping.RunTotals
}

// Append commits a. It returns ErrFenced if the run is not held under the fence. The returned events have Seq and
// parents; artifacts are the visible rows of a.Artifacts and a.Files, in that order. It is authorized by the fence and
// ignores the tenant.
func (s *Events) Append(ctx context.Context, a Append) (events []mapping.Event, artifacts []mapping.Artifact, err error) {
	write := s.base.DB.Write
	if a.Relaxed && a.End == nil {
		write = s.base.DB.WriteRelaxed
	}
	err = write(ctx, func(t *sqldb.Tx) error {
		events, artifacts, err = s.appendRun(t, a)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return events, artifacts, nil
}

func (s *Events) appendRun(t *sqldb.Tx, a Append) ([]mapping.Event, []mapping.Artifact, error) {
	at, err := s.runKey(t, a.RunID)
	if err != nil {
		return nil, nil, err
	}
	if err := tables.LockThread(t, at.Thread); err != nil {
		return nil, nil, err
	}
	batch := eventBatch{thread: at.Thread, run: at.Run, runID: a.RunID, events: a.Events, snapshots: a.Snapshots}
	overlapped, err := batch.overlapped(t, at, a)
	if err != nil {
		return nil, nil, err
	}
	from, ok, err := batch.takeNumbers(t, advanceHeld, at.Run, a.RunID, s.base.Owner, a.Fence)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, ErrFenced
	}
	return s.appended(t, at, batch, from, a, overlapped)
}

// Logged returns the events of a running run with Seq > after, for a caller that does not know the outcome of an append
// (ErrUnknown). It waits for an append that is still running. It returns ErrFenced if the run is no longer held,
// possibly because that append ended it. It is authorized by the fence and ignores the tenant.
func (s *Events) Logged(ctx context.Context, runID string, fence, after int64) (events []mapping.Event, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		at, err := s.runKey(t, runID)
		if err != nil {
			return err
		}
		if err := tables.LockThread(t, at.Thread); err != nil {
			return err
		}
		var held bool
		if err := t.Get(`SELECT EXISTS (SELECT 1 FROM runs WHERE id = $1 AND run_id = $2 AND holder = $3 AND fence = $4 AND status = 'running' AND parked = 0)`,
			sqldb.In{at.Run, runID, s.base.Owner, fence}, sqldb.Out{&held}); err != nil {
			return err
		}
		if !held {
			return ErrFenced
		}
		events, err = readEvents(t, at.Thread, after, 0, runsOwn, at.Run, lastOf(0))
		return err
	})
	return events, err
}

// appended writes a numbered batch and everything that belongs to it.
func (s *Events) appended(t *sqldb.Tx, at runKey, batch eventBatch, from threadHead, a Append, overlapped bool) ([]mapping.Event, []mapping.Artifact, error) {
	events, err := batch.write(t, from)
	if err != nil {
		return nil, nil, err
	}
	if overlapped {
		if err := keepFolded(t, at.Thread, events, a.Snapshots); err != nil {
			return nil, nil, err
		}
		a.Links = stripAgreement(a.Links)
	}
	s.base.Notify(t, NoticeLogged, a.RunID)
	if err := s.noteTokens(t, a, at); err != nil {
		return nil, nil, err
	}
	files, err := artifact.Publish(s.base.Quotas, t, at.Thread, at.Run, artifact.Changes{Staged: a.Artifacts, Files: a.Files, Drop: a.DropFiles})
	if err != nil {
		return nil, nil, err
	}
	return events, files, s.writeRest(t, at, a, from.seq+int64(len(events)))
}

// noteTokens marks a run, once, as having tokens to trim.
func (s *Events) noteTokens(t *sqldb.Tx, a Append, at runKey) error {
	isToken := func(e mapping.Event) bool { return e.Kind == mapping.KindDelta }
	if at.Tokens || !slices.ContainsFunc(a.Events, isToken) {
		return nil
	}
	at.Tokens = true
	t.After(func() { s.base.Keys.Add(a.RunID, at) })
	return t.Put(`UPDATE runs SET trimmed = 0 WHERE id = $1`, at.Run)
}

// writeRest writes the rest of an append: links, attempt and end.
func (s *Events) writeRest(t *sqldb.Tx, at runKey, a Append, last int64) error {
	if err := putLinks(t, at.Thread, a.Links); err != nil {
		return err
	}
	if err := s.begun(t, at, a); err != nil {
		return err
	}
	if a.End == nil {
		return nil
	}
	return s.endOrPark(t, at, a.RunID, *a.End, last)
}

// runKey returns a run's keys from the cache or the table. It returns ErrFenced if the run does not exist: an execution
// that appends to it has lost it. If the database went back in time, as after a failover to a lagging standby, a cached
// key may belong to another run. So an append also names the run.
func (s *Events) runKey(t *sqldb.Tx, id string) (k runKey, err error) {
	if k, ok := s.base.Keys.Get(id); ok {
		return k, nil
	}
	err = t.Get(`SELECT id, thread, concurrent > 0 FROM runs WHERE run_id = $1`, sqldb.In{id}, sqldb.Out{&k.Run, &k.Thread, &k.Overlaps})
	if errors.Is(err, sql.ErrNoRows) {
		return k, ErrFenced
	}
	t.After(func() { s.base.Keys.Add(id, k) })
	return k, err
}

// begun records a started event in its run, task and thread.
func (s *Events) begun(t *sqldb.Tx, at runKey, a Append) error {
	for i := range a.Events {
		if a.Events[i].Kind != mapping.KindStarted {
			continue
		}
		if err := s.base.changeTaskStatus(t, statusChange{at, a.RunID, mapping.TaskWorking, a.WriteHook}); err != nil {
			return err
		}
		if n := a.Events[i].Head.Attempt; n > 1 {
			if err := t.Put(`UPDATE runs SET attempt = $2, updated_us = $3 WHERE id = $1`, at.Run, n, t.Now); err != nil {
				return err
			}
		}
		return closeThreadQuestions(t, at)
	}
	return nil
}

// endOrPark ends a run in this process. The run has ended, or it is parked until its next step is requested.
func (s *Events) endOrPark(t *sqldb.Tx, at runKey, runID string, e End, last int64) error {
	if e.Outcome.Parked {
		if err := t.Put(`UPDATE runs SET parked = 1, holder = '', updated_us = $2 WHERE id = $1`, at.Run, t.Now); err != nil {
			return err
		}
		if err := putTotals(t, at, e.Totals); err != nil {
			return err
		}
		return s.free(t, at, runID, e)
	}
	fault, err := encodeFault(e.Outcome.Fault)
	if err != nil {
		return err
	}
	totals, err := totalColumns(t, at, e.Totals)
	if err != nil {
		return err
	}
	if err := t.Put(`UPDATE runs SET status = $2, fault = $3, parked = 0, holder = '', stop = CASE WHEN stop LIKE 'rollback%' THEN stop ELSE '' END, last_seq = $4, ended_us = $5, updated_us = $5, cancel_reason = $6,
 steps = coalesce($7, steps), input_tokens = coalesce($8, input_tokens), output_tokens = coalesce($9, output_tokens), cost_micros = coalesce($10, cost_micros) WHERE id = $1`,
		at.Run, string(e.Outcome.Status), t.Sealed(fault, colRunFault, runID), last, t.Now, e.Outcome.Reason, totals[0], totals[1], totals[2], totals[3]); err != nil {
		return err
	}
	if err := s.base.addWebhook(t, at, runID, e.Webhook); err != nil {
		return err
	}
	if err := s.base.changeTaskStatus(t, statusChange{at, runID, e.Outcome.Task(), e.Hook}); err != nil {
		return err
	}
	if !e.Expire.IsZero() {
		s.base.Due(t, dueExpiry)
	}
	return s.free(t, at, runID, e)
}

// free sets the thread's status after a run. The thread stays busy if it has another run.
func (s *Events) free(t *sqldb.Tx, at runKey, runID string, e End) error {
	if err := joinQuestions(t, at, runID, &e); err != nil {
		return err
	}
	interrupts, err := encodeInterrupts(e.Outcome.Interrupts)
	if err != nil {
		return err
	}
	const text = `UPDATE threads SET status = CASE WHEN EXISTS (SELECT 1 FROM runs WHERE thread = $1 AND ended_us = 0 AND parked = 0 AND id <> $2) THEN 'busy'
 WHEN EXISTS (SELECT 1 FROM runs WHERE thread = $1 AND ended_us = 0 AND id <> $2) THEN 'interrupted' ELSE $3 END,
 interrupts = $4, updated_us = $5, expires_us = CASE WHEN CAST($6 AS BIGINT) > 0 THEN $6 ELSE expires_us END,
 keep_latest = CASE WHEN CAST($6 AS BIGINT) > 0 THEN 0 ELSE keep_latest END, ttl_us = CASE WHEN CAST($6 AS BIGINT) > 0 AND ttl_us > 0 THEN 0 ELSE ttl_us END WHERE id = $1`
	args := sqldb.In{at.Thread, at.Run, string(e.Thread), t.Sealed(interrupts, colThreadInterrupts, at.Thread), t.Now, sqldb.Micros(e.Expire)}
	if !t.Shared() {
		return t.Put(text, args...)
	}
	var status, thread string
	err = t.Get(text+` RETURNING status, thread_id`, args, sqldb.Out{&status, &thread})
	if status == string(mapping.ThreadBusy) {
		s.base.Notify(t, NoticePending, thread)
	}
	return err
}

// EndInactive ends a run that no process executes (pending or parked) with the given end event. It returns ErrFenced if
// the run is running or has ended. A run that never began leaves the thread's current state.
func (s *Events) EndInactive(ctx context.Context, threadID, runID string, ev mapping.Event, e End) (events []mapping.Event, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		row, err := findRun(t, tables.ScopeOf(ctx), threadID, runID)
		if err != nil {
			return err
		}
		if err := tables.LockThread(t, row.thread); err != nil {
			return err
		}
		at := runKey{Run: row.key, Thread: row.thread, Overlaps: row.Options.MayOverlap}
		events, err = s.endInactive(t, at, runID, ev, e)
		return err
	})
	return events, err
}

// endInactive is EndInactive within a transaction that has locked the thread.
func (s *Events) endInactive(t *sqldb.Tx, at runKey, runID string, ev mapping.Event, e End) ([]mapping.Event, error) {
	s.base.Notify(t, NoticeLogged, runID)
	batch := eventBatch{thread: at.Thread, run: at.Run, runID: runID, events: []mapping.Event{ev}}
	from, ok, err := batch.takeNumbers(t, advanceIdle, at.Run)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrFenced
	}
	events, err := batch.write(t, from)
	if err != nil {
		return nil, err
	}
	if err := t.Put(`UPDATE runs SET fence = fence + 1, from_seq = CASE WHEN started_us = 0 THEN $2 ELSE from_seq END,
 base = CASE WHEN started_us = 0 AND base = '' THEN (SELECT head FROM thread_seq WHERE thread = runs.thread) ELSE base END WHERE id = $1`, at.Run, from.seq); err != nil {
		return nil, err
	}
	return events, s.endOrPark(t, at, runID, e, from.seq+1)
}
