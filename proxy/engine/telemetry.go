package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Statuses of runs that leave this process without having ended, for metrics and the log.
const (
	statusParked     mapping.RunStatus = "parked"
	statusHandedOver mapping.RunStatus = "handed_over"
)

// statusOf returns the status in which a run leaves this process. A run that is handed over has no outcome.
func statusOf(out mapping.Outcome) mapping.RunStatus {
	switch {
	case out.Parked:
		return statusParked
	case out.Status == "":
		return statusHandedOver
	}
	return out.Status
}

// codeOf returns the code of the failure with which a run ended, or "" if it did not fail.
func codeOf(out mapping.Outcome) string {
	if out.Fault == nil {
		return ""
	}
	return out.Fault.Code
}

// reportStart reports to the trace, metrics and log that this process executes the run. It returns the context of the
// run's span.
func (x *execution) reportStart(ctx context.Context, o *StartRequest) context.Context {
	ctx = x.startSpan(ctx, o)
	x.e.meter.RunStarted(x.agent.Name)
	if !x.Taken && x.next == nil {
		x.e.meter.RunWaited(x.agent.Name, waited(&x.Run))
	}
	switch {
	case x.next != nil: // it was logged as parked
		x.e.logRun(zap.DebugLevel, "parked run resumed", &x.Run)
	case x.Taken:
		x.e.logRun(zap.InfoLevel, "run taken over", &x.Run,
			zap.String("from", x.From), zap.Duration("began_before", x.Running))
	default:
		x.e.logRun(zap.InfoLevel, "run started", &x.Run)
	}
	return ctx
}

// reportEnd reports how the run has left this process.
func (x *execution) reportEnd() {
	status := statusOf(x.outcome)
	x.e.meter.RunEnded(x.agent.Name, status, codeOf(x.outcome))
	steps, took := zap.Int("steps", x.results), zap.Duration("took", x.Running+time.Since(x.began))
	switch status {
	case statusParked:
		x.e.logRun(zap.InfoLevel, "run parked", &x.Run, steps, took)
	case statusHandedOver:
		x.e.logRun(zap.InfoLevel, "run handed over", &x.Run, steps, took)
	default:
		x.e.logEnd(&x.Run, &x.outcome, steps, took)
	}
	x.endSpan(status)
}

// waited returns how long a run that is claimed for the first time had to wait. All of its times are of the database's
// clock.
func waited(r *mapping.Run) time.Duration {
	ready := r.CreatedAt
	if r.RunAfter.After(ready) {
		ready = r.RunAfter
	}
	return r.StartedAt.Sub(ready)
}

// countResult counts an update of the agent.
func (x *execution) countResult() {
	now := time.Now()
	x.e.meter.StepTaken(x.agent.Name, now.Sub(x.stepped))
	x.results++
	x.stepped = now
}

// countLogged counts committed events.
func (x *execution) countLogged(batch []piece) {
	if len(batch) == 0 {
		return
	}
	var of usage
	for i := range batch {
		of.add(&batch[i].entry.Event)
	}
	x.e.meter.EventsLogged(x.agent.Name, of.events, of.bytes)
}

// usage counts what a run has logged, over all its attempts.
type usage struct {
	events int
	bytes  int64
}

// add counts the parts of an event that are logged.
func (u *usage) add(ev *mapping.Event) {
	u.events++
	u.bytes += int64(len(ev.Data) + len(ev.Head.Native))
	if s := ev.Head.Step; s != nil {
		u.bytes += int64(len(s.Output) + len(s.Additional))
	}
	for _, q := range ev.Head.Interrupts {
		u.bytes += int64(len(q.Value))
	}
	if c := ev.Head.Checkpoint; c != nil {
		u.bytes += int64(len(c.Facts))
	}
}

// exceeds returns an error if a run has logged more than the limits allow.
func (u *usage) exceeds(limits config.Limits, agent string) error {
	switch {
	case limits.RunEvents > 0 && u.events > limits.RunEvents:
		return mapping.Errorf(mapping.Upstream, mapping.CodeEventLimit,
			"Agent %s was stopped after %d events of one run (limits.run_events).", agent, limits.RunEvents)
	case limits.RunBytes > 0 && u.bytes > int64(limits.RunBytes):
		return mapping.Errorf(mapping.Upstream, mapping.CodeEventLimit,
			"Agent %s was stopped after %d bytes of events of one run (limits.run_bytes).", agent, int64(limits.RunBytes))
	}
	return nil
}

// startSpan starts the span of an execution. The span of a parked run's step is a child of the request for that step.
// Any other span has the parent of the run itself. The run's own span ends with the first step of a parked run, so the
// spans of later steps are marked as parts.
func (x *execution) startSpan(ctx context.Context, o *StartRequest) context.Context {
	if x.e.tracer == nil {
		return mapping.WithTrace(ctx, o.trace)
	}
	at := o.trace
	if at.Parent == "" {
		at = traceOf(&x.Run)
	}
	ctx, x.span = x.e.tracer.Run(mapping.WithTrace(ctx, at), &x.Run, o.parked || x.Taken && x.oneStep())
	x.span.Event("begun", "apbridge.run.taken", strconv.FormatBool(x.Taken))
	return ctx
}

// endSpan ends the span. The span of a run that is handed over is reported by the process that picks the run up.
func (x *execution) endSpan(status mapping.RunStatus) {
	if x.span == nil || status == statusHandedOver {
		return
	}
	if status == statusParked {
		x.span.Event("parked")
	}
	if n := len(x.outcome.Interrupts); n > 0 {
		x.span.Event("question", "apbridge.questions", strconv.Itoa(n))
	}
	x.span.End(endedAs(&x.Run, x.outcome, status, x.results))
}

// traceOf returns the trace of the request for a run.
func traceOf(r *mapping.Run) mapping.Trace {
	if r.Options.Trace == nil {
		return mapping.Trace{}
	}
	return *r.Options.Trace
}

func endedAs(r *mapping.Run, out mapping.Outcome, status mapping.RunStatus, steps int) trace.Ended {
	return trace.Ended{
		Status: string(status), Code: codeOf(out), Steps: steps, Attempts: max(1, r.Attempt),
		Failed: status == mapping.RunError || status == mapping.RunTimeout,
	}
}

func errField(err error) zap.Field     { return zap.Error(err) }
func runField(id string) zap.Field     { return zap.String("run", id) }
func agentField(name string) zap.Field { return zap.String("agent", name) }

// logRun writes a log line with a run's ids, its principal and more. No line contains data of a client or an agent. The
// fields are created only if the line is written.
func (e *Engine) logRun(level zapcore.Level, message string, r *mapping.Run, more ...zap.Field) {
	line := e.logger.Check(level, message)
	if line == nil {
		return
	}
	who := [...]zap.Field{
		runField(r.ID), zap.String("thread", r.ThreadID), zap.String("task", r.TaskID), agentField(r.Agent),
		zap.String("key", r.Owner), zap.String("request_id", r.Options.RequestID), zap.String("trace_id", traceOf(r).ID()),
	}
	line.Write(append(append(make([]zap.Field, 0, len(who)+len(more)), who[:]...), more...)...)
}

// logEnd logs how a run has ended, as a warning if it failed.
func (e *Engine) logEnd(r *mapping.Run, out *mapping.Outcome, more ...zap.Field) {
	level := zap.InfoLevel
	if out.Status == mapping.RunError || out.Status == mapping.RunTimeout {
		level = zap.WarnLevel
	}
	e.logRun(level, "run ended", r, append([]zap.Field{zap.String("status", string(out.Status)), zap.String("code", codeOf(*out))}, more...)...)
}
