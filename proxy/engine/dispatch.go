package engine

import (
	"context"
	"iter"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/complaint"
	"github.com/apbridge/apbridge/proxy/store"
)

// retryDispatch is when the dispatcher looks again after the store failed.
const retryDispatch = time.Second

// dispatcher starts pending runs as their turn comes, on one goroutine.
type dispatcher struct{ e *Engine }

// startRuns starts runs until the engine stops: rung when a run ended or was queued, by the clock when a delayed one is
// due. look is resume where that has not succeeded yet, else claimRunnable.
func (d *dispatcher) startRuns(due time.Time, look func(context.Context) (time.Time, error)) {
	var said complaint.Complaint
	for {
		timer := time.NewTimer(untilDue(due))
		select {
		case <-d.e.background.root.Done():
			timer.Stop()
			return
		case <-d.e.rung:
		case <-timer.C:
		}
		timer.Stop()
		next, err := look(d.e.background.root)
		if err == nil {
			said.Over()
		} else if d.e.background.root.Err() == nil {
			if said.Due() {
				d.e.zap.Error("pending runs could not be claimed", errField(err), said.Times())
			}
			next = time.Now().Add(retryDispatch)
		}
		if due = next; err == nil {
			look = d.claimRunnable
		}
	}
}

// resume is the first look, before which everything that an earlier process left behind is free, and its displaced runs
// are ended.
func (d *dispatcher) resume(ctx context.Context) (time.Time, error) {
	if err := d.e.st.Recover(ctx); err != nil {
		return time.Time{}, err
	}
	if err := d.e.resumePreempted(ctx); err != nil {
		return time.Time{}, err
	}
	return d.claimRunnable(ctx)
}

// lookAnyway is when the dispatcher looks although its doorbell did not ring: a ring may be lost.
const lookAnyway = 15 * time.Second

func untilDue(due time.Time) time.Duration {
	if due.IsZero() {
		return lookAnyway
	}
	return min(lookAnyway, max(0, time.Until(due)))
}

// claimRunnable claims and starts what may start now, and says when the next delayed run is due.
func (d *dispatcher) claimRunnable(ctx context.Context) (time.Time, error) {
	for anothers := false; ; {
		// Before looking, so that a run that ends right after rings.
		d.e.waiting.Store(true)
		taken, ok, next, err := d.claimWaiting(ctx)
		if err != nil {
			return next, err
		}
		if !ok && anothers && d.e.st.Shared() {
			err = d.e.resumePreempted(ctx)
		}
		if !ok {
			return next, err
		}
		anothers = anothers || taken
	}
}

// claimWaiting is claimNext where a run waits. Else it ends the ringing, and takes no slots for the look: a run that is
// begun meanwhile would have to wait for one. One that is made meanwhile rings itself.
func (d *dispatcher) claimWaiting(ctx context.Context) (taken, ok bool, next time.Time, err error) {
	some, err := d.e.st.Claims.Waiting(ctx)
	if err != nil {
		return false, false, next, err
	}
	if !some {
		d.e.waiting.Store(false)
		return false, false, next, nil
	}
	return d.claimNext(ctx)
}

// claimNext claims the next run, if there is one, and launches it. taken: another process had it, or this one before.
func (d *dispatcher) claimNext(ctx context.Context) (taken, ok bool, next time.Time, err error) {
	claimed := d.e.claims.note()
	defer claimed()
	c, agent, next, err := d.claim(ctx)
	if err != nil || agent == nil {
		return false, false, next, err
	}
	taken = c.Taken
	d.e.launch(agent, c, &StartRequest{})
	return taken, true, next, nil
}

// claim takes the next run and a slot of its agent, which is nil where there is no run. The slot is taken first where
// that can be, so that what is claimed can begin.
func (d *dispatcher) claim(ctx context.Context) (*store.Claimed, *Agent, time.Time, error) {
	if d.e.running.isDraining() || !d.e.lease.holds() {
		return nil, nil, time.Time{}, nil
	}
	var full []string
	held := map[string]*Agent{}
	for name, a := range d.e.inForce.Load().agents {
		if a.tryAcquire() {
			held[name] = a
		} else {
			full = append(full, name)
		}
	}
	c, next, err := d.e.st.Claims.Next(ctx, full)
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
	return c, d.unheld(c.Run.Agent), next, nil
}

// unheld is the agent of a run that was claimed without a slot: it came into the configuration a moment ago, or is not
// there.
func (d *dispatcher) unheld(name string) *Agent {
	agent := d.e.agent(name)
	if agent == nil {
		agent = missing(name)
	}
	agent.slots.Take()
	return agent
}

// missing stands in for an agent that is not configured any more, so that its runs end like any other.
func missing(name string) *Agent { return NewAgent(name, config.DefaultAgent(), absent(name)) }

// gone refuses work for an agent that is not configured any more.
func gone(name string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "Agent %s is not in the configuration any more.", name)
}

type absent string

func (name absent) Run(context.Context, *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		yield(mapping.Event{}, mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound,
			"Agent %s is not in the configuration any more, so this run cannot go on.", string(name)))
	}
}
