package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	retryDispatch = time.Second      // pause after a failure of the store
	maxDispatch   = 15 * time.Second // maximum time without looking, since wakeups may be lost
)

// wakeup wakes the dispatcher to look for pending runs. Safe for concurrent use.
type wakeup struct {
	ch      chan struct{} // holds one
	waiting atomic.Bool   // runs may be pending
}

func (w *wakeup) send() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// NotifyFreed wakes the dispatcher to look for pending runs, since a thread or a slot may be free for them. It costs
// nothing while no run is pending.
func (e *Engine) NotifyFreed() {
	if e.wakeup.waiting.Load() {
		e.wakeup.send()
	}
}

// returnSlot releases a slot of the agent if it was acquired.
func (e *Engine) returnSlot(agent *Agent, acquired bool) {
	if acquired {
		agent.slots.release()
		e.NotifyFreed()
	}
}

// dispatcher starts pending runs as their turn comes, on one goroutine.
type dispatcher struct {
	e        *Engine
	due      time.Time // time of the next delayed run; zero if there is none
	resumed  bool      // everything left behind by an earlier process is released
	failures logthrottle.Limiter
}

// run starts runs until ctx ends. It looks after a wakeup and when a delayed run is due.
func (d *dispatcher) run(ctx context.Context) {
	for {
		timer := time.NewTimer(d.untilDue())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-d.e.wakeup.ch:
		case <-timer.C:
		}
		timer.Stop()
		err := d.look(ctx)
		if err == nil {
			d.failures.Reset()
			continue
		}
		if ctx.Err() == nil && d.failures.Allow() {
			d.e.logger.Error("pending runs could not be claimed", errField(err), d.failures.Suppressed())
		}
		d.due = d.e.store.Now().Add(retryDispatch)
	}
}

func (d *dispatcher) untilDue() time.Duration {
	if d.due.IsZero() {
		return maxDispatch
	}
	return min(maxDispatch, max(0, d.due.Sub(d.e.store.Now())))
}

// look starts the runs that may start now. The first call also releases the runs that an earlier process left behind,
// and ends those that were being displaced.
func (d *dispatcher) look(ctx context.Context) (err error) {
	if !d.resumed {
		if err := d.e.store.Recover(ctx); err != nil {
			return err
		}
		if err := d.e.resumePreempting(ctx); err != nil {
			return err
		}
	}
	d.due, err = d.claimAll(ctx)
	d.resumed = d.resumed || err == nil
	return err
}

// claimAll claims and starts all runs that may start now. It returns when the next delayed run is due.
func (d *dispatcher) claimAll(ctx context.Context) (due time.Time, err error) {
	e := d.e
	for resumed := false; ; {
		e.wakeup.waiting.Store(true) // before looking, so that a run that ends right after that sends a wakeup
		ok, taken, due, err := d.claimNext(ctx)
		if err != nil {
			return due, err
		}
		if !ok {
			if resumed && e.store.Shared() {
				err = e.resumePreempting(ctx)
			}
			return due, err
		}
		resumed = resumed || taken
	}
}

// claimNext claims and starts the next run. It returns false if there is none. taken reports whether the run had been
// executed before, by another process or by this one.
//
// It takes no slot while no run is pending. Otherwise a run that begins at the same time would have to wait for the
// slot. That run sends its own wakeup.
func (d *dispatcher) claimNext(ctx context.Context) (ok, taken bool, due time.Time, err error) {
	e := d.e
	pending, err := e.store.Claims.Waiting(ctx)
	if err != nil {
		return false, false, due, err
	}
	if !pending {
		e.wakeup.waiting.Store(false)
		return false, false, due, nil
	}
	defer e.claims.begin()()
	c, agent, due, err := d.claim(ctx)
	if err != nil || agent == nil {
		return false, false, due, err
	}
	taken = c.Taken
	e.start(agent, c, &StartRequest{})
	return true, taken, due, nil
}

// claim claims the next run and takes a slot of its agent. The agent is nil if there is no run. Slots are taken before
// the claim, so that a claimed run can begin.
func (d *dispatcher) claim(ctx context.Context) (*store.Claimed, *Agent, time.Time, error) {
	e := d.e
	if e.runs.isDraining() || !e.lease.holds() {
		return nil, nil, time.Time{}, nil
	}
	var full []string
	held := map[string]*Agent{}
	for name, a := range e.settings.Load().agents {
		if a.slots.tryAcquire() {
			held[name] = a
		} else {
			full = append(full, name)
		}
	}
	c, due, err := e.store.Claims.ClaimNext(ctx, full)
	for name, a := range held {
		if c == nil || name != c.Run.Agent {
			a.slots.release()
		}
	}
	if c == nil {
		return nil, nil, due, err
	}
	agent := held[c.Run.Agent]
	if agent == nil { // the agent was just added, or does not exist
		if agent = e.agent(c.Run.Agent); agent == nil {
			agent = missing(c.Run.Agent)
		}
		agent.slots.take()
	}
	return c, agent, due, nil
}
