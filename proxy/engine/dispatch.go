package engine

import (
	"context"
	"iter"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/complaint"
	"go.uber.org/zap"
)

// retryDispatch is when the dispatcher looks again after the store failed.
const retryDispatch = time.Second

// dispatcher starts pending runs as their turn comes, on one goroutine.
type dispatcher struct {
	bell      *doorbell
	queue     *queue
	preempted *preemption
	recover   func(context.Context) error // store.Store.Recover
	shared    bool                        // other processes may have left runs
	now       func() time.Time            // store.Store.Now
	zap       *zap.Logger
}

// startRuns starts runs until ctx ends: rung when a run ended or was queued, by the clock when a delayed one is due.
// look is resume where that has not succeeded yet, else claimRunnable.
func (d *dispatcher) startRuns(ctx context.Context, due time.Time, look func(context.Context) (time.Time, error)) {
	var said complaint.Complaint
	for {
		timer := time.NewTimer(d.untilDue(due))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-d.bell.rung:
		case <-timer.C:
		}
		timer.Stop()
		next, err := look(ctx)
		if err == nil {
			said.Over()
		} else if ctx.Err() == nil {
			if said.Due() {
				d.zap.Error("pending runs could not be claimed", errField(err), said.Times())
			}
			next = d.now().Add(retryDispatch)
		}
		if due = next; err == nil {
			look = d.claimRunnable
		}
	}
}

// resume is the first look, before which everything that an earlier process left behind is free, and its displaced runs
// are ended.
func (d *dispatcher) resume(ctx context.Context) (time.Time, error) {
	if err := d.recover(ctx); err != nil {
		return time.Time{}, err
	}
	if err := d.preempted.resume(ctx); err != nil {
		return time.Time{}, err
	}
	return d.claimRunnable(ctx)
}

// lookAnyway is when the dispatcher looks although its doorbell did not ring: a ring may be lost.
const lookAnyway = 15 * time.Second

func (d *dispatcher) untilDue(due time.Time) time.Duration {
	if due.IsZero() {
		return lookAnyway
	}
	return min(lookAnyway, max(0, due.Sub(d.now())))
}

// claimRunnable claims and starts what may start now, and says when the next delayed run is due.
func (d *dispatcher) claimRunnable(ctx context.Context) (time.Time, error) {
	for anothers := false; ; {
		// Before looking, so that a run that ends right after rings.
		d.bell.waiting.Store(true)
		taken, ok, next, err := d.claimWaiting(ctx)
		if err != nil {
			return next, err
		}
		if !ok && anothers && d.shared {
			err = d.preempted.resume(ctx)
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
	some, err := d.queue.claims.Waiting(ctx)
	if err != nil {
		return false, false, next, err
	}
	if !some {
		d.bell.waiting.Store(false)
		return false, false, next, nil
	}
	return d.queue.claimNext(ctx)
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
