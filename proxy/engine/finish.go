package engine

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// departure is how a run leaves this process: ended, parked or handed over. The execution's goroutine writes it and,
// after a stall, the one that goes on with the end.
type departure struct {
	x       *execution
	done    chan struct{}
	outcome mapping.Outcome // valid once done is closed
	stalled chan struct{}   // closed when the end could not be written for a while, and is tried on
	fault   error           // why; valid once stalled is closed
}

// depart ends the run, parks it or hands it over, and frees what it held, also where that panics: then the run is left
// as it is, as where its end cannot be written.
//
// An end that cannot be written is tried on by a goroutine of its own: then depart returns before the run has left.
func (d *departure) depart(ctx context.Context, out *mapping.Outcome, err error) {
	d.freeing(func() (gone bool) { return d.conclude(ctx, out, err) })
}

// freeing frees what the run held when conclude has let it go, or panics.
func (d *departure) freeing(conclude func() (gone bool)) {
	gone := true
	defer func() {
		if p := recover(); p != nil {
			d.x.works.reports.zap.Error("the end of a run panicked", zap.Any("panic", p), zap.Stack("stack"), runField(d.x.Run.ID), agentField(d.x.agent.Name))
			d.x.works.exits.running.markBroken(d.x.Run.ID)
		}
		if gone {
			d.free()
		}
	}()
	gone = conclude()
}

// conclude ends the run, parks it or hands it over. gone: it has left this process, as finish says.
func (d *departure) conclude(ctx context.Context, out *mapping.Outcome, err error) (gone bool) {
	if d.x.rec != nil && d.x.rec.app.fenced() || errors.Is(err, store.ErrFenced) {
		d.x.cancel(errLeaseLost)
	}
	switch {
	case handedOver(ctx, out):
		d.handOver(ctx)
		return true
	case d.stopped(ctx, out):
		defer d.x.works.exits.relay.pass(d.x.agent, &d.x.Run)
		d.compareFiles(ctx)
		return d.finish(ctx, outcomeOf(ctx, d.x.agent.Name, err))
	case out == nil:
		d.tellCause(err)
		d.compareFiles(ctx)
		done := d.finish(ctx, outcomeOf(ctx, d.x.agent.Name, err))
		if d.x.rec != nil && d.x.rec.refused() != nil {
			d.x.works.exits.relay.pass(d.x.agent, &d.x.Run) // it would go on
		}
		return done
	default:
		return d.finish(ctx, *out)
	}
}

// tellCause logs why the bridge itself failed a run, which the run's end does not say.
func (d *departure) tellCause(err error) {
	if err != nil && mapping.Classify(err).Class == mapping.Internal {
		d.x.works.reports.zap.Error("a run failed inside the bridge", runField(d.x.Run.ID), agentField(d.x.agent.Name), zap.Error(err))
	}
}

// stopped reports whether the run was stopped from here rather than by its agent.
func (d *departure) stopped(ctx context.Context, out *mapping.Outcome) bool {
	return out == nil && ctx.Err() != nil
}

// finish writes the end in one transaction. What could not be written leaves the run as it is: no reader was told that
// it ended, and the next process picks it up. false: the writing goes on, and the waiting readers have been told.
func (d *departure) finish(ctx context.Context, out mapping.Outcome) (gone bool) {
	d.x.token.HideAtEnd(&out)
	d.tellFault(out)
	ctx = context.WithoutCancel(ctx)
	d.x.works.exits.calls.keep(ctx, d.x.Claimed, d.x.calls, statusOf(out))
	s := newPendingEnd(d.x, out)
	if over, err := s.until(ctx, s.overdue); over || d.x.works.background.root.Err() != nil {
		d.finished(s, err)
		return true
	} else {
		d.stall(err)
	}
	go d.freeing(func() bool {
		_, err := s.until(ctx, func() bool { return false })
		d.finished(s, err)
		return true
	})
	return false
}

// tellFault has the state of an opaque agent's thread say why the run failed. It is logged with the end.
func (d *departure) tellFault(out mapping.Outcome) {
	failed := out.Fault != nil && (out.Status == mapping.RunError || out.Status == mapping.RunTimeout)
	if !failed || d.x.rec == nil || !d.x.rec.opaque {
		return
	}
	update := rule.FaultUpdate(d.x.Run.ID, *out.Fault)
	if err := d.x.rec.add(&update); err != nil {
		d.x.works.reports.zap.Warn("the message of a run's failure could not be logged", errField(err), runField(d.x.Run.ID), agentField(d.x.agent.Name))
	}
}

// stall tells all readers of the run why its end does not come.
func (d *departure) stall(err error) {
	d.fault = err
	close(d.stalled)
	d.x.buffer.Stall(err)
}

// finished notes what became of the end.
func (d *departure) finished(s *pendingEnd, err error) {
	switch {
	case errors.Is(err, store.ErrFenced):
		return
	case err != nil:
		d.x.works.reports.zap.Error("the end of a run could not be written", errField(err), runField(d.x.Run.ID))
		return
	}
	d.outcome = s.out
	if s.out.Parked {
		d.x.works.log.WakeThread(d.x.Run.ThreadID) // no event tells of it
		d.x.works.exits.idle.restart(&d.x.Run, d.x.agent)
		return
	}
	d.x.works.exits.idle.StopIdleClock(d.x.Run.ID)
}

// handOver gives the lease back without ending the run.
func (d *departure) handOver(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if d.x.rec != nil {
		d.x.rec.app.drain()
	}
	d.x.works.exits.calls.keep(ctx, d.x.Claimed, d.x.calls, statusHandedOver)
	if err := d.x.works.exits.claims.Release(ctx, d.x.Run.ID, d.x.Fence); err != nil && !errors.Is(err, store.ErrFenced) {
		d.x.works.reports.zap.Warn("a run could not be handed over; it is at one of the next beats", errField(err), runField(d.x.Run.ID))
	}
}

// free takes the execution off the books and lets the next run have its slot.
func (d *departure) free() {
	d.x.works.exits.running.remove(d.x)
	d.x.works.log.Release(d.x.buffer)
	d.x.calls.close()
	status := statusOf(d.outcome)
	d.x.works.reports.meter.RunEnded(d.x.agent.Name, status, codeOf(d.outcome))
	account{d.x}.logDeparture(status)
	account{d.x}.closeSpan(status)
	d.x.works.exits.bell.release(d.x.agent)
	close(d.done)
	d.x.works.exits.running.work.Done()
}

// States that a run is in when it has left this process without an end, for what is counted (Meter) and logged of it.
const (
	statusParked     mapping.RunStatus = "parked"
	statusHandedOver mapping.RunStatus = "handed_over"
)

// statusOf is the status in which a run leaves this process. A run that is handed over has no outcome.
func statusOf(out mapping.Outcome) mapping.RunStatus {
	switch {
	case out.Parked:
		return statusParked
	case out.Status == "":
		return statusHandedOver
	}
	return out.Status
}
