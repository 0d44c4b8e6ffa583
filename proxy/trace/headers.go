package trace

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/apbridge/apbridge/mapping"
	otel "go.opentelemetry.io/otel/trace"
)

// contextOf converts a position for the library, or returns the zero value if there is none. Fields of later versions
// of traceparent after the flags are ignored (W3C Trace Context, section 4.3).
func contextOf(at mapping.Trace) otel.SpanContext {
	if at.Parent == "" {
		return otel.SpanContext{}
	}
	var c otel.SpanContextConfig
	flags, err := hex.DecodeString(at.Parent[53:55])
	if err != nil {
		return otel.SpanContext{}
	}
	c.TraceID, _ = otel.TraceIDFromHex(at.Parent[3:35]) // checked by mapping.ReadTrace
	c.SpanID, _ = otel.SpanIDFromHex(at.Parent[36:52])
	c.TraceFlags, c.Remote = otel.TraceFlags(flags[0]), true
	c.TraceState, _ = otel.ParseTraceState(at.State) // an invalid one is dropped
	return otel.NewSpanContext(c)
}

// traceOf returns the headers that name a span.
func traceOf(c otel.SpanContext) mapping.Trace {
	return mapping.Trace{Parent: "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String(), State: c.TraceState().String()}
}

// ids generates random ids, except for spans with a given id (withID).
type ids struct{}

type idKey struct{}

func withID(ctx context.Context, id otel.SpanID) context.Context {
	if !id.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, idKey{}, id)
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ otel.TraceID) (id otel.SpanID) {
	if wanted, ok := ctx.Value(idKey{}).(otel.SpanID); ok {
		return wanted
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// NewIDs implements sdk.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (id otel.TraceID, span otel.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}
