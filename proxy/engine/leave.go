package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// cancelGrace is how long an agent gets to take a cancellation.
	cancelGrace = 10 * time.Second
	// deleteAfter is when a run with on_completion: delete goes after its end.
	deleteAfter = 5 * time.Second
)

// leave ends the run, parks it or hands it over, and frees what it held, also where
// that panics: then the run is left as it is, as where its end cannot be written.
func (x *execution) leave(ctx context.Context, out *mapping.Outcome, err error) {
	defer x.free()
	defer func() {
		if p := recover(); p != nil {
			x.e.zap.Error("the end of a run panicked", zap.Any("panic", p), zap.Stack("stack"), runField(x.run.ID), agentField(x.agent.Name))
			x.e.leaveBroken(x.run.ID)
		}
	}()
	if x.rec != nil && x.rec.fenced() || errors.Is(err, store.ErrFenced) {
		x.cancel(errLeaseLost)
	}
	switch {
	case handedOver(ctx, out):
		x.handOver(ctx)
	case x.stopped(ctx, out):
		x.finish(ctx, outcomeOf(ctx, x.agent.Name, err))
		x.e.tellAgent(x.run)
	case out == nil:
		x.finish(ctx, outcomeOf(ctx, x.agent.Name, err))
	default:
		x.finish(ctx, *out)
	}
}

// leaveBroken leaves a run to the next process: this one would fail at it again and again.
func (e *Engine) leaveBroken(runID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken[runID] = true
}

// stopped tells whether the run was stopped from here rather than by its agent.
func (x *execution) stopped(ctx context.Context, out *mapping.Outcome) bool {
	return out == nil && ctx.Err() != nil
}

// finish writes the end in one transaction. What could not be written leaves
// the run as it is: nobody was told that it ended, and the next process picks
// it up.
func (x *execution) finish(ctx context.Context, out mapping.Outcome) {
	ctx = context.WithoutCancel(ctx)
	out, err := x.settle(ctx, out)
	switch {
	case errors.Is(err, store.ErrFenced):
		return
	case err != nil:
		x.e.zap.Error("the end of a run could not be written", errField(err), runField(x.run.ID))
		return
	}
	x.outcome = out
	if out.Parked {
		x.e.parked(x.run, x.agent)
		return
	}
	x.e.unpark(x.run.ID)
}

// handOver gives the lease back without ending the run.
func (x *execution) handOver(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if x.rec != nil {
		x.rec.flush()
	}
	if err := x.e.st.Release(ctx, x.run.ID, x.fence); err != nil && !errors.Is(err, store.ErrFenced) {
		x.e.zap.Warn("a run could not be handed over; it is at one of the next beats", errField(err), runField(x.run.ID))
	}
}

// free takes the execution off the books and lets the next run have its slot.
func (x *execution) free() {
	x.e.mu.Lock()
	if x.e.live[x.run.ID] == x { // a parked run may be going on already
		delete(x.e.live, x.run.ID)
	}
	x.e.mu.Unlock()
	x.e.log.Disown(x.tail)
	x.e.meter.RunEnded(x.agent.Name, x.left())
	x.e.release(x.agent)
	close(x.done)
}

// left is what is counted as the run's status: it may have left this process
// without an end.
func (x *execution) left() mapping.RunStatus {
	switch {
	case x.outcome.Parked:
		return "parked"
	case x.outcome.Status == "":
		return "handed_over"
	}
	return x.outcome.Status
}

// tellAgent passes a cancellation on to an agent that can take it.
func (e *Engine) tellAgent(r mapping.Run) {
	agent, ok := e.agents[r.Agent]
	if !ok {
		return
	}
	f := agent.found.Load()
	if f == nil {
		return
	}
	c, ok := f.backend.(adapter.Canceler)
	if !ok {
		return
	}
	e.spawn(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(e.scope(e.root, r)), cancelGrace)
		defer stop()
		link, err := e.linkOf(ctx, r, f.traits.Opaque)
		if err == nil && link.Remote != "" {
			err = c.Cancel(ctx, link, r.ID)
		}
		if err != nil {
			e.zap.Info("the agent could not be told of a cancellation", errField(err), runField(r.ID), agentField(r.Agent))
		}
	})
}
