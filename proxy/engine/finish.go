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
//
// An end that cannot be written is tried on by a goroutine of its own: then leave returns before the run has left.
func (x *execution) leave(ctx context.Context, out *mapping.Outcome, err error) {
	x.leaving(func() (left bool) { return x.left(ctx, out, err) })
}

// leaving frees what the run held when it has left, or when that panics.
func (x *execution) leaving(leave func() (left bool)) {
	left := true
	defer func() {
		if p := recover(); p != nil {
			x.e.zap.Error("the end of a run panicked", zap.Any("panic", p), zap.Stack("stack"), runField(x.run.ID), agentField(x.agent.Name))
			x.e.running.leaveBroken(x.run.ID)
		}
		if left {
			x.free()
		}
	}()
	left = leave()
}

func (x *execution) left(ctx context.Context, out *mapping.Outcome, err error) bool {
	if x.rec != nil && x.rec.fenced() || errors.Is(err, store.ErrFenced) {
		x.cancel(errLeaseLost)
	}
	switch {
	case handedOver(ctx, out):
		x.handOver(ctx)
		return true
	case x.stopped(ctx, out):
		defer x.e.tellAgent(x.run)
		x.compareFiles(ctx)
		return x.finish(ctx, outcomeOf(ctx, x.agent.Name, err))
	case out == nil:
		x.compareFiles(ctx)
		done := x.finish(ctx, outcomeOf(ctx, x.agent.Name, err))
		if x.rec != nil && x.rec.refused() != nil {
			x.e.tellAgent(x.run) // it would go on
		}
		return done
	default:
		return x.finish(ctx, *out)
	}
}

// stopped reports whether the run was stopped from here rather than by its agent.
func (x *execution) stopped(ctx context.Context, out *mapping.Outcome) bool {
	return out == nil && ctx.Err() != nil
}

// finish writes the end in one transaction. What could not be written leaves
// the run as it is: no reader was told that it ended, and the next process picks
// it up. false: the writing goes on, and the waiting readers have been told.
func (x *execution) finish(ctx context.Context, out mapping.Outcome) (left bool) {
	ctx = context.WithoutCancel(ctx)
	s := x.settling(out)
	if over, err := s.until(ctx, s.overdue); over || x.e.root.Err() != nil {
		x.finished(s, err)
		return true
	} else {
		x.stall(err)
	}
	go x.leaving(func() bool {
		_, err := s.until(ctx, func() bool { return false })
		x.finished(s, err)
		return true
	})
	return false
}

// stall tells all readers of the run why its end does not come.
func (x *execution) stall(err error) {
	x.fault = err
	close(x.stalled)
	x.buffer.Stall(err)
}

// finished notes what became of the end.
func (x *execution) finished(s *settling, err error) {
	switch {
	case errors.Is(err, store.ErrFenced):
		return
	case err != nil:
		x.e.zap.Error("the end of a run could not be written", errField(err), runField(x.run.ID))
		return
	}
	x.outcome = s.out
	if s.out.Parked {
		x.e.idle.begin(x.run, x.agent)
		return
	}
	x.e.idle.timers.cancel(x.run.ID)
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
	x.e.running.remove(x)
	x.e.log.Release(x.buffer)
	x.e.meter.RunEnded(x.agent.Name, x.counted())
	x.e.release(x.agent)
	close(x.done)
	x.e.running.work.Done()
}

// counted is what is counted as the run's status: it may have left this process
// without an end.
func (x *execution) counted() mapping.RunStatus {
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
	e.running.spawn(func() {
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
