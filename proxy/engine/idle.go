package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// idleClocks cancel runs whose client does not ask for further steps. Safe for concurrent use.
type idleClocks struct {
	timers     timers // by run
	settings   *configured
	claims     *store.Claims
	now        func() time.Time // store.Store.Now
	clients    attendance
	cancel     func(context.Context, *mapping.Run, Cancellation) error
	background *background
	zap        *zap.Logger
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
	ctx, stop := context.WithTimeout(mapping.WithPrincipal(c.background.root, mapping.Principal{ID: r.Owner, Tenant: r.Tenant}), cancelGrace)
	defer stop()
	rest, err := c.cancelAbandoned(ctx, r)
	switch {
	case rest > 0:
		c.cancelIn(rest, r)
	case err != nil && !alreadyGone(err):
		c.zap.Warn("an idle run could not be cancelled, and is tried again", errField(err), runField(r.ID))
		c.cancelIn(c.returning(r.Agent), r)
	}
}

// cancelAbandoned cancels a run that its client has left alone. rest is how long the client may still leave it, where
// the run is not cancelled for that.
func (c *idleClocks) cancelAbandoned(ctx context.Context, p store.PulledRun) (rest time.Duration, err error) {
	r, err := c.clients.runs.Get(ctx, p.ThreadID, p.ID)
	if err != nil {
		return 0, err
	}
	rest, absent, err := c.clients.absent(ctx, r, c.idle(r.Agent))
	if err != nil || !absent {
		return rest, err
	}
	return 0, c.cancel(c.background.scope(ctx, r), r, Cancellation{Reason: mapping.CancelledAsIdle})
}

// idle is how long a run of an agent may be left alone.
func (c *idleClocks) idle(name string) time.Duration {
	if agent := c.settings.agent(name); agent != nil {
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
// live look whether a run went on elsewhere (attendance), as this one does.
func (c *idleClocks) watch(ctx context.Context) {
	for pause.For(ctx, comeBack) == nil {
		if err := c.start(ctx, true); err != nil && ctx.Err() == nil {
			c.zap.Warn("parked runs could not be looked for", errField(err))
		}
	}
}

// start starts clocks of runs that other processes served and that have none here. The time that was before counts, but
// for a little to come back in.
func (c *idleClocks) start(ctx context.Context, parkedOnly bool) error {
	for r, err := range c.claims.Pulled(ctx, parkedOnly) {
		if err != nil {
			return err
		}
		if !c.timers.Has(r.ID) {
			c.cancelIn(max(c.idle(r.Agent)-c.now().Sub(r.UpdatedAt), c.returning(r.Agent)), r)
		}
	}
	return nil
}

// StartIdleClock has an active run cancelled when no step of it is asked for within its agent's stepping.idle; each
// call begins anew. StopIdleClock ends that.
func (c *idleClocks) StartIdleClock(r mapping.Run) {
	if agent := c.settings.agent(r.Agent); agent != nil {
		c.restart(&r, agent)
	}
}

// StopIdleClock stops the clock of StartIdleClock: a step of the run is asked for.
func (c *idleClocks) StopIdleClock(runID string) { c.timers.Cancel(runID) }
