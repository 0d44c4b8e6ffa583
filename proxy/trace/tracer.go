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

// scope is the instrumentation scope of the spans in OTLP.
const scope = "github.com/apbridge/apbridge"

// Tracer creates spans. A nil Tracer creates none and costs nothing. Safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    otel.Tracer
	uploads  *uploads
	baggage  bool
}

// New returns a Tracer, or nil for nil settings. It does not call the collector. The caller must call Close.
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

// hopeless limits the duration of Close if the collector did not accept the previous batch.
const hopeless = time.Second

// Close sends the remaining spans until ctx ends. Each batch is tried only once.
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
	_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // it ends soon after cut, and logs its failures
	t.uploads.cut()
}

// start begins a span as a child of the position of ctx. The returned context has the position of the span.
func (t *Tracer) start(ctx context.Context, name string, options ...otel.SpanStartOption) (context.Context, otel.Span) {
	return t.startAs(ctx, otel.SpanID{}, name, options...)
}

// startAs is like start, with a span id; zero means a random one.
func (t *Tracer) startAs(ctx context.Context, id otel.SpanID, name string, options ...otel.SpanStartOption) (context.Context, otel.Span) {
	at := mapping.TraceOf(ctx)
	above := otel.SpanContextFromContext(ctx)
	if parent := contextOf(at); !parent.Equal(above.WithRemote(true)) {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, span := t.spans.Start(withID(ctx, id), name, options...)
	own := traceOf(span.SpanContext())
	own.Baggage = at.Baggage
	return mapping.WithTrace(otel.ContextWithSpan(ctx, span), own), span
}
