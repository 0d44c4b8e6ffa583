package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// attendance knows whether clients are there for their runs. Safe for concurrent use.
type attendance struct {
	runs    *store.Runs
	tasks   *store.Tasks
	now     func() time.Time // store.Store.Now
	running *executions
	shared  bool // other processes may serve the same runs
}

// absent reports whether an active run has been left alone for longer than idle; else rest is how long it may still be.
func (a *attendance) absent(ctx context.Context, r *mapping.Run, idle time.Duration) (rest time.Duration, absent bool, err error) {
	if r.Options.Stepping == mapping.SteppingLockstep && a.running.find(r.ID) != nil {
		return min(idle, comeBack), false, nil // the client has come back meanwhile, or the run is just being parked
	}
	rest, err = a.elsewhere(ctx, r, idle)
	return rest, err == nil && rest == 0, err
}

// elsewhere is how long a run may still be left alone when it went on, or a step of it was handed out, in another
// process, whose clocks this one does not know of; 0: no longer.
func (a *attendance) elsewhere(ctx context.Context, r *mapping.Run, idle time.Duration) (time.Duration, error) {
	if !a.shared || !r.Status.Active() {
		return 0, nil
	}
	if r.Options.Stepping == mapping.SteppingLockstep && !r.Parked {
		return max(idle, time.Second), nil // a step of it is asked for
	}
	task, err := a.tasks.Get(ctx, r.TaskID)
	if err != nil {
		return 0, err
	}
	since := r.UpdatedAt
	if task.UpdatedAt.After(since) {
		since = task.UpdatedAt
	}
	if rest := idle - a.now().Sub(since); rest > idle/10 { // less is what this process knew itself
		return rest, nil
	}
	return 0, nil
}
