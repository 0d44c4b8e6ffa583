package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/complaint"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// A run that this process holds in the database and does not execute is stuck: as long as the process lives no other
// process takes it. Such a run is left by a claim whose answer was lost, by a failed hand-over, or by an end that a
// failover lost. So held and executed runs are compared as often as the lease is renewed. The same goes for a thread
// that is held for a state update (store.States.Hold) which is over.

// openClaims are the calls under way that may make this process the holder of a run, each until its execution is on the
// books. Safe for concurrent use.
type openClaims struct {
	mu   sync.Mutex
	next int64
	open map[int64]struct{}
}

// note notes a claim; over must be called when its execution is on the books, or it has failed.
func (c *openClaims) note() (over func()) {
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

// upTo is what separates the claims that have begun from those that will.
func (c *openClaims) upTo() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// overBefore reports whether all claims that had begun before an upTo are over.
func (c *openClaims) overBefore(upTo int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.open {
		if n < upTo {
			return false
		}
	}
	return true
}

// comparison compares what this process holds with what it executes.
type comparison struct {
	threads heldThreads
	runs    *heldRuns // nil over SQLite: a file always says what became of a claim
	zap     *zap.Logger
}

// compare goes on beside the beats, which must not wait for it.
func (c *comparison) compare(ctx context.Context) {
	var said complaint.Complaint
	for pause.For(ctx, beatEvery) == nil {
		if err := c.freeAll(ctx); err == nil {
			said.Over()
		} else if ctx.Err() == nil && said.Due() {
			c.zap.Warn("what this process holds could not be compared with what it executes", errField(err), said.Times())
		}
	}
}

// freeAll frees all that this process holds for nothing.
func (c *comparison) freeAll(ctx context.Context) error {
	err := c.threads.free(ctx)
	if c.runs == nil {
		return err
	}
	return errors.Join(err, c.runs.free(ctx))
}

// heldThreads are those that this process holds for state updates.
type heldThreads struct {
	states *store.States
	log    *eventlog.Log
	bell   *doorbell
	zap    *zap.Logger
}

// free frees those whose updates are over.
func (h *heldThreads) free(ctx context.Context) error {
	freed, err := h.states.FreeLeft(ctx)
	if freed > 0 && err == nil {
		h.zap.Warn("this process held threads for state updates that are over; the threads are free", zap.Int("threads", freed))
		h.log.WakeAll() // it is not known for which threads updates wait
		h.bell.Freed()
	}
	return err
}

// heldRuns are those that this process holds in the database.
type heldRuns struct {
	claims  *store.Claims
	begun   *openClaims
	running *executions
	zap     *zap.Logger

	mu     sync.Mutex       // held during a look; looks follow each other
	fences map[string]int64 // of the runs that the last look found held and not executed
	upTo   int64            // of the claims that may have made them so
}

// free hands back what this process holds and does not execute. A run is judged only when two looks saw it so under the
// same fence, and every claim that had begun when the first one was over is over too: the answer to a claim that took
// place may still be on its way.
func (h *heldRuns) free(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.fences
	certain := h.begun.overBefore(h.upTo)
	held, err := h.claims.Held(ctx)
	if err != nil {
		return err
	}
	h.fences, h.upTo = h.running.missing(held), h.begun.upTo()
	if !certain {
		return nil
	}
	for id, fence := range h.fences {
		if was, seen := before[id]; !seen || was != fence {
			continue
		}
		h.zap.Warn("this process holds a run that it does not execute; the run is handed back", runField(id))
		if err := h.claims.Release(ctx, id, fence); err != nil && !errors.Is(err, store.ErrFenced) {
			return err
		}
	}
	return nil
}
