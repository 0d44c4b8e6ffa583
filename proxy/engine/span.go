package engine

import (
	"context"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
)

// placeOf is where work for a run stands in a trace: below the run, or, where no spans are made, below the
// request that asked for it.
func (e *Engine) placeOf(r *mapping.Run) mapping.Trace {
	if e.tracer == nil {
		return traceOf(r)
	}
	return r.Place()
}

// traced begins the span of an execution: below the request for a step of a parked run, which the step
// belongs to, else below the run's own. Of a run that was parked it is only a part: the execution of its
// first step has ended the run's own span.
func (x *execution) traced(ctx context.Context, o *StartRequest) context.Context {
	if x.e.tracer == nil {
		return mapping.WithTrace(ctx, o.trace)
	}
	at := o.trace
	if at.Parent == "" {
		at = traceOf(&x.run)
	}
	ctx, x.span = x.e.tracer.Run(mapping.WithTrace(ctx, at), &x.run, o.parked || x.taken && x.oneStep())
	x.span.Event("begun", "apbridge.run.taken", strconv.FormatBool(x.taken))
	return ctx
}

// traceOf is the place of the request that asked for a run.
func traceOf(r *mapping.Run) mapping.Trace {
	if r.Options.Trace == nil {
		return mapping.Trace{}
	}
	return *r.Options.Trace
}

// endSpan tells how the run has left. One that is handed over is told of by the process that takes it up.
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
	x.span.End(endedAs(&x.run, x.outcome, status, x.results))
}

func endedAs(r *mapping.Run, out mapping.Outcome, status mapping.RunStatus, steps int) trace.Ended {
	return trace.Ended{
		Status: string(status), Code: codeOf(out), Steps: steps, Attempts: max(1, r.Attempt),
		Failed: status == mapping.RunError || status == mapping.RunTimeout,
	}
}
