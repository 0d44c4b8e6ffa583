package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// preemption ends runs for newer ones. Safe for concurrent use.
type preemption struct {
	cancel     func(context.Context, *mapping.Run, Cancellation) error
	runs       *store.Runs
	background *background
	spawn      func(func()) bool
	bell       *doorbell
	zap        *zap.Logger
}

// preempt ends the runs that a newer one takes the place of, which their CancelReason says. One that has them rolled
// back starts when that is done, unless it was to start later anyway.
func (p *preemption) preempt(active []mapping.Run, newer *mapping.Run, due bool) {
	ctx, rollback := p.background.of(newer), newer.Multitask == mapping.StrategyRollback
	p.spawn(func() {
		for _, r := range active {
			if err := p.cancel(ctx, &r, Cancellation{Reason: r.CancelReason, Rollback: rollback}); err != nil && !alreadyGone(err) {
				p.zap.Warn("a displaced run could not be stopped", errField(err), runField(r.ID))
			}
		}
		if rollback && due {
			if err := p.runs.MakeDue(ctx, newer.ID); err != nil {
				p.zap.Warn("a run waits longer than it would have to", errField(err), runField(newer.ID))
			}
		}
		p.bell.wake()
	})
}

// resume goes on with ending the runs that newer ones take the place of, where a process died over it. Another process
// at it finds that done.
func (p *preemption) resume(ctx context.Context) error {
	list, err := p.runs.Displaced(ctx)
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
		p.preempt([]mapping.Run{d.Run}, newer, false)
	}
	for id, runs := range waited {
		newer := &mapping.Run{ID: id, Tenant: runs[0].Tenant, Owner: runs[0].Owner, Multitask: mapping.StrategyRollback}
		p.preempt(runs, newer, true)
	}
	return err
}

// alreadyGone reports whether a run was not there to be stopped any more.
func alreadyGone(err error) bool {
	c := mapping.Classify(err).Class
	return c == mapping.Conflict || c == mapping.NotFound
}
