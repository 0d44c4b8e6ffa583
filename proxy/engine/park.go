package engine

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
)

// Next is what the next step of a parked run is to begin with.
type Next struct {
	Say      *string          // the client's words, verbatim; nil for none
	Update   json.RawMessage  // of the state of a stateful agent; nil for none
	Uploaded mapping.Uploaded // up to where Update brings the uploads along
}

// Continue does the next step of a parked run.
func (s *starter) Continue(ctx context.Context, r mapping.Run, n Next) error {
	agent := s.e.agent(r.Agent)
	if agent == nil {
		return gone(r.Agent)
	}
	if err := s.awaitSlot(ctx, agent); err != nil {
		return err
	}
	claimed := s.claims.note()
	defer claimed()
	c, err := s.e.st.Claims.TakeParked(ctx, r.ID)
	if err != nil {
		s.e.release(agent)
		return err
	}
	s.e.idle.timers.Cancel(r.ID)
	s.launch(agent, c, &StartRequest{Say: n.Say, further: &n, parked: true, requestID: mapping.RequestIDOf(ctx), trace: mapping.TraceOf(ctx)})
	return nil
}

// awaitSlot takes a slot of the agent as soon as there is one.
func (s *starter) awaitSlot(ctx context.Context, agent *Agent) error {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.e.background.root, func() { stop(errDraining) })()
	if agent.slots.Acquire(waiting) != nil {
		return context.Cause(waiting)
	}
	return nil
}

// AwaitInactive waits until an active run is parked or has ended, and returns it. Of a run of another process it hears
// at once where the run's log is held here (eventlog.Log.Pin).
func (e *Engine) AwaitInactive(ctx context.Context, r mapping.Run) (mapping.Run, error) {
	watch := e.log.Watch(r.ThreadID)
	defer watch.Leave()
	for {
		changed := watch.Next()
		if x := e.running.find(r.ID); x != nil {
			select {
			case <-x.done:
			case <-x.stalled:
				return r, x.fault
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
		}
		fresh, err := e.st.Runs.State(ctx, r.ThreadID, r.ID)
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
