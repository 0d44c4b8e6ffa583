package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/engine/clock"
	"github.com/apbridge/apbridge/proxy/store"
)

// idleClocks cancel runs whose client does not ask for further steps. Safe for concurrent use.
type idleClocks struct {
	e      *Engine
	timers clock.Timers // by run
}

// restart cancels a run when no step of it is asked for within its agent's stepping.idle; each call begins anew.
func (c *idleClocks) restart(r *mapping.Run, agent *Agent) {
	c.cancelIn(agent.Config.Stepping.Idle, store.PulledRun{ID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Tenant: r.Tenant, Owner: r.Owner})
}

// cancelIn cancels the run after d, unless a step of it is asked for before.
func (c *idleClocks) cancelIn(d time.Duration, r store.PulledRun) {
	c.timers.Set(r.ID, d, func() { c.over(r) })
}

// over cancels a run whose clock has gone off. Where that cannot be known or done, it is tried again.
func (c *idleClocks) over(r store.PulledRun) {
	ctx, stop := context.WithTimeout(mapping.WithPrincipal(c.e.background.root, mapping.Principal{ID: r.Owner, Tenant: r.Tenant}), cancelGrace)
	defer stop()
	rest, err := c.cancelLeft(ctx, r)
	switch {
	case rest > 0:
		c.cancelIn(rest, r)
	case err != nil && !alreadyGone(err):
		c.e.zap.Warn("an idle run could not be cancelled, and is tried again", errField(err), runField(r.ID))
		c.cancelIn(c.returning(r.Agent), r)
	}
}

// cancelLeft cancels a run that its client has left alone. rest is how long the client may still leave it, where the
// run is not cancelled for that.
func (c *idleClocks) cancelLeft(ctx context.Context, left store.PulledRun) (rest time.Duration, err error) {
	r, err := c.e.st.Runs.Get(ctx, left.ThreadID, left.ID)
	if err != nil {
		return 0, err
	}
	if r.Options.Stepping == mapping.SteppingLockstep && c.e.running.find(r.ID) != nil {
		return c.returning(r.Agent), nil // its client has come back meanwhile, or it is just being parked
	}
	if rest := c.leftElsewhere(ctx, r); rest > 0 {
		return rest, nil
	}
	return 0, c.e.Cancel(c.e.scope(ctx, r), r, Cancellation{Reason: mapping.CancelledAsIdle})
}

// leftElsewhere is how long a run may still be left alone when it went on, or a step of it was handed out, in another
// process, whose clocks this one does not know of; 0: no longer.
func (c *idleClocks) leftElsewhere(ctx context.Context, r *mapping.Run) time.Duration {
	if !c.e.st.Shared() || !r.Status.Active() {
		return 0
	}
	idle := c.idle(r.Agent)
	if r.Options.Stepping == mapping.SteppingLockstep && !r.Parked {
		return max(idle, time.Second) // a step of it is asked for
	}
	since := r.UpdatedAt
	if task, err := c.e.st.Tasks.Get(ctx, r.TaskID); err == nil && task.UpdatedAt.After(since) {
		since = task.UpdatedAt
	}
	if rest := idle - time.Since(since); rest > idle/10 { // less is what this process knew itself
		return rest
	}
	return 0
}

// idle is how long a run of an agent may be left alone.
func (c *idleClocks) idle(name string) time.Duration {
	if agent := c.e.agent(name); agent != nil {
		return agent.Config.Stepping.Idle
	}
	return config.DefaultAgent().Stepping.Idle // as missing
}

// comeBack is how long a client has at least, after a start, to come back for the steps of its run, and how often the
// clocks of other processes are looked after.
const comeBack = time.Minute

func (c *idleClocks) returning(agent string) time.Duration { return min(c.idle(agent), comeBack) }

// startAll starts the clocks of the runs whose clients an earlier process served.
func (c *idleClocks) startAll(ctx context.Context) error { return c.start(ctx, false) }

// watch starts the clocks of runs that other processes have parked, which may be gone since. Those of processes that
// live look whether a run went on elsewhere (leftElsewhere), as this one does.
func (c *idleClocks) watch(ctx context.Context) {
	for pause.For(ctx, comeBack) == nil {
		if err := c.start(ctx, true); err != nil && ctx.Err() == nil {
			c.e.zap.Warn("parked runs could not be looked for", errField(err))
		}
	}
}

// start starts clocks of runs that other processes served and that have none here. The time that was before counts, but
// for a little to come back in.
func (c *idleClocks) start(ctx context.Context, parkedOnly bool) error {
	for r, err := range c.e.st.Claims.Pulled(ctx, parkedOnly) {
		if err != nil {
			return err
		}
		if !c.timers.Has(r.ID) {
			c.cancelIn(max(c.idle(r.Agent)-time.Since(r.UpdatedAt), c.returning(r.Agent)), r)
		}
	}
	return nil
}

// StartIdleClock has an active run cancelled when no step of it is asked for within its agent's stepping.idle; each
// call begins anew. StopIdleClock ends that.
func (c *canceller) StartIdleClock(r mapping.Run) {
	if agent := c.e.agent(r.Agent); agent != nil {
		c.idle.restart(&r, agent)
	}
}

// StopIdleClock stops the clock of StartIdleClock: a step of the run is asked for.
func (c *canceller) StopIdleClock(runID string) { c.idle.timers.Cancel(runID) }
