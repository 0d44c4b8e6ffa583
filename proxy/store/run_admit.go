package store

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// decideStart decides whether the run starts now, later or not at all.
func (x *createRunTx) decideStart() error {
	on, err := x.occupants()
	if err != nil {
		return err
	}
	strategy := x.made.Run.Multitask
	free := len(on.runs) == 0
	if len(on.runs) > 0 && strategy == mapping.StrategyConcurrent {
		if free, err = x.amongShared(); err != nil {
			return err
		}
	} else if len(on.runs) > 0 {
		if err := x.applyStrategy(on.runs, strategy); err != nil {
			return err
		}
	}
	x.claimed = x.n.Claim && x.made.Run.RunAfter.IsZero() && free && !on.update
	if x.claimed {
		return nil
	}
	return x.checkQueueLimits()
}

// occupants are the runs or the state update that occupy a thread.
type occupants struct {
	runs   []*runRow // the running ones, or else the oldest pending one
	update bool      // the thread is held by States.Hold
}

func (x *createRunTx) occupants() (on occupants, err error) {
	if x.fresh {
		return on, nil
	}
	var keys []int64
	err = x.Until(`SELECT 0 AS id, '~' AS status FROM updates WHERE thread = $1
 UNION ALL SELECT id, status FROM runs WHERE thread = $1 AND ended_us = 0 ORDER BY status DESC, id`, sqldb.In{x.thread.key},
		func(scan func(...any) error) (bool, error) {
			var key int64
			var status string
			err := scan(&key, &status)
			if key == 0 {
				on.update = true
				return err == nil, err
			}
			running := status == string(mapping.RunRunning)
			if len(keys) == 0 || running {
				keys = append(keys, key)
			}
			return err == nil && running, err
		})
	for _, key := range keys {
		row, err := readRun(x.Tx, `r.id = $1`, key)
		if err != nil {
			return on, err
		}
		on.runs = append(on.runs, row)
	}
	return on, err
}

// amongShared reports whether every run of the thread allows concurrent runs.
func (x *createRunTx) amongShared() (ok bool, err error) {
	err = x.Get(`SELECT NOT EXISTS (SELECT 1 FROM runs WHERE thread = $1 AND ended_us = 0 AND concurrent = 0)`, sqldb.In{x.thread.key}, sqldb.Out{&ok})
	return ok, err
}

// applyStrategy applies a strategy to the active runs.
func (x *createRunTx) applyStrategy(active []*runRow, strategy mapping.Strategy) error {
	switch strategy {
	case mapping.StrategyEnqueue:
		return nil
	case mapping.StrategyInterrupt, mapping.StrategyRollback:
		note := displacing(x.made.Run, x.made.Run.RunAfter.IsZero())
		if strategy == mapping.StrategyRollback && x.made.Run.RunAfter.IsZero() {
			x.made.Run.RunAfter = sqldb.TimeOf(x.Now + rollbackTime.Microseconds())
		}
		return x.displace(active, note)
	default:
		return x.busyWith(active[0].Run)
	}
}

// displace requests a stop of the active runs by their executions or by the process that reads the note.
func (x *createRunTx) displace(active []*runRow, note string) error {
	for _, r := range active {
		r.CancelReason = mapping.SupersededBy(x.made.Run)
		x.made.Active = append(x.made.Active, r.Run)
		if err := x.s.base.noteStop(x.Tx, r, note, r.CancelReason); err != nil {
			return err
		}
	}
	return nil
}

// rollbackTime limits how long a run with the strategy rollback waits. It starts once the changes of the other run are
// removed (Runs.Delete). If it started between the end of that run and its removal, it would start from the wrong
// state.
const rollbackTime = 30 * time.Second

// MakeDue lets a pending run start as soon as its thread is free.
func (s *Runs) MakeDue(ctx context.Context, runID string) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`UPDATE runs SET run_after_us = 0 WHERE tenant = $1 AND run_id = $2 AND status = 'pending'`, tables.TenantOf(ctx), runID)
		return err
	})
}

// busyWith returns the error for a new run on a thread that is occupied by r.
func (x *createRunTx) busyWith(r mapping.Run) error {
	by := mapping.Busy{ThreadID: x.thread.ID, RunID: r.ID}
	if r.Status == mapping.RunPending && r.Multitask != mapping.StrategyRollback && sqldb.Micros(r.RunAfter) > x.Now {
		by.StartsAt = r.RunAfter
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy, "Thread %q is busy with %s. Wait for it or cancel it.", by.ThreadID, by)
	e.Detail = by
	return e
}
