package owner

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// guests removes the runs and tasks of an owner that are on threads of others.
type guests struct {
	*ledger
	owned   *store.Owners
	runs    *store.Runs
	remover Remover
	engine  Engine
}

// removeRuns removes those on threads of others. What they said there is a part of those threads.
func (r guests) removeRuns() error {
	return eachGuest(func(behind string) ([]store.Guest, error) { return r.owned.GuestRuns(r.ctx, r.owner, behind) }, func(g store.Guest) error {
		if _, stays := r.stays[g.ID]; stays {
			return nil
		}
		if err := r.one("run", g.ID, func(ctx context.Context) error { return r.run(ctx, g) }); err != nil {
			return err
		}
		return r.kept("thread", g.ThreadID, "it is of another owner, and its state may have what was said there")
	})
}

func (r guests) run(ctx context.Context, g store.Guest) error {
	run, err := r.runs.Get(ctx, g.ThreadID, g.ID)
	if err != nil {
		return err
	}
	if run.Status.Active() {
		if err := r.engine.Cancel(ctx, run, engine.Cancellation{Reason: mapping.CancelledByRequest}); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			return err
		}
	}
	if err := r.owned.EraseTraces(ctx, g.ID); err != nil {
		return err
	}
	if err := r.runs.Delete(ctx, g.ThreadID, g.ID); err != nil {
		return err
	}
	r.remover.ForgetRun(*run)
	return nil
}

// removeTasks removes those on threads of others that have no runs of others.
func (r guests) removeTasks() error {
	return eachGuest(func(behind string) ([]store.Guest, error) { return r.owned.GuestTasks(r.ctx, r.owner, behind) }, func(g store.Guest) error {
		return r.one("task", g.ID, func(ctx context.Context) error {
			removed, err := r.owned.EraseTask(ctx, g.ID)
			if err == nil && !removed {
				err = mapping.Errorf(mapping.Conflict, "task_has_runs", "Another owner has made runs of this task, on thread %s.", g.ThreadID)
			}
			if err == nil {
				r.remover.ForgetTask(tenantOf(ctx), g.ID)
			}
			return err
		})
	})
}
