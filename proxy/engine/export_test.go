package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Lease gives the engine a lease that lasts for d, as on PostgreSQL.
func (e *Engine) Lease(d time.Duration) {
	e.lease.extend(e.lease.now()+d, func() { e.loseLease() })
}

// Suspend advances the lease's clock by d and nothing else, like a suspension of the machine.
func (e *Engine) Suspend(d time.Duration) {
	e.lease.mu.Lock()
	defer e.lease.mu.Unlock()
	clock := e.lease.clock
	e.lease.clock = func() time.Duration { return clock() + d }
}

// Compare compares held and executed runs now.
func (e *Engine) Compare(ctx context.Context) error { return e.freeHeld(ctx) }

// Lapse makes the lease expire.
func (e *Engine) Lapse() { e.loseLease() }

// WatchIdle starts the timers of runs that other processes have parked.
func (e *Engine) WatchIdle(ctx context.Context) error { return e.startIdleTimers(ctx, true) }

// KeepWatchingIdle does the same as WatchIdle once a minute.
func (e *Engine) KeepWatchingIdle(ctx context.Context) { e.watchIdle(ctx) }

// IdleOver makes a run's timer fire.
func (e *Engine) IdleOver(r mapping.Run) {
	e.idleOver(store.PolledRun{ID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Tenant: r.Tenant, Owner: r.Owner})
}
