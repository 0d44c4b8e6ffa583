package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// preempt ends the runs that a newer one takes the place of, which their CancelReason says. One that has them rolled
// back starts when that is done, unless it was to start later anyway.
func (c *canceller) preempt(active []mapping.Run, newer *mapping.Run, due bool) {
	ctx, rollback := c.e.of(newer), newer.Multitask == mapping.StrategyRollback
	c.e.running.spawn(func() {
		for _, r := range active {
			if err := c.Cancel(ctx, &r, Cancellation{Reason: r.CancelReason, Rollback: rollback}); err != nil && !alreadyGone(err) {
				c.e.zap.Warn("a displaced run could not be stopped", errField(err), runField(r.ID))
			}
		}
		if rollback && due {
			if err := c.e.st.Runs.MakeDue(ctx, newer.ID); err != nil {
				c.e.zap.Warn("a run waits longer than it would have to", errField(err), runField(newer.ID))
			}
		}
		c.e.wake()
	})
}

// resumePreempted goes on with ending the runs that newer ones take the place of, where a process died over it. Another
// process at it finds that done.
func (c *canceller) resumePreempted(ctx context.Context) error {
	list, err := c.e.st.Runs.Displaced(ctx)
	waited := make(map[string][]mapping.Run) // for their removal, by the run that waits
	for _, d := range list {
		if d.Newer != "" {
			waited[d.Newer] = append(waited[d.Newer], d.Run)
			continue
		}
		newer := &mapping.Run{Tenant: d.Tenant, Owner: d.Owner, Multitask: mapping.StrategyInterrupt}
		if d.RollBack {
			newer.Multitask = mapping.StrategyRollback
		}
		c.preempt([]mapping.Run{d.Run}, newer, false)
	}
	for id, runs := range waited {
		newer := &mapping.Run{ID: id, Tenant: runs[0].Tenant, Owner: runs[0].Owner, Multitask: mapping.StrategyRollback}
		c.preempt(runs, newer, true)
	}
	return err
}

// alreadyGone reports whether a run was not there to be stopped any more.
func alreadyGone(err error) bool {
	c := mapping.Classify(err).Class
	return c == mapping.Conflict || c == mapping.NotFound
}
