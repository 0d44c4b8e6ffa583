package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// leaseTTL is the time after its last renewal at which a process counts as dead. The database server ends a
	// transaction left open by a stopped process before that.
	leaseTTL  = 12 * time.Second
	beatEvery = leaseTTL / 4
	// leaveMost is the maximum time to wait for the executions of a lost lease before their runs are picked up again.
	leaveMost = 2 * time.Second
)

// lease is the right of this process to execute runs, as far as it knows. Its clock continues to run while the process
// is stopped or the machine is suspended. Safe for concurrent use.
type lease struct {
	failures logthrottle.Limiter // of renewals, which do not overlap

	mu     sync.Mutex
	clock  func() time.Duration // clock.SinceBoot
	until  time.Duration        // by clock; 0 if the lease never ends
	lapse  *time.Timer          // fires at until, or later if the machine was suspended
	lasts  context.Context      // ends when the lease is found to have expired; the next lease has its own
	cancel context.CancelFunc   // of lasts
}

func newLease(clock func() time.Duration) *lease {
	l := &lease{clock: clock}
	l.lasts, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *lease) now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock()
}

// extend sets the end of the lease. lapsed is called when it is reached.
func (l *lease) extend(until time.Duration, lapsed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
	rest := until - l.clock()
	if l.lapse == nil {
		l.lapse = time.AfterFunc(rest, lapsed)
		return
	}
	l.lapse.Reset(rest)
}

// holds reports whether the lease is valid.
func (l *lease) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until == 0 || l.clock() < l.until
}

// context returns a context that ends when this lease is found to have expired.
func (l *lease) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasts
}

// next ends the context of this lease and begins that of the next one.
func (l *lease) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.lasts, l.cancel = context.WithCancel(context.Background())
}

// keepLease renews the lease until ctx ends. It is needed only if other processes could take the runs of this one.
func (e *Engine) keepLease(ctx context.Context) {
	for pause.For(ctx, beatEvery) == nil {
		e.renewLease(ctx)
	}
}

func (e *Engine) renewLease(ctx context.Context) {
	asked := e.lease.now()
	short, stop := context.WithTimeout(ctx, beatEvery)
	defer stop()
	err := e.store.Beat(short, leaseTTL)
	switch {
	case errors.Is(err, store.ErrLapsed):
		e.logger.Warn("lease had expired; another process may own its runs by now")
		wait, stop := context.WithTimeout(ctx, leaveMost)
		defer stop()
		await(wait, e.loseLease())
	case err != nil:
		if ctx.Err() == nil && e.lease.failures.Allow() {
			e.logger.Warn("lease could not be renewed", errField(err), e.lease.failures.Suppressed())
		}
		return
	}
	e.lease.failures.Reset()
	e.lease.extend(asked+leaseTTL, func() { e.loseLease() })
}

// loseLease stops all executions and all other work under the lease, since another process may have taken it over. It
// returns the executions.
func (e *Engine) loseLease() []*execution {
	e.lease.next()
	list := e.runs.all()
	for _, x := range list {
		x.cancel(errLeaseLost)
	}
	if len(list) > 0 {
		e.logger.Warn("lease expired; leaving its runs to other processes", zap.Int("runs", len(list)))
	}
	return list
}

// stillHolds ends the execution if the lease has expired. It is called before each part of the agent's response is
// processed, and before each call to the agent that must not be made twice (adapter.WithPermit). A process that was
// stopped for a while must not process the data left in its buffers.
func (x *execution) stillHolds() error {
	if x.e.lease.holds() {
		return nil
	}
	x.cancel(errLeaseLost)
	return errLeaseLost
}

// UnderLease returns a context for calls to agents outside of an execution. When the lease has expired, calls that must
// not be made twice are refused, even under a later lease, since another process may have acted in between. The context
// ends with the lease or when the returned function is called, which the caller must do. Obtain it before recording
// that the calls are about to be made.
func (e *Engine) UnderLease(ctx context.Context) (context.Context, context.CancelFunc) {
	lasts := e.lease.context()
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(lasts, func() { end(errLeaseLost) })
	permit := func() error {
		if lasts.Err() != nil || !e.lease.holds() {
			end(errLeaseLost)
		}
		return context.Cause(ctx)
	}
	return adapter.WithPermit(ctx, permit), func() { stop(); end(nil) }
}
