package trace

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otel "go.opentelemetry.io/otel/trace"
)

// Request is the span of a client's request. A nil Request records nothing.
type Request struct{ span otel.Span }

// Request begins the span of a request, as a child of the client's span. The returned request has the position of the
// span in its context.
func (t *Tracer) Request(r *http.Request) (*http.Request, *Request) {
	if t == nil {
		return r, nil
	}
	ctx := r.Context()
	if at := mapping.TraceOf(ctx); t.baggage && at.Parent != "" {
		ctx = mapping.WithTrace(ctx, at.WithBaggage(r.Header.Values("Baggage")))
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	ctx, span := t.start(ctx, methodOf(r.Method), otel.WithSpanKind(otel.SpanKindServer), otel.WithAttributes(
		attribute.String("http.request.method", methodOf(r.Method)),
		attribute.String("url.scheme", scheme),
		attribute.String("url.path", r.URL.Path),
		attribute.String("network.protocol.version", strconv.Itoa(r.ProtoMajor)+"."+strconv.Itoa(r.ProtoMinor)),
		attribute.String("apbridge.request.id", mapping.RequestIDOf(ctx)),
	))
	return r.WithContext(ctx), &Request{span}
}

// Answer describes the response to a request.
type Answer struct {
	Route  string // the template that matched, or ""
	Status int
	Key    string // the id of the caller's key
	Run    string // the run of the request
}

// End ends the span. A server error is an error of the span (semantic conventions of HTTP).
func (s *Request) End(method string, a Answer) {
	if s == nil {
		return
	}
	if a.Route != "" {
		s.span.SetName(methodOf(method) + " " + a.Route)
		s.span.SetAttributes(attribute.String("http.route", a.Route))
	}
	s.span.SetAttributes(attribute.Int("http.response.status_code", a.Status))
	set(s.span, "apbridge.key", a.Key)
	set(s.span, "apbridge.run.id", a.Run)
	if a.Status >= http.StatusInternalServerError {
		fail(s.span, strconv.Itoa(a.Status), "")
	}
	s.span.End()
}

// set skips empty values.
func set(span otel.Span, name, value string) {
	if value != "" {
		span.SetAttributes(attribute.String(name, value))
	}
}

func fail(span otel.Span, kind, words string) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, words)
}

// methods are the known methods in the semantic conventions of HTTP.
var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

func methodOf(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "_OTHER"
}
