package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// retryDispatch is when the dispatcher looks again after the store failed.
const retryDispatch = time.Second

// dispatch starts pending runs as their turn comes: rung when a run ended or
// was queued, by the clock when a delayed one is due.
func (e *Engine) dispatch(due time.Time) {
	for {
		timer := time.NewTimer(untilDue(due))
		select {
		case <-e.root.Done():
			timer.Stop()
			return
		case <-e.wake:
		case <-timer.C:
		}
		timer.Stop()
		next, err := e.sweep(e.root)
		if err != nil && e.root.Err() == nil {
			e.zap.Error("pending runs could not be claimed", errField(err))
			next = time.Now().Add(retryDispatch)
		}
		due = next
	}
}

func untilDue(due time.Time) time.Duration {
	if due.IsZero() {
		return time.Hour
	}
	return max(0, time.Until(due))
}

// sweep claims and starts what may start now, and says when the next delayed
// run is due.
func (e *Engine) sweep(ctx context.Context) (time.Time, error) {
	for {
		c, ok, next, err := e.claim(ctx)
		if err != nil || !ok {
			return next, err
		}
		e.waiting.Add(-1)
		agent, known := e.agents[c.Run.Agent]
		if !known {
			e.endUnknown(ctx, c)
			continue
		}
		e.launch(agent, c, Order{})
	}
}

// claim takes the next run and a slot of its agent. The slot is taken first
// where that can be: only this goroutine and Begin take slots.
func (e *Engine) claim(ctx context.Context) (store.Claimed, bool, time.Time, error) {
	if e.isDraining() {
		return store.Claimed{}, false, time.Time{}, nil
	}
	var full []string
	held := map[string]*Agent{}
	for name, a := range e.agents {
		if a.tryAcquire() {
			held[name] = a
		} else {
			full = append(full, name)
		}
	}
	c, ok, next, err := e.st.ClaimNext(ctx, full)
	for name, a := range held {
		if !ok || name != c.Run.Agent {
			a.release()
		}
	}
	return c, ok, next, err
}

// endUnknown ends a run whose agent is no longer configured.
func (e *Engine) endUnknown(ctx context.Context, c store.Claimed) {
	ctx = e.scope(ctx, c.Run)
	fault := &mapping.Fault{Code: mapping.CodeAgentNotFound,
		Message: "Agent " + c.Run.Agent + " is not in the configuration any more, so this run cannot go on."}
	out := mapping.Outcome{Status: mapping.RunError, Fault: fault}
	_, _, err := e.st.AppendRun(ctx, store.Append{
		ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Fence,
		Events: []mapping.Event{{RunID: c.Run.ID, Kind: mapping.KindEnd, At: time.Now(), Head: mapping.Head{Outcome: &out}}},
		End:    e.endOf(c.Run, out, time.Now(), nil),
	})
	if err != nil {
		e.zap.Error("a run of an unknown agent could not be ended", errField(err), runField(c.Run.ID), agentField(c.Run.Agent))
	}
	e.log.Ring(c.Run.ID)
}
