package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
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
	c.timers.Set(r.ID, d, func() {
		ctx, stop := context.WithTimeout(c.e.scope(c.e.root, &r), cancelGrace)
		defer stop()
		if rest := c.leftElsewhere(ctx, r); rest > 0 {
			c.beginFor(r, rest)
			return
		}
		if err := c.e.Cancel(ctx, &r, Cancellation{Reason: mapping.CancelledAsIdle}); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			c.e.zap.Warn("an idle run could not be cancelled", errField(err), runField(r.ID))
		}
	})
}

// leftElsewhere is how long an active run may still be left alone when it went on, or a step of it was handed out, in
// another process, whose clocks this one does not know of; 0: no longer.
func (c *idleClocks) leftElsewhere(ctx context.Context, r mapping.Run) time.Duration {
	agent := c.e.agent(r.Agent)
	if agent == nil || !c.e.st.Shared() {
		return 0
	}
	fresh, err := c.e.st.Runs.Get(ctx, r.ThreadID, r.ID)
	if err != nil || !fresh.Status.Active() {
		return 0
	}
	since := fresh.UpdatedAt
	if task, err := c.e.st.Tasks.Get(ctx, r.TaskID); err == nil && task.UpdatedAt.After(since) {
		since = task.UpdatedAt
	}
	idle := agent.Config.Stepping.Idle
	if rest := idle - time.Since(since); rest > idle/10 { // less is what this process knew itself
		return rest
	}
	return 0
}

// returning is how long a client has at least, after a start, to come back for the steps of its run.
const returning = time.Minute

// beginAll starts the clocks of the runs whose clients an earlier process served. The time it was gone counts, but for
// a little to come back in.
func (c *idleClocks) beginAll(ctx context.Context) error {
	runs, err := c.e.st.Claims.Unpulled(ctx)
	for _, r := range runs {
		agent := c.e.agent(r.Agent)
		if agent == nil {
			agent = missing(r.Agent)
		}
		idle := agent.Config.Stepping.Idle
		c.beginFor(r, max(idle-time.Since(r.UpdatedAt), min(idle, returning)))
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
