package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/adapter"
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

// lease is what this process knows of its right to execute runs, by a clock that
// goes on while the process is stopped and while the machine is suspended. Guarded by
// Engine.mu.
type lease struct {
	clock func() time.Duration // sinceBoot
	until time.Duration        // by clock; 0: it never ends
	lapse *time.Timer          // goes off at until, later by the time that the machine was suspended
}

// keepLease renews the lease as long as ctx lasts, where other processes could
// take the runs of this one.
func (e *Engine) keepLease(ctx context.Context) {
	for pause(ctx, beatEvery) == nil {
		e.beat(ctx)
	}
}

func (e *Engine) beat(ctx context.Context) {
	asked := e.sinceBoot()
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
	e.leased(asked + leaseTTL)
	e.stopAsked(ctx)
	e.ring() // what nobody rang for
}

// monotonic is Go's monotonic clock.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) + 1 } // never 0
}

func (e *Engine) sinceBoot() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lease.clock()
}

// leased notes how long the lease lasts at least.
func (e *Engine) leased(until time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease.until = until
	rest := until - e.lease.clock()
	if e.lease.lapse == nil {
		e.lease.lapse = time.AfterFunc(rest, func() { e.leaseLost() })
		return
	}
	e.lease.lapse.Reset(rest)
}

// holds tells whether the lease lasts.
func (e *Engine) holds() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lease.until == 0 || e.lease.clock() < e.lease.until
}

// stillHolds ends the execution when the lease is over. It is asked before every piece
// of an agent's answer is taken and right before every call of the agent that must not
// be made twice (adapter.Permitted): a process that was stopped for a while must not go
// on with what it then finds in its buffers.
func (x *execution) stillHolds() error {
	if x.e.holds() {
		return nil
	}
	x.cancel(errLeaseLost)
	return errLeaseLost
}

// UnderLease is for calls of an agent that belong to no run and must not be made twice, or
// late. The context ends with the lease of this process, and from then on no such call
// is written (adapter.Permitted), whatever lease comes after. It is to be begun before
// others are kept away by what ends with the lease (store.HoldUpdate); end must be called.
func (e *Engine) UnderLease(ctx context.Context) (under context.Context, end func()) {
	under, cancel := context.WithCancelCause(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.under[&cancel] = struct{}{}
	may := func() error {
		if !e.holds() {
			cancel(errLeaseLost)
		}
		return context.Cause(under)
	}
	return adapter.WithPermit(under, may), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.under, &cancel)
		cancel(nil)
	}
}

// leaseLost stops all executions: they may be going on elsewhere.
func (e *Engine) leaseLost() []*execution {
	e.mu.Lock()
	for cancel := range e.under {
		(*cancel)(errLeaseLost)
	}
	e.mu.Unlock()
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
