package engine

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// canceller ends runs that are not at their end: for clients, for newer runs that take their place, and where no client
// comes back. Safe for concurrent use.
type canceller struct {
	runs     *store.Runs
	claims   *store.Claims
	log      *eventlog.Log
	running  *executions
	parked   *parkedRuns
	inactive *inactiveRuns
	removals *removals
	zap      *zap.Logger
}

// Cancel ends an active run as interrupted and returns when it has ended; with rollback it is then removed with all it
// did. A run that has ended already is Conflict, unless rollback removes it.
func (c *canceller) Cancel(ctx context.Context, r *mapping.Run, how Cancellation) error {
	err := c.stopRun(ctx, r, how)
	if !how.Rollback {
		return err
	}
	if err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	if err := c.runs.Delete(ctx, r.ThreadID, r.ID); err != nil {
		return err
	}
	c.removals.run(*r)
	return nil
}

// stopRun stops the run wherever it is: executing here, pending or parked, or executing elsewhere. It may move between
// these while we look. Of another process it hears by the run's log, which is held meanwhile.
func (c *canceller) stopRun(ctx context.Context, r *mapping.Run, how Cancellation) error {
	defer c.log.Pin(r)()
	watch := c.log.Watch(r.ThreadID)
	defer watch.Leave()
	for asked := false; ; {
		changed := watch.Next()
		held, err := c.stopHere(ctx, r, how, asked)
		if !held {
			return err
		}
		if c.running.find(r.ID) != nil {
			continue
		}
		if err := c.askToStop(ctx, r, how.Reason, &asked); err != nil {
			return err
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// stopHere stops a run that this process executes, or none does. held: it is claimed, by this process, which is about
// to execute it, or by another.
func (c *canceller) stopHere(ctx context.Context, r *mapping.Run, how Cancellation, asked bool) (held bool, err error) {
	if x := c.running.find(r.ID); x != nil {
		if parked, err := x.cancelled(ctx, how); !parked {
			return false, err
		}
	}
	fresh, err := c.runs.Get(ctx, r.ThreadID, r.ID)
	switch {
	case err != nil:
		return false, err
	case asked && fresh.Status == mapping.RunInterrupted:
		return false, nil
	case !fresh.Status.Active():
		return false, mapping.Errorf(mapping.Conflict, "run_ended", "Run %s has already ended with status %s.", r.ID, fresh.Status)
	case fresh.Status == mapping.RunRunning && !fresh.Parked:
		return true, nil // seen without the writer: each event of the run rings
	}
	if ended, err := c.parked.cancel(ctx, fresh, how); ended {
		return false, err
	}
	err = c.inactive.cancel(ctx, fresh, how)
	return errors.Is(err, store.ErrFenced), err
}

// askToStop leaves a note for the process that holds the run, once. A run that has ended meanwhile is left to the
// caller to see.
func (c *canceller) askToStop(ctx context.Context, r *mapping.Run, reason string, asked *bool) error {
	if *asked {
		return nil
	}
	*asked = true
	err := c.claims.RequestStop(ctx, r.ID, reason)
	if mapping.Classify(err).Class == mapping.Conflict {
		return nil
	}
	return err
}

// cancelled stops the execution and waits for the end event to be durable. parked: it had just done its step, and the
// run is to be ended as a parked one.
func (d *departure) cancelled(ctx context.Context, cause error) (parked bool, err error) {
	d.x.cancel(cause)
	select {
	case <-d.done:
	case <-d.stalled:
		return false, d.fault
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	switch out := d.outcome; {
	case out.Parked:
		return true, nil
	case out.Status == "":
		return false, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "Run %s was handed over before it could be cancelled. Try again in a moment.", d.x.Run.ID)
	case !out.Cancelled:
		return false, mapping.Errorf(mapping.Conflict, "run_ended", "Run %s ended with status %s before it could be cancelled.", d.x.Run.ID, out.Status)
	}
	return false, nil
}

// CancelSoon asks for the end of an active run without waiting for it. An execution is told at once, and looked at
// until it is over: it may be parking, and then does not hear it.
func (c *canceller) CancelSoon(ctx context.Context, r *mapping.Run, how Cancellation) error {
	if x := c.running.find(r.ID); x != nil {
		x.cancel(how)
	} else if r.Status == mapping.RunPending || r.Parked {
		return c.Cancel(ctx, r, how)
	}
	ctx = context.WithoutCancel(ctx)
	c.running.spawn(func() {
		if err := c.Cancel(ctx, r, how); err != nil && !alreadyGone(err) {
			c.zap.Warn("a run could not be cancelled", errField(err), runField(r.ID))
		}
	})
	return nil
}
