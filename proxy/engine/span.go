package engine

import (
	"context"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
)

// traced begins the span of an execution: below the request for a step of a parked run, which the step belongs to, else
// below the run's own. Of a run that was parked it is only a part: the execution of its first step has ended the run's
// own span.
func (a account) traced(ctx context.Context, o *StartRequest) context.Context {
	if a.x.works.reports.tracer == nil {
		return mapping.WithTrace(ctx, o.trace)
	}
	at := o.trace
	if at.Parent == "" {
		at = traceOf(&a.x.Run)
	}
	ctx, a.x.span = a.x.works.reports.tracer.Run(mapping.WithTrace(ctx, at), &a.x.Run, o.parked || a.x.Taken && a.x.oneStep())
	a.x.span.Event("begun", "apbridge.run.taken", strconv.FormatBool(a.x.Taken))
	return ctx
}

// traceOf is the place of the request that asked for a run.
func traceOf(r *mapping.Run) mapping.Trace {
	if r.Options.Trace == nil {
		return mapping.Trace{}
	}
	return *r.Options.Trace
}

// closeSpan tells how the run has left. One that is handed over is told of by the process that takes it up.
func (a account) closeSpan(status mapping.RunStatus) {
	if a.x.span == nil || status == statusHandedOver {
		return
	}
	if status == statusParked {
		a.x.span.Event("parked")
	}
	if n := len(a.x.outcome.Interrupts); n > 0 {
		a.x.span.Event("question", "apbridge.questions", strconv.Itoa(n))
	}
	a.x.span.End(endedAs(&a.x.Run, a.x.outcome, status, a.x.results))
}

func endedAs(r *mapping.Run, out mapping.Outcome, status mapping.RunStatus, steps int) trace.Ended {
	return trace.Ended{
		Status: string(status), Code: codeOf(out), Steps: steps, Attempts: max(1, r.Attempt),
		Failed: status == mapping.RunError || status == mapping.RunTimeout,
	}
}
