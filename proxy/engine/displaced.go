package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// displaced goes on with ending the runs that newer ones take the place of, where a
// process died over it. Whoever else is at it finds that done.
func (e *Engine) displaced(ctx context.Context) error {
	list, err := e.st.Displaced(ctx)
	waited := make(map[string][]mapping.Run) // for their removal, by the run that waits
	for _, d := range list {
		if d.Newer != "" {
			waited[d.Newer] = append(waited[d.Newer], d.Run)
			continue
		}
		newer := mapping.Run{Tenant: d.Tenant, Owner: d.Owner, Multitask: mapping.StrategyInterrupt}
		if d.RollBack {
			newer.Multitask = mapping.StrategyRollback
		}
		e.displace([]mapping.Run{d.Run}, newer, false)
	}
	for id, runs := range waited {
		newer := mapping.Run{ID: id, Tenant: runs[0].Tenant, Owner: runs[0].Owner, Multitask: mapping.StrategyRollback}
		e.displace(runs, newer, true)
	}
	return err
}

// settled tells whether a run was not there to be stopped any more.
func settled(err error) bool {
	c := mapping.Classify(err).Class
	return c == mapping.Conflict || c == mapping.NotFound
}
