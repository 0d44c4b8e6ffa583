package store

import (
	"context"
	"database/sql"
	"iter"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Runs creates, finds, explains and removes runs.
type Runs struct{ base *base }

// runColumns begins with the columns that lists filter by.
const runColumns = `r.run_id, r.metadata, r.id, r.thread, r.task, r.fence, r.holder, r.from_seq, r.last_seq, r.tenant, r.owner, h.thread_id, k.task_id, r.agent, r.assistant_id, r.status, r.parked,
 r.kwargs, r.strategy, r.flavour, r.options, r.base, r.attempt, r.fault, r.cancel_reason, r.created_us, r.updated_us, r.started_us, r.ended_us, r.run_after_us,
 r.steps, r.input_tokens, r.output_tokens, r.cost_micros
 FROM runs r JOIN threads h ON h.id = r.thread JOIN tasks k ON k.id = r.task`

const runWidth = 34

// runRow is a run with its keys and the columns used only in this package.
type runRow struct {
	key, thread, task int64
	fence             int64
	holder            string
	from, last        int64 // its events are in (from, last]; last is 0 while the run is open
	size              int   // bytes of the long columns
	mapping.Run
}

func readRun(t *sqldb.Tx, where string, args ...any) (*runRow, error) {
	row := &runRow{}
	err := t.Each(`SELECT `+runColumns+` WHERE `+where, args, row.scan)
	if err == nil && row.key == 0 {
		err = sql.ErrNoRows
	}
	return row, err
}

func (r *runRow) scan(scan func(...any) error) error {
	var options, fault []byte
	var created, updated, started, ended, after, cost int64
	totals := &r.Totals
	err := scan(&r.ID, rawOf(&r.Metadata), &r.key, &r.thread, &r.task, &r.fence, &r.holder, &r.from, &r.last, &r.Tenant, &r.Owner, &r.ThreadID, &r.TaskID, &r.Agent,
		&r.AssistantID, (*string)(&r.Status), &r.Parked, sqldb.Unsealed(rawOf(&r.Kwargs), colRunKwargs, &r.ID), (*string)(&r.Multitask), (*string)(&r.Flavour),
		sqldb.Unsealed(&options, colRunOptions, &r.ID), &r.Base, &r.Attempt, sqldb.Unsealed(&fault, colRunFault, &r.ID), &r.CancelReason, &created, &updated, &started, &ended, &after,
		&totals.Steps, &totals.Input, &totals.Output, &cost)
	if err != nil {
		return err
	}
	r.size = len(r.Metadata) + len(r.Kwargs) + len(options) + len(fault)
	r.CreatedAt, r.UpdatedAt, r.StartedAt = sqldb.TimeOf(created), sqldb.TimeOf(updated), sqldb.TimeOf(started)
	r.EndedAt, r.RunAfter = sqldb.TimeOf(ended), sqldb.TimeOf(after)
	totals.Cost = dollarsOf(cost)
	if ended == 0 {
		*totals = mapping.RunTotals{} // a parked run has those of its steps so far
	}
	if err := decode(options, &r.Options); err != nil {
		return err
	}
	if len(fault) == 0 {
		return nil
	}
	r.Fault = new(mapping.Fault)
	return decode(fault, r.Fault)
}

// Get returns a run; threadID may be "".
func (s *Runs) Get(ctx context.Context, threadID, runID string) (*mapping.Run, error) {
	var row *runRow
	err := s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) (err error) {
		row, err = findRun(t, tables.ScopeOf(ctx), threadID, runID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &row.Run, nil
}

// RunState is the status of a run and its base.
type RunState struct {
	Status mapping.RunStatus
	Parked bool
	Base   string // see mapping.Run
}

// State returns the status of a run without its request, which may be long. threadID may be "".
func (s *Runs) State(ctx context.Context, threadID, runID string) (r RunState, err error) {
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		sc := tables.ScopeOf(ctx)
		where, args := sc.Narrow(`r.run_id = $1 AND r.tenant = $2 AND ($3 = '' OR h.thread_id = $3)`, runID, sc.Tenant, threadID)
		err := t.Get(`SELECT r.status, r.parked, r.base FROM runs r JOIN threads h ON h.id = r.thread WHERE `+where, args, sqldb.Out{(*string)(&r.Status), &r.Parked, &r.Base})
		return noRun(err, runID)
	})
	return r, err
}

func findRun(t *sqldb.Tx, sc tables.Scope, threadID, runID string) (*runRow, error) {
	where, args := sc.Narrow(`r.run_id = $1 AND r.tenant = $2`, runID, sc.Tenant)
	row, err := readRun(t, where, args...)
	if err == nil && threadID != "" && row.ThreadID != threadID {
		err = sql.ErrNoRows
	}
	return row, noRun(err, runID)
}

// lockRun is like findRun, but locks the run's thread.
func lockRun(t *sqldb.Tx, sc tables.Scope, threadID, runID string) (*runRow, error) {
	row, err := findRun(t, sc, threadID, runID)
	if err != nil || !t.Shared() {
		return row, err
	}
	if err := tables.LockThread(t, row.thread); err != nil {
		return row, err
	}
	return findRun(t, sc, threadID, runID)
}

// List returns runs, newest first by default. A limit of 0 means all. Metadata is matched by containment.
func (s *Runs) List(ctx context.Context, q mapping.RunQuery) ([]mapping.Run, error) {
	found, err := s.find(ctx, q, wholeList)
	return found.Rows, err
}

// Search is like List, but holds only a few megabytes in memory at a time. Runs have their values at the time they are
// yielded, and deleted ones are skipped. The result can be ranged over once.
func (s *Runs) Search(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	found, err := s.find(ctx, q, listAtOnce)
	if err != nil {
		return failedList[mapping.Run](err)
	}
	sc := tables.ScopeOf(ctx)
	return found.Each(ctx, s.base.DB, func(t *sqldb.Tx, id string) (mapping.Run, int, error) {
		row, err := findRun(t, sc, "", id)
		return row.Run, row.size, err
	})
}

// find lists runs. The first ones are read completely, as many as fit in room.
func (s *Runs) find(ctx context.Context, q mapping.RunQuery, room int) (found longList[mapping.Run], err error) {
	where, args := runFilter(tables.ScopeOf(ctx), q)
	order := ` ORDER BY r.id DESC `
	if q.OldestFirst {
		order = ` ORDER BY r.id `
	}
	keep, limit, offset := containing(q.Metadata), sqldb.LimitOf(q.Limit), q.Offset
	says := saying(q.Text)
	chosen := keep != nil || says != nil
	if chosen {
		limit, offset = sqldb.LimitOf(0), 0
	}
	text := `SELECT ` + runColumns + ` WHERE ` + where + order + limitOffset(len(args)+1)
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		found = longList[mapping.Run]{Room: room}
		pick := picker{}
		if chosen {
			pick = picker{Limit: q.Limit, Offset: q.Offset}
		}
		return t.Until(text, append(args[:len(args):len(args)], limit, offset), func(scan func(...any) error) (bool, error) {
			var row runRow
			err := firstColumns(scan, runWidth, &row.ID, rawOf(&row.Metadata))
			if err != nil || keep != nil && !keep(row.Metadata) {
				return err == nil, err
			}
			if says != nil || !found.Full() {
				err = row.scan(scan)
			}
			if err != nil || says != nil && !says(&row.Run) || !pick.Take() {
				return err == nil, err
			}
			found.Add(row.ID, row.Run, row.size)
			return !pick.Full(), err
		})
	})
	return found, err
}

// runFilter selects threads and tasks by key. With a join on their ids and the order of runs, SQLite would scan all
// runs.
func runFilter(sc tables.Scope, q mapping.RunQuery) (where string, args sqldb.In) {
	where, args = sc.Narrow(`r.tenant = $1`, sc.Tenant)
	for _, f := range []struct{ before, value, after string }{
		{`r.thread = (SELECT id FROM threads WHERE tenant = $1 AND thread_id = `, q.ThreadID, `)`},
		{`r.task = (SELECT id FROM tasks WHERE tenant = $1 AND task_id = `, q.TaskID, `)`},
		{`r.agent = `, q.Agent, ``},
		{`r.assistant_id = `, q.Assistant, ``},
		{`r.owner = `, q.Owner, ``},
	} {
		if f.value != "" {
			args = append(args, f.value)
			where += ` AND ` + f.before + sqldb.Params(len(args), 1) + f.after
		}
	}
	if len(q.Status) > 0 { // there are only a few statuses
		where += ` AND r.status IN (` + sqldb.Params(len(args)+1, len(q.Status)) + `)`
		for _, st := range q.Status {
			args = append(args, string(st))
		}
	}
	return made(where, args, q)
}

// made adds the conditions on creation times. If the run at which a list stopped was deleted, the list continues with
// the runs created before the next one.
func made(where string, args sqldb.In, q mapping.RunQuery) (string, sqldb.In) {
	if !q.Since.IsZero() {
		args = append(args, sqldb.Micros(q.Since))
		where += ` AND r.created_us >= ` + sqldb.Params(len(args), 1)
	}
	if !q.Until.IsZero() {
		args = append(args, sqldb.Micros(q.Until))
		where += ` AND r.created_us <= ` + sqldb.Params(len(args), 1)
	}
	if q.Before.RunID != "" {
		args = append(args, q.Before.RunID, sqldb.Micros(q.Before.CreatedAt))
		where += ` AND r.id < coalesce((SELECT id FROM runs WHERE tenant = $1 AND run_id = ` + sqldb.Params(len(args)-1, 1) +
			`), (SELECT min(id) FROM runs WHERE tenant = $1 AND created_us >= ` + sqldb.Params(len(args), 1) + `), 9223372036854775807)`
	}
	return where, args
}
