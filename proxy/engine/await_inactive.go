package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// waits are those for runs that executions are at, here or elsewhere. Safe for concurrent use.
type waits struct {
	runs    *store.Runs
	log     *eventlog.Log
	running *executions
}

// AwaitInactive waits until an active run is parked or has ended, and returns it. Of a run of another process it hears
// at once where the run's log is held here (eventlog.Log.Pin).
func (w *waits) AwaitInactive(ctx context.Context, r mapping.Run) (mapping.Run, error) {
	watch := w.log.Watch(r.ThreadID)
	defer watch.Leave()
	for {
		changed := watch.Next()
		if x := w.running.find(r.ID); x != nil {
			select {
			case <-x.done:
			case <-x.stalled:
				return r, x.fault
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
		}
		fresh, err := w.runs.State(ctx, r.ThreadID, r.ID)
		if err != nil {
			return r, err
		}
		r.Status, r.Parked = fresh.Status, fresh.Parked
		if fresh.Parked || !fresh.Status.Active() {
			return r, nil
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return r, err
		}
	}
}
