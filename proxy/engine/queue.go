package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/proxy/store"
)

// queue is the pending runs, as this process takes them. It belongs to the dispatcher's goroutine.
type queue struct {
	claims   *store.Claims
	begun    *openClaims
	settings *configured
	running  *executions
	lease    *lease
	launcher *launcher
}

// claimNext claims the next run, if there is one, and launches it. taken: another process had it, or this one before.
func (q *queue) claimNext(ctx context.Context) (taken, ok bool, next time.Time, err error) {
	claimed := q.begun.note()
	defer claimed()
	c, agent, next, err := q.claim(ctx)
	if err != nil || agent == nil {
		return false, false, next, err
	}
	taken = c.Taken
	q.launcher.launch(agent, c, &StartRequest{})
	return taken, true, next, nil
}

// claim takes the next run and a slot of its agent, which is nil where there is no run. The slot is taken first where
// that can be, so that what is claimed can begin.
func (q *queue) claim(ctx context.Context) (*store.Claimed, *Agent, time.Time, error) {
	if q.running.isDraining() || !q.lease.holds() {
		return nil, nil, time.Time{}, nil
	}
	var full []string
	held := map[string]*Agent{}
	for name, a := range q.settings.inForce.Load().agents {
		if a.tryAcquire() {
			held[name] = a
		} else {
			full = append(full, name)
		}
	}
	c, next, err := q.claims.Next(ctx, full)
	for name, a := range held {
		if c == nil || name != c.Run.Agent {
			a.release()
		}
	}
	if c == nil {
		return nil, nil, next, err
	}
	if agent := held[c.Run.Agent]; agent != nil {
		return c, agent, next, nil
	}
	return c, q.unheld(c.Run.Agent), next, nil
}

// unheld is the agent of a run that was claimed without a slot: it came into the configuration a moment ago, or is not
// there.
func (q *queue) unheld(name string) *Agent {
	agent := q.settings.agent(name)
	if agent == nil {
		agent = missing(name)
	}
	agent.slots.take()
	return agent
}
