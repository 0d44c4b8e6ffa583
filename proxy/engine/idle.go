package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/engine/clock"
)

// idleClocks cancel runs whose client does not ask for further steps. Safe for concurrent use.
type idleClocks struct {
	e      *Engine
	timers clock.Timers // by run
}

// restart cancels a run when no step of it is asked for within its agent's stepping.idle; each call begins anew.
func (c *idleClocks) restart(r mapping.Run, agent *Agent) {
	c.beginFor(r, agent.Config.Stepping.Idle)
}

// beginFor cancels the run after d, unless a step of it is asked for before.
func (c *idleClocks) beginFor(r mapping.Run, d time.Duration) {
	c.timers.Set(r.ID, d, func() { c.over(r) })
}

// over cancels a run whose clock has gone off. Where that cannot be known or done, it is tried again.
func (c *idleClocks) over(r mapping.Run) {
	if r.Options.Stepping == mapping.SteppingLockstep && c.e.running.find(r.ID) != nil {
		c.beginFor(r, c.returning(r)) // its client has come back meanwhile, or it is just being parked
		return
	}
	ctx, stop := context.WithTimeout(c.e.scope(c.e.root, &r), cancelGrace)
	defer stop()
	rest, err := c.leftElsewhere(ctx, r)
	if err == nil && rest == 0 {
		err = c.e.Cancel(ctx, &r, Cancellation{Reason: mapping.CancelledAsIdle})
	}
	switch {
	case rest > 0:
		c.beginFor(r, rest)
	case err != nil && !alreadyGone(err):
		c.e.zap.Warn("an idle run could not be cancelled, and is tried again", errField(err), runField(r.ID))
		c.beginFor(r, c.returning(r))
	}
}

// leftElsewhere is how long an active run may still be left alone when it went on, or a step of it was handed out, in
// another process, whose clocks this one does not know of; 0: no longer.
func (c *idleClocks) leftElsewhere(ctx context.Context, r mapping.Run) (time.Duration, error) {
	if !c.e.st.Shared() {
		return 0, nil
	}
	fresh, err := c.e.st.Runs.Get(ctx, r.ThreadID, r.ID)
	if err != nil || !fresh.Status.Active() {
		return 0, err
	}
	idle := c.idle(r)
	if r.Options.Stepping == mapping.SteppingLockstep && !fresh.Parked {
		return max(idle, time.Second), nil // a step of it is asked for
	}
	since := fresh.UpdatedAt
	if task, err := c.e.st.Tasks.Get(ctx, r.TaskID); err == nil && task.UpdatedAt.After(since) {
		since = task.UpdatedAt
	}
	if rest := idle - time.Since(since); rest > idle/10 { // less is what this process knew itself
		return rest, nil
	}
	return 0, nil
}

// idle is how long a run may be left alone.
func (c *idleClocks) idle(r mapping.Run) time.Duration {
	if agent := c.e.agent(r.Agent); agent != nil {
		return agent.Config.Stepping.Idle
	}
	return config.DefaultAgent().Stepping.Idle // as missing
}

// comeBack is how long a client has at least, after a start, to come back for the steps of its run, and how often the
// clocks of other processes are looked after.
const comeBack = time.Minute

func (c *idleClocks) returning(r mapping.Run) time.Duration { return min(c.idle(r), comeBack) }

// beginAll starts the clocks of the runs whose clients an earlier process served.
func (c *idleClocks) beginAll(ctx context.Context) error {
	return c.beginSome(ctx, func(mapping.Run) bool { return true })
}

// watch starts the clocks of runs that other processes have parked, which may be gone since. Those of processes that
// live look whether a run went on elsewhere (leftElsewhere), as this one does.
func (c *idleClocks) watch(ctx context.Context) {
	for pause.For(ctx, comeBack) == nil {
		if err := c.beginParked(ctx); err != nil && ctx.Err() == nil {
			c.e.zap.Warn("parked runs could not be looked for", errField(err))
		}
	}
}

func (c *idleClocks) beginParked(ctx context.Context) error {
	return c.beginSome(ctx, func(r mapping.Run) bool { return r.Parked && !c.timers.Has(r.ID) })
}

// beginSome starts clocks of runs that other processes served. The time that was before counts, but for a little to
// come back in.
func (c *idleClocks) beginSome(ctx context.Context, wanted func(mapping.Run) bool) error {
	runs, err := c.e.st.Claims.Unpulled(ctx)
	for _, r := range runs {
		if wanted(r) {
			c.beginFor(r, max(c.idle(r)-time.Since(r.UpdatedAt), c.returning(r)))
		}
	}
	return err
}

// StartIdleClock has an active run cancelled when no step of it is asked for within its agent's stepping.idle; each
// call begins anew. StopIdleClock ends that.
func (c *canceller) StartIdleClock(r mapping.Run) {
	if agent := c.e.agent(r.Agent); agent != nil {
		c.idle.restart(r, agent)
	}
}

// StopIdleClock stops the clock of StartIdleClock: a step of the run is asked for.
func (c *canceller) StopIdleClock(runID string) { c.idle.timers.Cancel(runID) }
