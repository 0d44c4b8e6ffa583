package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/complaint"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// leaseTTL is how long after its last sign of life a process counts as gone. A transaction that a stopped process
	// has left open is ended by the server sooner than that.
	leaseTTL  = 12 * time.Second
	beatEvery = leaseTTL / 4
	// leaveMost is how long executions of a lost lease are waited for before what they did is taken up again.
	leaveMost = 2 * time.Second
)

// lease is what this process knows of its right to execute runs, by a clock that goes on while the process is stopped
// and while the machine is suspended. Safe for concurrent use.
type lease struct {
	running *executions
	zap     *zap.Logger

	mu     sync.Mutex
	clock  func() time.Duration // clock.SinceBoot
	until  time.Duration        // by clock; 0: it never ends
	lapse  *time.Timer          // goes off at until, later by the time that the machine was suspended
	lasts  context.Context      // ends when the lease is found to be over; the next lease has one of its own
	cancel context.CancelFunc   // of lasts
}

func newLease(clock func() time.Duration, running *executions, log *zap.Logger) *lease {
	l := &lease{clock: clock, running: running, zap: log}
	l.lasts, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *lease) now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock()
}

// extend notes how long the lease lasts at least.
func (l *lease) extend(until time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
	rest := until - l.clock()
	if l.lapse == nil {
		l.lapse = time.AfterFunc(rest, func() { l.lost() })
		return
	}
	l.lapse.Reset(rest)
}

// holds reports whether the lease lasts.
func (l *lease) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until == 0 || l.clock() < l.until
}

// context ends when this lease is found to be over.
func (l *lease) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasts
}

// next ends what is done under the lease; what comes is under the next one.
func (l *lease) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.lasts, l.cancel = context.WithCancel(context.Background())
}

// database is what processes at one database hear of each other by; store.Store implements it.
type database interface {
	Beat(ctx context.Context, ttl time.Duration) error
	Notices() <-chan store.Notice
	RingDue(what string)
}

// peers is what an engine has to do with the other processes at its database: it shows them that it lives, leaves them
// its runs when it was held for dead, and hears from them.
type peers struct {
	database database
	claims   *store.Claims
	log      *eventlog.Log
	lease    *lease
	running  *executions
	bell     *doorbell
	zap      *zap.Logger

	unrenewed complaint.Complaint // of beats, which are one after the other
}

// keepLease renews the lease as long as ctx lasts, where other processes could take the runs of this one.
func (p *peers) keepLease(ctx context.Context) {
	for pause.For(ctx, beatEvery) == nil {
		p.renewLease(ctx)
	}
}

func (p *peers) renewLease(ctx context.Context) {
	asked := p.lease.now()
	short, stop := context.WithTimeout(ctx, beatEvery)
	defer stop()
	err := p.database.Beat(short, leaseTTL)
	switch {
	case errors.Is(err, store.ErrLapsed):
		p.zap.Warn("the lease of this process had ended; its runs may be another's by now")
		await(p.lease.lost(), leaveMost)
	case err != nil:
		if ctx.Err() == nil && p.unrenewed.Due() {
			p.zap.Warn("the lease of this process could not be renewed", errField(err), p.unrenewed.Times())
		}
		return
	}
	p.unrenewed.Over()
	p.lease.extend(asked + leaseTTL)
}

// stillHolds ends the execution when the lease is over. It is asked before every piece of an agent's answer is taken
// and right before every call of the agent that must not be made twice (adapter.WithPermit): a process that was stopped
// for a while must not go on with what it then finds in its buffers.
func (x *execution) stillHolds() error {
	if x.works.lease.holds() {
		return nil
	}
	x.cancel(errLeaseLost)
	return errLeaseLost
}

// UnderLease puts calls of agents that belong to no execution under a permit: none that must not be made twice is sent
// when the lease of this process is over, nor under a later lease, as another process may have acted meanwhile. The
// context ends with the lease, and with the function, which must be called. It is to be asked for before the process
// writes down that it is about to make the calls.
func (l *lease) UnderLease(ctx context.Context) (context.Context, context.CancelFunc) {
	lasts := l.context()
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(lasts, func() { end(errLeaseLost) })
	may := func() error {
		if lasts.Err() != nil || !l.holds() {
			end(errLeaseLost)
		}
		return context.Cause(ctx)
	}
	return adapter.WithPermit(ctx, may), func() { stop(); end(nil) }
}

// lost stops all executions, and what else is done under the lease: it may be going on elsewhere.
func (l *lease) lost() []*execution {
	l.next()
	list := l.running.all()
	for _, x := range list {
		x.cancel(errLeaseLost)
	}
	if len(list) > 0 {
		l.zap.Warn("the lease of this process has ended; its runs are left to others", zap.Int("runs", len(list)))
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
