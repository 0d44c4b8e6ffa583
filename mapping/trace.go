package mapping

import (
	"context"
	"regexp"
	"strings"
)

// The headers of W3C Trace Context.
const (
	TraceParentHeader = "Traceparent"
	TraceStateHeader  = "Tracestate"
	BaggageHeader     = "Baggage" // W3C Baggage
)

// Trace is the position of a request in a distributed trace, from the client's W3C Trace Context headers. They are
// repeated in calls to agents. The zero value means that there is no trace.
//
// If the bridge records spans, it replaces the client's position by its own.
type Trace struct {
	Parent string `json:"parent,omitempty"`
	State  string `json:"state,omitempty"`
	// Baggage is only carried if OTEL_PROPAGATORS includes it.
	Baggage string `json:"baggage,omitempty"`
}

// ID returns the id of the trace for logs, or "".
func (t Trace) ID() string {
	if t.Parent == "" {
		return ""
	}
	return t.Parent[3:35]
}

// baggageMost is the maximum length of a baggage in bytes (W3C Baggage, section 3.3.2).
const baggageMost = 8192

// WithBaggage returns the trace with the baggage of these headers. Unreadable parts are dropped.
func (t Trace) WithBaggage(headers []string) Trace {
	all := strings.Join(headers, ",")
	if len(all) <= baggageMost && strings.IndexFunc(all, unprintable) < 0 {
		t.Baggage = all
	}
	return t
}

// Tell calls set with each header that is not empty.
func (t Trace) Tell(set func(name, value string)) {
	for _, h := range [...][2]string{{TraceParentHeader, t.Parent}, {TraceStateHeader, t.State}, {BaggageHeader, t.Baggage}} {
		if h[1] != "" {
			set(h[0], h[1])
		}
	}
}

// RunSpan returns the id of a run's span. It is derived from the run's id, so it does not depend on the process. It is
// "" if run is not a run's id.
func RunSpan(run string) string {
	if !IsUUID(run) {
		return ""
	}
	return strings.ToLower(run[19:23] + run[24:36])
}

// Span returns the run's own span in the trace of its request, or the zero value.
func (r *Run) Span() Trace {
	if r.Options.Trace == nil || r.Options.Trace.Parent == "" {
		return Trace{}
	}
	at := *r.Options.Trace
	at.Parent = at.Parent[:36] + RunSpan(r.ID) + at.Parent[52:]
	return at
}

// traceParent matches version, trace, parent and flags (W3C Trace Context, section 3.2.2). A later version may have
// more after them.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]{1,256})?$`)

// traceStateMost is the maximum length of a tracestate. The document requires at least 512.
const traceStateMost = 1024

// ReadTrace reads the two headers. Invalid ones are dropped. An invalid parent also drops the state, which would be
// useless.
func ReadTrace(parent, state string) (t Trace) {
	if !traceParent.MatchString(parent) || strings.HasPrefix(parent, "ff") || len(parent) > 55 && strings.HasPrefix(parent, "00") ||
		parent[3:35] == strings.Repeat("0", 32) || parent[36:52] == strings.Repeat("0", 16) {
		return Trace{}
	}
	t.Parent = parent
	if len(state) <= traceStateMost && strings.IndexFunc(state, unprintable) < 0 {
		t.State = state
	}
	return t
}

func unprintable(c rune) bool { return c < ' ' && c != '\t' || c > '~' }

type traceKey struct{}

// WithTrace returns a context for work on a request with this position.
func WithTrace(ctx context.Context, t Trace) context.Context {
	if t.Parent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the position in ctx, or the zero value.
func TraceOf(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}
