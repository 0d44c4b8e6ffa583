package engine

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// StepInput is the input of the next step of a parked run.
type StepInput struct {
	Text     *string              // the client's text, verbatim; nil if there is none
	Update   json.RawMessage      // for the state of a stateful agent; nil if there is none
	Uploaded mapping.UploadCursor // the uploads included in Update
}

// Continue starts the next step of a parked run.
func (e *Engine) Continue(ctx context.Context, r mapping.Run, n StepInput) error {
	agent := e.agent(r.Agent)
	if agent == nil {
		return gone(r.Agent)
	}
	if err := e.awaitSlot(ctx, agent); err != nil {
		return err
	}
	defer e.claims.begin()()
	c, err := e.claimParked(ctx, r.ID, agent)
	if err != nil {
		return err
	}
	e.start(agent, c, &StartRequest{Text: n.Text, next: &n, parked: true, requestID: mapping.RequestIDOf(ctx), trace: mapping.TraceOf(ctx)})
	return nil
}

// awaitSlot waits for a slot of the agent and takes it.
func (e *Engine) awaitSlot(ctx context.Context, agent *Agent) error {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(e.root, func() { stop(errDraining) })()
	if agent.slots.acquire(waiting) != nil {
		return context.Cause(waiting)
	}
	return nil
}

// claimParked claims a parked run. The caller holds a slot of the agent, which is released if the claim fails.
func (e *Engine) claimParked(ctx context.Context, runID string, agent *Agent) (*store.Claimed, error) {
	c, err := e.store.Claims.ClaimParked(ctx, runID)
	if err != nil {
		e.returnSlot(agent, true)
		return nil, err
	}
	e.StopIdleTimer(runID)
	return c, nil
}

// cancelParked ends a run that waits for its client with an execution that compares the agent's files first. It returns
// false if there is nothing to compare, or no slot of the agent becomes free in time.
func (e *Engine) cancelParked(ctx context.Context, r *mapping.Run, how Cancellation) (ended bool, err error) {
	agent := e.agent(r.Agent)
	if !r.Parked || how.Rollback || agent == nil || !agent.comparesFiles() || e.runs.isDraining() || !agent.acquireIn(ctx, compareTimeout) {
		return false, nil
	}
	defer e.claims.begin()()
	c, err := e.claimParked(ctx, r.ID, agent)
	if err != nil {
		return false, nil
	}
	x, running := e.newExecution(agent, c, &StartRequest{parked: true})
	if x == nil {
		return false, nil
	}
	x.cancel(how)
	go x.run(running)
	_, err = x.cancelAndWait(ctx, how)
	return true, err
}

// AwaitInactive waits until an active run is parked or has ended, and returns it. Changes by another process are
// noticed at once if the run's log is pinned here (eventlog.Log.Retain).
func (e *Engine) AwaitInactive(ctx context.Context, r mapping.Run) (mapping.Run, error) {
	watch := e.log.Watch(r.ThreadID)
	defer watch.Leave()
	for {
		changed := watch.Next()
		if x := e.runs.find(r.ID); x != nil {
			select {
			case <-x.done:
			case <-x.stalled:
				return r, x.stallErr
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
		}
		fresh, err := e.store.Runs.State(ctx, r.ThreadID, r.ID)
		if err != nil {
			return r, err
		}
		r.Status, r.Parked = fresh.Status, fresh.Parked
		if fresh.Parked || !fresh.Status.Active() {
			return r, nil
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return r, err
		}
	}
}
