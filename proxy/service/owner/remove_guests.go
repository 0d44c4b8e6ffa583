package owner

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// removeGuestRuns removes the owner's runs on threads of others. Their messages remain part of those threads.
func (r *removal) removeGuestRuns() error {
	return eachGuest(func(behind string) ([]store.Guest, error) { return r.store.Owners.GuestRuns(r.ctx, r.owner, behind) }, func(g store.Guest) error {
		if _, stays := r.stays[g.ID]; stays {
			return nil
		}
		if err := r.one("run", g.ID, func(ctx context.Context) error { return r.removeGuestRun(ctx, g) }); err != nil {
			return err
		}
		return r.kept("thread", g.ThreadID, "it belongs to another owner, and its state may contain messages of the removed run")
	})
}

func (r *removal) removeGuestRun(ctx context.Context, g store.Guest) error {
	run, err := r.store.Runs.Get(ctx, g.ThreadID, g.ID)
	if err != nil {
		return err
	}
	if run.Status.Active() {
		if err := r.engine.Cancel(ctx, run, engine.Cancellation{Reason: mapping.CancelledByRequest}); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			return err
		}
	}
	if err := r.store.Owners.EraseTraces(ctx, g.ID); err != nil {
		return err
	}
	if err := r.store.Runs.Delete(ctx, g.ThreadID, g.ID); err != nil {
		return err
	}
	r.threads.ForgetRun(*run)
	return nil
}

// removeGuestTasks removes the owner's tasks on threads of others, unless they have runs of others.
func (r *removal) removeGuestTasks() error {
	return eachGuest(func(behind string) ([]store.Guest, error) { return r.store.Owners.GuestTasks(r.ctx, r.owner, behind) }, func(g store.Guest) error {
		return r.one("task", g.ID, func(ctx context.Context) error {
			removed, err := r.store.Owners.EraseTask(ctx, g.ID)
			if err == nil && !removed {
				err = mapping.Errorf(mapping.Conflict, "task_has_runs", "Another owner has created runs of this task, on thread %s.", g.ThreadID)
			}
			if err == nil {
				r.threads.ForgetTask(tenantOf(ctx), g.ID)
			}
			return err
		})
	})
}
