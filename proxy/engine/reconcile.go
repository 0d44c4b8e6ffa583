package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// A run that this process holds in the database but does not execute is stuck, because no other process takes it while
// this one is alive. Such a run can be left by a claim whose response was lost, by a failed hand-over, or by an end
// that a failover lost. So held and executed runs are compared whenever the lease is renewed. The same applies to a
// thread that is held for a finished state update (store.States.Hold).

// claimTracker tracks the running calls that may make this process the holder of a run. Safe for concurrent use.
type claimTracker struct {
	mu   sync.Mutex
	next int64
	open map[int64]struct{}
}

// begin begins a claim. done must be called when its execution is registered or the claim has failed.
func (c *claimTracker) begin() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.next
	c.next++
	if c.open == nil {
		c.open = map[int64]struct{}{}
	}
	c.open[n] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, n)
	}
}

// epoch returns a number that is larger than those of all claims so far.
func (c *claimTracker) epoch() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// doneBefore reports whether all claims that began before an epoch are done.
func (c *claimTracker) doneBefore(epoch int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.open {
		if n < epoch {
			return false
		}
	}
	return true
}

// reconciler holds the result of the last comparison of held and executed runs.
type reconciler struct {
	mu     sync.Mutex       // held during a comparison
	fences map[string]int64 // of the runs that were held but not executed
	epoch  int64            // after the claims that may be the reason
}

// reconcile periodically releases the runs and threads that this process holds without using them. It has its own
// goroutine, since renewals of the lease must not wait for it.
func (e *Engine) reconcile(ctx context.Context) {
	var failures logthrottle.Limiter
	for pause.For(ctx, beatEvery) == nil {
		if err := e.freeHeld(ctx); err == nil {
			failures.Reset()
		} else if ctx.Err() == nil && failures.Allow() {
			e.logger.Warn("could not reconcile held runs", errField(err), failures.Suppressed())
		}
	}
}

// freeHeld releases threads whose state updates are over, and runs that are not executed. SQLite has no such runs,
// because it always knows the outcome of a claim.
func (e *Engine) freeHeld(ctx context.Context) error {
	freed, err := e.store.States.FreeLeft(ctx)
	if freed > 0 && err == nil {
		e.logger.Warn("released threads held for finished state updates", zap.Int("threads", freed))
		e.log.WakeAll() // the threads on which updates are waiting are not known
		e.NotifyFreed()
	}
	if !e.store.Shared() {
		return err
	}
	return errors.Join(err, e.freeHeldRuns(ctx))
}

// freeHeldRuns releases runs that this process holds but does not execute. A run is released if two comparisons found
// it under the same fence and all claims that had begun by the end of the first one are done. Until then the response
// to a successful claim may still arrive.
func (e *Engine) freeHeldRuns(ctx context.Context) error {
	e.held.mu.Lock()
	defer e.held.mu.Unlock()
	before := e.held.fences
	certain := e.claims.doneBefore(e.held.epoch)
	held, err := e.store.Claims.ListHeld(ctx)
	if err != nil {
		return err
	}
	e.held.fences, e.held.epoch = e.runs.missing(held), e.claims.epoch()
	if !certain {
		return nil
	}
	for id, fence := range e.held.fences {
		if was, seen := before[id]; !seen || was != fence {
			continue
		}
		e.logger.Warn("handing back a run that this process holds but does not execute", runField(id))
		if err := e.store.Claims.Release(ctx, id, fence); err != nil && !errors.Is(err, store.ErrFenced) {
			return err
		}
	}
	return nil
}
