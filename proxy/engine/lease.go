package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// leaseTTL is how long after its last sign of life a process counts as gone.
	// A transaction that a stopped process has left open is ended by the server
	// sooner than that.
	leaseTTL  = 12 * time.Second
	beatEvery = leaseTTL / 4
	// leaveMost is how long executions of a lost lease are waited for before what
	// they did is taken up again.
	leaveMost = 2 * time.Second
)

// lease is what this process knows of its right to execute runs, by its
// monotonic clock: that goes on while the process is stopped. Guarded by
// Engine.mu.
type lease struct {
	until time.Time   // zero: it never ends
	lapse *time.Timer // goes off at until
}

// keepLease renews the lease as long as ctx lasts, where other processes could
// take the runs of this one.
func (e *Engine) keepLease(ctx context.Context) {
	for pause(ctx, beatEvery) == nil {
		e.beat(ctx)
	}
}

func (e *Engine) beat(ctx context.Context) {
	asked := time.Now()
	short, stop := context.WithTimeout(ctx, beatEvery)
	defer stop()
	err := e.st.Beat(short, leaseTTL)
	switch {
	case errors.Is(err, store.ErrLapsed):
		e.zap.Warn("the lease of this process had ended; its runs may be another's by now")
		await(e.leaseLost(), leaveMost)
	case err != nil:
		if ctx.Err() == nil {
			e.zap.Warn("the lease of this process could not be renewed", errField(err))
		}
		return
	}
	e.leased(asked.Add(leaseTTL))
	e.stopAsked(ctx)
	e.ring() // what nobody rang for
}

// leased notes how long the lease lasts at least.
func (e *Engine) leased(until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease.until = until
	if e.lease.lapse == nil {
		e.lease.lapse = time.AfterFunc(time.Until(until), func() { e.leaseLost() })
		return
	}
	e.lease.lapse.Reset(time.Until(until))
}

// holds tells whether the lease lasts. It is asked before every piece of an
// agent's answer is taken: a process that was stopped for a while must not go
// on to the next call with what it then finds in its buffers.
func (e *Engine) holds() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lease.until.IsZero() || time.Now().Before(e.lease.until)
}

// leaseLost stops all executions: they may be going on elsewhere.
func (e *Engine) leaseLost() []*execution {
	list := e.executions()
	for _, x := range list {
		x.cancel(errLeaseLost)
	}
	if len(list) > 0 {
		e.zap.Warn("the lease of this process has ended; its runs are left to others", zap.Int("runs", len(list)))
	}
	return list
}

func await(list []*execution, most time.Duration) {
	over := time.After(most)
	for _, x := range list {
		select {
		case <-x.done:
		case <-over:
			return
		}
	}
}
