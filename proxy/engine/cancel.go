package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// cancelGrace is the time that an agent has to accept a cancellation.
const cancelGrace = 10 * time.Second

// Cancel ends an active run as interrupted and returns when it has ended. With Rollback it then removes the run and all
// of its effects. If the run has already ended, it returns a Conflict, unless Rollback removes it.
func (e *Engine) Cancel(ctx context.Context, r *mapping.Run, how Cancellation) error {
	err := e.stopRun(ctx, r, how)
	if !how.Rollback {
		return err
	}
	if err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	if err := e.store.Runs.Delete(ctx, r.ThreadID, r.ID); err != nil {
		return err
	}
	e.runRemoved(*r)
	return nil
}

// CancelSoon cancels an active run without waiting for its end. An execution is cancelled at once and watched until it
// ends, because an execution that is being parked does not notice the cancellation.
func (e *Engine) CancelSoon(ctx context.Context, r *mapping.Run, how Cancellation) error {
	if x := e.runs.find(r.ID); x != nil {
		x.cancel(how)
	} else if r.Status == mapping.RunPending || r.Parked {
		return e.Cancel(ctx, r, how)
	}
	ctx = context.WithoutCancel(ctx)
	e.runs.spawn(func() {
		if err := e.Cancel(ctx, r, how); err != nil && !alreadyGone(err) {
			e.logger.Warn("run could not be cancelled", errField(err), runField(r.ID))
		}
	})
	return nil
}

// alreadyGone reports whether a run could not be stopped because it had ended or was removed.
func alreadyGone(err error) bool {
	c := mapping.Classify(err).Class
	return c == mapping.Conflict || c == mapping.NotFound
}

// Unqueue removes a run that has not begun. It returns false if the run has begun.
func (e *Engine) Unqueue(ctx context.Context, r *mapping.Run) (bool, error) {
	fresh, err := e.store.Runs.Get(ctx, r.ThreadID, r.ID)
	if err != nil || fresh.Status != mapping.RunPending {
		return false, err
	}
	if err := e.cancelInactive(ctx, fresh, Cancellation{}); errors.Is(err, store.ErrFenced) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := e.store.Runs.Delete(ctx, r.ThreadID, r.ID); err != nil {
		return false, err
	}
	e.log.Evict(r.ID)
	return true, nil
}

// stopRun stops the run wherever it is: executing here or elsewhere, pending, or parked. The run may move between these
// in the meantime. Its log is pinned so that other processes notify this one.
func (e *Engine) stopRun(ctx context.Context, r *mapping.Run, how Cancellation) error {
	defer e.log.Retain(r)()
	watch := e.log.Watch(r.ThreadID)
	defer watch.Leave()
	for asked := false; ; {
		changed := watch.Next()
		held, err := e.stopHere(ctx, r, how, asked)
		if !held {
			return err
		}
		if e.runs.find(r.ID) != nil {
			continue
		}
		if !asked {
			asked = true
			err := e.store.Claims.RequestStop(ctx, r.ID, how.Reason)
			if err != nil && mapping.Classify(err).Class != mapping.Conflict { // Conflict: seen in the next iteration
				return err
			}
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// stopHere stops a run that is executed by this process or by none. held reports whether the run is claimed and not
// executing here: another process has it, or this one is about to execute it.
func (e *Engine) stopHere(ctx context.Context, r *mapping.Run, how Cancellation, asked bool) (held bool, err error) {
	if x := e.runs.find(r.ID); x != nil {
		if parked, err := x.cancelAndWait(ctx, how); !parked {
			return false, err
		}
	}
	fresh, err := e.store.Runs.Get(ctx, r.ThreadID, r.ID)
	switch {
	case err != nil:
		return false, err
	case asked && fresh.Status == mapping.RunInterrupted:
		return false, nil
	case !fresh.Status.Active():
		return false, mapping.Errorf(mapping.Conflict, "run_ended", "Run %s has already ended with status %s.", r.ID, fresh.Status)
	case fresh.Status == mapping.RunRunning && !fresh.Parked:
		return true, nil // checked without a write, since each event of the run wakes the caller
	}
	if ended, err := e.cancelParked(ctx, fresh, how); ended {
		return false, err
	}
	err = e.cancelInactive(ctx, fresh, how)
	return errors.Is(err, store.ErrFenced), err
}

// cancelAndWait stops the execution and waits until its end is durable. parked reports whether the execution completed
// its step first, so that the run has to be ended as a parked one.
func (x *execution) cancelAndWait(ctx context.Context, cause error) (parked bool, err error) {
	x.cancel(cause)
	select {
	case <-x.done:
	case <-x.stalled:
		return false, x.stallErr
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	switch out := x.outcome; {
	case out.Parked:
		return true, nil
	case out.Status == "":
		return false, mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "Run %s was handed over before it could be cancelled. Try again in a moment.", x.Run.ID)
	case !out.Cancelled:
		return false, mapping.Errorf(mapping.Conflict, "run_ended", "Run %s ended with status %s before it could be cancelled.", x.Run.ID, out.Status)
	}
	return false, nil
}

// cancelInactive ends an active run that no process executes. It returns ErrFenced if the run has been claimed in the
// meantime.
func (e *Engine) cancelInactive(ctx context.Context, r *mapping.Run, how Cancellation) error {
	out := how.outcome()
	now := e.store.Now()
	ev := mapping.Event{RunID: r.ID, Kind: mapping.KindEnd, At: now, Head: mapping.Head{Outcome: &out}}
	if _, err := e.store.Events.EndInactive(ctx, r.ThreadID, r.ID, ev, *e.endOf(r, out, now, nil)); err != nil {
		return err
	}
	e.StopIdleTimer(r.ID)
	e.noteInactiveEnd(ctx, r, out)
	e.wakeup.send()
	if r.Parked { // the agent of a run that never began does not know it, and may be working on another one
		e.cancelUpstream(e.agent(r.Agent), r)
	}
	return nil
}

// noteInactiveEnd reports that a run has ended that no process executed.
func (e *Engine) noteInactiveEnd(ctx context.Context, r *mapping.Run, out mapping.Outcome) {
	e.logEnd(r, &out)
	e.tracer.Unexecuted(mapping.WithTrace(ctx, traceOf(r)), r, endedAs(r, out, out.Status, 0))
	e.log.Wake(r.ID)
	e.log.WakeThread(r.ThreadID)
}

// cancelUpstream passes a cancellation on to an agent that supports it, on a separate goroutine, which reads r. agent
// is nil if it is no longer configured.
func (e *Engine) cancelUpstream(agent *Agent, r *mapping.Run) {
	if agent == nil {
		return
	}
	f := agent.found.Load()
	if f == nil {
		return
	}
	backend, ok := f.backend.(adapter.Canceler)
	if !ok {
		return
	}
	e.runs.spawn(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(e.runContext(e.root, r)), cancelGrace)
		defer stop()
		link, err := e.linkOf(ctx, r, f.traits.Exposes)
		if err == nil && link.Remote != "" {
			err = backend.Cancel(ctx, link, r.ID)
		}
		if err != nil {
			e.logger.Info("agent could not be cancelled", errField(err), runField(r.ID), agentField(r.Agent))
		}
	})
}

// preempt ends the runs displaced by a newer one, with the CancelReason of each. If the newer run rolls them back and
// due is set, it starts afterwards.
func (e *Engine) preempt(active []mapping.Run, newer *mapping.Run, due bool) {
	ctx, rollback := e.runContext(e.root, newer), newer.Multitask == mapping.StrategyRollback
	e.runs.spawn(func() {
		for _, r := range active {
			if err := e.Cancel(ctx, &r, Cancellation{Reason: r.CancelReason, Rollback: rollback}); err != nil && !alreadyGone(err) {
				e.logger.Warn("interrupted run could not be stopped", errField(err), runField(r.ID))
			}
		}
		if rollback && due {
			if err := e.store.Runs.MakeDue(ctx, newer.ID); err != nil {
				e.logger.Warn("run waits longer than necessary", errField(err), runField(newer.ID))
			}
		}
		e.wakeup.send()
	})
}

// resumePreempting ends displaced runs that a process left behind when it died. Two processes may do so at once.
func (e *Engine) resumePreempting(ctx context.Context) error {
	list, err := e.store.Runs.Displaced(ctx)
	waited := make(map[string][]mapping.Run) // runs to remove, by the run that waits for it
	for _, d := range list {
		if d.Newer != "" {
			waited[d.Newer] = append(waited[d.Newer], d.Run)
			continue
		}
		newer := &mapping.Run{Tenant: d.Tenant, Owner: d.Owner, Multitask: mapping.StrategyInterrupt}
		if d.RollBack {
			newer.Multitask = mapping.StrategyRollback
		}
		e.preempt([]mapping.Run{d.Run}, newer, false)
	}
	for id, runs := range waited {
		newer := &mapping.Run{ID: id, Tenant: runs[0].Tenant, Owner: runs[0].Owner, Multitask: mapping.StrategyRollback}
		e.preempt(runs, newer, true)
	}
	return err
}
