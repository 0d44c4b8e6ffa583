package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

const (
	// compareTimeout limits how long the end of a run, and therefore its cancellation, waits for the agent's files. An
	// agent that timed out, or that handles one request at a time, may not answer at all.
	compareTimeout = 3 * time.Second
	// deleteAfter is the minimum time that the thread of a temporary run is kept after the run's end, for readers and
	// retries.
	deleteAfter = 5 * time.Second
)

// finish ends the run, parks it or hands it over, and releases everything it held. If that panics, the run is left
// unchanged, as if its end could not be written.
//
// If the end cannot be written, finish returns before the run has left this process, and a separate goroutine
// continues.
func (x *execution) finish(ctx context.Context, out *mapping.Outcome, err error) {
	left := true
	defer func() { x.leave(left, recover()) }()
	left = x.settle(ctx, out, err)
}

// leave releases everything that the run held if it has left this process. panicked is the value of a panic, or nil.
func (x *execution) leave(left bool, panicked any) {
	if panicked != nil {
		x.e.logger.Error("panic while ending a run", zap.Any("panic", panicked), zap.Stack("stack"), runField(x.Run.ID), agentField(x.agent.Name))
		x.e.runs.markBroken(x.Run.ID)
	}
	if left {
		x.release()
	}
}

// settle decides how the run leaves this process: it ends, is parked or is handed over. It returns false if the end
// could not be written yet.
func (x *execution) settle(ctx context.Context, out *mapping.Outcome, err error) (left bool) {
	if x.rec != nil && x.rec.writer.fenced() || errors.Is(err, store.ErrFenced) {
		x.cancel(errLeaseLost)
	}
	switch {
	case handedOver(ctx, out):
		x.handOver(ctx)
		return true
	case out != nil:
		return x.end(ctx, *out)
	case ctx.Err() != nil: // stopped by the bridge, not by the agent
		defer x.e.cancelUpstream(x.agent, &x.Run)
		x.compareFiles(ctx)
		return x.end(ctx, outcomeOf(ctx, x.agent.Name, err))
	}
	if err != nil && mapping.Classify(err).Class == mapping.Internal { // the outcome of the run does not contain the cause
		x.e.logger.Error("run failed inside the bridge", runField(x.Run.ID), agentField(x.agent.Name), zap.Error(err))
	}
	x.compareFiles(ctx)
	left = x.end(ctx, outcomeOf(ctx, x.agent.Name, err))
	if x.rec != nil && x.rec.fault != nil {
		x.e.cancelUpstream(x.agent, &x.Run) // otherwise the agent would continue
	}
	return left
}

// end writes the end of the run in one transaction. If that fails, the run remains unchanged: readers do not see an
// end, and the next process resumes it. It returns false if the end is still being written. Waiting readers then get
// the error.
func (x *execution) end(ctx context.Context, out mapping.Outcome) (left bool) {
	x.token.HideAtEnd(&out)
	x.recordFault(out)
	ctx = context.WithoutCancel(ctx)
	x.saveCalls(ctx, statusOf(out))
	w := &endWriter{x: x, out: out, began: time.Now(), pause: firstPause}
	over, err := w.write(ctx, w.overdue)
	if over || x.e.root.Err() != nil {
		x.ended(w.out, err)
		return true
	}
	x.stallErr = err
	close(x.stalled)
	x.buffer.Stall(err)
	go func() {
		defer func() { x.leave(true, recover()) }()
		_, err := w.write(ctx, func() bool { return false })
		x.ended(w.out, err)
	}()
	return false
}

// recordFault adds a message about a failure to the state of an opaque agent's thread. It is logged with the end.
func (x *execution) recordFault(out mapping.Outcome) {
	failed := out.Fault != nil && (out.Status == mapping.RunError || out.Status == mapping.RunTimeout)
	if !failed || x.rec == nil || x.rec.exposes.ReportsState() {
		return
	}
	update := rule.FaultUpdate(x.Run.ID, *out.Fault)
	if err := x.rec.record(&update); err != nil {
		x.e.logger.Warn("failure message of a run could not be recorded", errField(err), runField(x.Run.ID), agentField(x.agent.Name))
	}
}

// ended is called when the end is written, or will not be written by this process.
func (x *execution) ended(out mapping.Outcome, err error) {
	switch {
	case errors.Is(err, store.ErrFenced):
		return
	case err != nil:
		x.e.logger.Error("could not write the end of a run", errField(err), runField(x.Run.ID))
		return
	}
	x.outcome = out
	if out.Parked {
		x.e.log.WakeThread(x.Run.ThreadID) // parking logs no event
		x.e.restartIdleTimer(&x.Run, x.agent)
		return
	}
	x.e.StopIdleTimer(x.Run.ID)
}

// handOver releases the claim without ending the run.
func (x *execution) handOver(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if x.rec != nil {
		x.rec.writer.drain()
	}
	x.saveCalls(ctx, statusHandedOver)
	if err := x.store.Claims.Release(ctx, x.Run.ID, x.Fence); err != nil && !errors.Is(err, store.ErrFenced) {
		x.e.logger.Warn("run could not be handed over; retrying at the next heartbeat", errField(err), runField(x.Run.ID))
	}
}

// release unregisters the execution and gives its slot to the next run.
func (x *execution) release() {
	x.e.runs.remove(x)
	x.e.log.Release(x.buffer)
	x.calls.close()
	x.reportEnd()
	x.e.returnSlot(x.agent, true)
	close(x.done)
	x.e.runs.work.Done()
}

// compareFiles records the files that an agent has written without reporting them in a step, for a run that failed, was
// cancelled or timed out. They are logged with the end and do not change the outcome. ctx is the context of the run. A
// shutdown ends the comparison at once.
func (x *execution) compareFiles(ctx context.Context) {
	if x.rec == nil || x.rec.link.Remote == "" || removes(context.Cause(ctx)) {
		return
	}
	ctx, stop := context.WithTimeout(x.e.runContext(x.e.root, &x.Run), compareTimeout)
	defer stop()
	update, changed, err := x.comparedFiles(ctx)
	if err == nil && changed {
		err = x.rec.record(&update)
	}
	if err != nil {
		x.e.logger.Warn("agent's files could not be compared at the end of a run", errField(err), runField(x.Run.ID), agentField(x.agent.Name))
	}
}

func (x *execution) comparedFiles(ctx context.Context) (update mapping.Event, changed bool, err error) {
	backend, _, err := x.agent.Backend(ctx)
	c, ok := backend.(adapter.FileComparer)
	if err != nil || !ok {
		return update, false, err
	}
	past, err := x.e.stepsDone(ctx, x.Run.TaskID)
	if err != nil {
		return update, false, err
	}
	uploaded := max(past.given, x.rec.uploaded)
	return c.CompareFiles(ctx, &adapter.Assignment{
		Run: &x.Run, TaskID: x.Run.TaskID, Link: x.rec.link, Task: adapter.TaskAssignment{Uploaded: uploaded},
		Files: &runFiles{x: x, continued: true, given: uploaded},
	})
}

// endOf returns the changes that the store makes together with the end event: the run's webhook, the notifications for
// hooks of its task and, if requested, the time at which its thread is deleted. If there is a webhook and state is nil,
// the state is read.
func (e *Engine) endOf(r *mapping.Run, out mapping.Outcome, now time.Time, state *state.Fold) *store.End {
	end := &store.End{Outcome: out, Thread: out.Thread()}
	if out.Parked {
		return end
	}
	if r.Options.Temporary || r.Options.DeleteAfter {
		end.Expire = now.Add(e.retention(r, out))
	}
	if r.Options.Webhook != "" {
		end.Webhook = e.webhook(r, out, now, state)
	}
	end.Hook = e.hookWriter(r, out, now, state)
	return end
}

// retention returns how long the thread of a temporary run is kept after the run's end.
func (e *Engine) retention(r *mapping.Run, out mapping.Outcome) time.Duration {
	keep := e.Config().Retention
	switch {
	case out.Status == mapping.RunError || out.Status == mapping.RunTimeout:
		return max(deleteAfter, keep.Failed)
	case r.Options.DeleteAfter:
		return deleteAfter
	}
	return max(deleteAfter, keep.Stateless)
}

// webhook returns a run's webhook. It returns nil if the body cannot be encoded, which does not prevent the run from
// ending.
func (e *Engine) webhook(r *mapping.Run, out mapping.Outcome, now time.Time, state *state.Fold) *store.Webhook {
	var err error
	if state == nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(e.runContext(e.root, r)), 5*time.Second)
		defer stop()
		state, _, err = e.log.State(ctx, r.ThreadID, "")
	}
	if err != nil {
		e.logger.Error("webhook could not be written", errField(err), runField(r.ID))
		return nil
	}
	return e.hookWriter(r, out, now, state)(mapping.Hook{Flavour: r.Flavour, URL: r.Options.Webhook}, out.Task())
}

// WriteEnded returns a function that creates the notifications for hooks of a run that has ended before they were added.
// They have no values, because the thread may have changed since.
func (e *Engine) WriteEnded(r *mapping.Run) store.WriteHook {
	out := mapping.Outcome{Status: r.Status, Fault: r.Fault, Cancelled: r.CancelReason != "", Reason: r.CancelReason}
	return e.hookWriter(r, out, r.EndedAt, nil)
}

// hookWriter returns a function that creates the notifications for hooks of a run with the given outcome, which is zero
// if the run has not ended. state may be nil. An error in creating one does not prevent the change of status.
func (e *Engine) hookWriter(r *mapping.Run, out mapping.Outcome, now time.Time, state *state.Fold) store.WriteHook {
	run := *r // it may change before the transaction
	if out.Status != "" {
		run.Status, run.Fault, run.CancelReason, run.EndedAt = out.Status, out.Fault, out.Reason, now
	}
	return func(h mapping.Hook, status mapping.TaskStatus) *store.Webhook {
		n := adapter.HookNotice{Hook: h, Status: status, Run: run, Outcome: out}
		if state != nil {
			n.Values = state.JSON()
		}
		post, err := e.dialects.WriteHook(n)
		if err != nil {
			e.logger.Error("webhook could not be written", errField(err), runField(run.ID))
			return nil
		}
		return &store.Webhook{URL: h.URL, Header: post.Header, Body: post.Body}
	}
}
