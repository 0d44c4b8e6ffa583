package trace

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"
)

// UpstreamCall begins the span of a call to an agent. The returned context has the position of the span. end must be
// called at the end of the response. status is 0 if there is none, and outcome is as in the metrics. Further calls of
// end have no effect.
func (t *Tracer) UpstreamCall(ctx context.Context, agent, operation, method, target string) (_ context.Context, end func(status int, outcome string)) {
	if t == nil {
		return ctx, func(int, string) {}
	}
	return t.call(ctx, methodOf(method)+" "+operation, method, target,
		attribute.String("apbridge.agent", agent), attribute.String("apbridge.operation", operation))
}

// Delivery begins the span of an attempt to deliver a run's webhook, as UpstreamCall does. It contains only the host of
// the target, because the rest may be secret.
func (t *Tracer) Delivery(ctx context.Context, run, target string, attempt int) (_ context.Context, end func(status int, outcome string)) {
	if t == nil {
		return ctx, func(int, string) {}
	}
	return t.call(ctx, "POST webhook", http.MethodPost, hostOnly(target), attribute.String("apbridge.run.id", run), attribute.Int("apbridge.delivery.attempt", attempt))
}

func (t *Tracer) call(ctx context.Context, name, method, target string, more ...attribute.KeyValue) (context.Context, func(int, string)) {
	ctx, span := t.start(ctx, name, otel.WithSpanKind(otel.SpanKindClient), otel.WithAttributes(
		append(more, attribute.String("http.request.method", methodOf(method)))...), otel.WithAttributes(addressOf(target)...))
	return ctx, func(status int, outcome string) {
		if status > 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", status))
		}
		if outcome != "" {
			span.SetAttributes(attribute.String("apbridge.outcome", outcome))
		}
		switch {
		case status == http.StatusNotFound && method == http.MethodGet: // a normal response to a request for an object that may not exist
		case status >= http.StatusBadRequest:
			fail(span, strconv.Itoa(status), "")
		case status > 0 && outcome == "refused": // a redirect or an unmodified response, which is not an HTTP error
		case outcome != "" && outcome != "ok" && outcome != "stopped": // not the bridge's or the caller's own decision
			fail(span, outcome, outcome)
		}
		span.End()
	}
}

// addressOf returns the attributes of a URL without user, password, query and fragment.
func addressOf(target string) []attribute.KeyValue {
	u, err := url.Parse(target)
	if err != nil {
		return nil
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	list := []attribute.KeyValue{attribute.String("url.full", u.String()), attribute.String("server.address", u.Hostname())}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.Atoi(port); err == nil {
		list = append(list, attribute.Int("server.port", n))
	}
	return list
}

func hostOnly(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// Tell writes the position of ctx into the headers of a call. A nil Tracer writes none.
func (t *Tracer) Tell(ctx context.Context, h http.Header) {
	if at := mapping.TraceOf(ctx); t != nil {
		at.Tell(h.Set)
	}
}
