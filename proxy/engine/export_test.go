package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Lease gives the engine a lease that lasts for d, as one over PostgreSQL has.
func (e *Engine) Lease(d time.Duration) {
	e.lease.extend(e.lease.now()+d, func() { e.loseLease() })
}

// Suspend lets the lease's clock go on by d while everything else stands still, as when the machine is suspended.
func (e *Engine) Suspend(d time.Duration) {
	e.lease.mu.Lock()
	defer e.lease.mu.Unlock()
	clock := e.lease.clock
	e.lease.clock = func() time.Duration { return clock() + d }
}

// Compare has the engine compare what it holds with what it executes, now.
func (e *Engine) Compare(ctx context.Context) error { return e.freeHeld(ctx) }

// Lapse has the engine find that its lease is over.
func (e *Engine) Lapse() { e.loseLease() }

// WatchIdle has the engine start the clocks of runs that other processes have parked, now.
func (e *Engine) WatchIdle(ctx context.Context) error { return e.startIdleTimers(ctx, true) }

// KeepWatchingIdle does that once a minute.
func (e *Engine) KeepWatchingIdle(ctx context.Context) { e.watchIdle(ctx) }

// IdleOver has a run's clock go off.
func (e *Engine) IdleOver(r mapping.Run) {
	e.idleOver(store.PolledRun{ID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Tenant: r.Tenant, Owner: r.Owner})
}
