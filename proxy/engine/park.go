package engine

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Next is what the next step of a parked run is to begin with.
type Next struct {
	Say      *string          // the client's words, verbatim; nil for none
	Update   json.RawMessage  // of the state of a stateful agent; nil for none
	Uploaded mapping.Uploaded // up to where Update brings the uploads along
}

// parkedRuns are runs between two steps. This process takes them for their next step, or for their end. Safe for
// concurrent use.
type parkedRuns struct {
	claims     *store.Claims
	begun      *openClaims
	settings   *configured
	background *background
	running    *executions
	idle       *idleClocks
	bell       *doorbell
	launcher   *launcher
}

// Continue does the next step of a parked run.
func (p *parkedRuns) Continue(ctx context.Context, r mapping.Run, n Next) error {
	agent := p.settings.agent(r.Agent)
	if agent == nil {
		return gone(r.Agent)
	}
	if err := p.awaitSlot(ctx, agent); err != nil {
		return err
	}
	claimed := p.begun.note()
	defer claimed()
	c, err := p.take(ctx, r.ID, agent)
	if err != nil {
		return err
	}
	p.launcher.launch(agent, c, &StartRequest{Say: n.Say, further: &n, parked: true, requestID: mapping.RequestIDOf(ctx), trace: mapping.TraceOf(ctx)})
	return nil
}

// awaitSlot takes a slot of the agent as soon as there is one.
func (p *parkedRuns) awaitSlot(ctx context.Context, agent *Agent) error {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(p.background.root, func() { stop(errDraining) })()
	if agent.slots.acquire(waiting) != nil {
		return context.Cause(waiting)
	}
	return nil
}

// take claims a run under a slot that is held, and gives the slot back where that fails.
func (p *parkedRuns) take(ctx context.Context, runID string, agent *Agent) (*store.Claimed, error) {
	c, err := p.claims.TakeParked(ctx, runID)
	if err != nil {
		p.bell.release(agent)
		return nil, err
	}
	p.idle.StopIdleClock(runID)
	return c, nil
}

// cancel ends a run that waits for its client by an execution, which compares the agent's files before the end. false:
// there is nothing to compare, or no slot of the agent is free in time.
func (p *parkedRuns) cancel(ctx context.Context, r *mapping.Run, how Cancellation) (ended bool, err error) {
	agent := p.settings.agent(r.Agent)
	if !r.Parked || how.Rollback || agent == nil || !agent.comparesFiles() || p.running.isDraining() || !agent.acquireIn(ctx, compareTimeout) {
		return false, nil
	}
	claimed := p.begun.note()
	defer claimed()
	c, err := p.take(ctx, r.ID, agent)
	if err != nil {
		return false, nil
	}
	x, work := p.launcher.register(agent, c, &StartRequest{parked: true})
	if x == nil {
		return false, nil
	}
	x.cancel(how)
	go work()
	_, err = x.cancelled(ctx, how)
	return true, err
}
