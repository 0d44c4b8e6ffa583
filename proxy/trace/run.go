package trace

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otel "go.opentelemetry.io/otel/trace"
)

// Run is the span of a run, or of a part of one. A nil Run records nothing. It is used by one goroutine at a time.
type Run struct{ span otel.Span }

// Run begins the span of a run that this process executes, as a child of the position of ctx. It starts at the time of
// the run's request, so it includes the waiting time.
//
// Its id is derived from that of the run, so it is the same span in whichever process ends it. With part, the span is a
// part of the run, with its own id and time and a link to the run.
func (t *Tracer) Run(ctx context.Context, r *mapping.Run, part bool) (context.Context, *Run) {
	if t == nil {
		return ctx, nil
	}
	id, options := spanOf(r.ID), []otel.SpanStartOption{otel.WithTimestamp(r.CreatedAt), otel.WithAttributes(attributesOf(r)...)}
	if part {
		id, options[0] = otel.SpanID{}, linkTo(r.Span())
	} else if r.Options.Resumes != nil {
		options = append(options, linkTo(*r.Options.Resumes))
	}
	ctx, span := t.startAs(ctx, id, "run "+r.Agent, options...)
	return ctx, &Run{span}
}

func attributesOf(r *mapping.Run) []attribute.KeyValue {
	return attributes("apbridge.run.id", r.ID, "apbridge.thread.id", r.ThreadID, "apbridge.task.id", r.TaskID,
		"apbridge.agent", r.Agent, "apbridge.key", r.Owner, "apbridge.request.id", r.Options.RequestID)
}

// attributes converts pairs of names and values. Empty values are skipped.
func attributes(pairs ...string) (list []attribute.KeyValue) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	return list
}

func linkTo(at mapping.Trace) otel.SpanStartOption {
	return otel.WithLinks(otel.Link{SpanContext: contextOf(at)})
}

// spanOf returns the id of a run's span.
func spanOf(run string) otel.SpanID {
	id, _ := otel.SpanIDFromHex(mapping.RunSpan(run)) // zero means a random id
	return id
}

// Event adds an event of the run to the span. details are pairs of names and values; empty values are skipped.
func (s *Run) Event(name string, details ...string) {
	if s == nil {
		return
	}
	s.span.AddEvent(name, otel.WithAttributes(attributes(details...)...))
}

// Ended describes how a run left a process, for good or until its client requests the next step.
type Ended struct {
	Status   string
	Code     string // of its failure, or ""
	Failed   bool
	Steps    int
	Attempts int
}

// End ends the span. A span that is not ended is not sent. If a run is handed over, the next process sends the whole
// span.
func (s *Run) End(e Ended) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("apbridge.run.status", e.Status), attribute.Int("apbridge.run.steps", e.Steps), attribute.Int("apbridge.run.attempts", e.Attempts))
	set(s.span, "apbridge.run.code", e.Code)
	if e.Failed {
		fail(s.span, e.Code, e.Code)
	}
	s.span.End()
}

// Unexecuted creates the span of a run that ended without being executed.
func (t *Tracer) Unexecuted(ctx context.Context, r *mapping.Run, e Ended) {
	if t == nil || r.Parked { // the executed part of a parked run has a span already
		return
	}
	_, s := t.Run(ctx, r, false)
	s.End(e)
}

// Cron begins the span of a cron's tick, in a separate trace.
func (t *Tracer) Cron(ctx context.Context, id string) (_ context.Context, end func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.start(ctx, "cron", otel.WithAttributes(attribute.String("apbridge.cron.id", id)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, mapping.Classify(err).Code)
		}
		span.End()
	}
}
