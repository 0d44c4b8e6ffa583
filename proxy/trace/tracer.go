package trace

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// scope names what made the spans, as OTLP has it.
const scope = "github.com/apbridge/apbridge"

// Tracer makes spans. A nil Tracer makes none, and costs nothing. Safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    otel.Tracer
	uploads  *uploads
	baggage  bool
}

// New returns a Tracer, nil for nil settings. It calls no collector yet. Close must follow.
func New(s *Settings, version string, log *zap.Logger) *Tracer {
	if s == nil {
		return nil
	}
	up := newUploads(s, version, log)
	named := append([]attribute.KeyValue{attribute.String("service.name", "apbridge"), attribute.String("service.version", version)}, s.resource...)
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(otlptrace.NewUnstarted(up), s.batch...),
		sdk.WithResource(resource.NewSchemaless(named...)),
		sdk.WithSampler(s.sampler),
		sdk.WithRawSpanLimits(s.limits),
		sdk.WithIDGenerator(ids{}),
	)
	return &Tracer{provider: provider, spans: provider.Tracer(scope, otel.WithInstrumentationVersion(version)), uploads: up, baggage: s.baggage}
}

// hopeless is how long Close takes at most where the collector did not take what came before.
const hopeless = time.Second

// Close sends what has not been sent, until ctx is over. A batch is tried once from now on.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	if t.uploads.last() {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, hopeless)
		defer stop()
	}
	defer context.AfterFunc(ctx, t.uploads.cut)()
	_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // it ends soon after cut; what it could not send is in the log
	t.uploads.cut()
}

// start begins a span below the place of ctx. The context that is returned has the place of the span.
func (t *Tracer) start(ctx context.Context, name string, options ...otel.SpanStartOption) (context.Context, otel.Span) {
	return t.startAs(ctx, otel.SpanID{}, name, options...)
}

// startAs is start of a span with that id; zero: one by chance.
func (t *Tracer) startAs(ctx context.Context, id otel.SpanID, name string, options ...otel.SpanStartOption) (context.Context, otel.Span) {
	at := mapping.TraceOf(ctx)
	above := otel.SpanContextFromContext(ctx)
	if parent := contextOf(at); !parent.Equal(above.WithRemote(true)) {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, span := t.spans.Start(withID(ctx, id), name, options...)
	own := placeOf(span.SpanContext())
	own.Baggage = at.Baggage
	return mapping.WithTrace(otel.ContextWithSpan(ctx, span), own), span
}
