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

// Trace is the place of a request in a distributed trace, as its client says: the headers of W3C Trace Context, which
// calls to agents repeat. The zero value says nothing.
//
// A bridge that makes spans puts its own in the place of the client's.
type Trace struct {
	Parent string `json:"parent,omitempty"`
	State  string `json:"state,omitempty"`
	// Baggage is carried only where OTEL_PROPAGATORS asks for it.
	Baggage string `json:"baggage,omitempty"`
}

// ID returns the id of the trace, for logs; "" for none.
func (t Trace) ID() string {
	if t.Parent == "" {
		return ""
	}
	return t.Parent[3:35]
}

// baggageMost is how long a baggage is carried at most, in bytes (W3C Baggage, section 3.3.2).
const baggageMost = 8192

// WithBaggage returns the place with the baggage of these headers. What cannot be read is left out.
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

// RunSpan returns the id that the span of a run has: it follows from the run's, whichever process makes the span. ""
// for what is no id of a run.
func RunSpan(run string) string {
	if !IsUUID(run) {
		return ""
	}
	return strings.ToLower(run[19:23] + run[24:36])
}

// Place returns where a run itself is in the trace of the request that asked for it; the zero value where that is in
// none.
func (r *Run) Place() Trace {
	if r.Options.Trace == nil || r.Options.Trace.Parent == "" {
		return Trace{}
	}
	at := *r.Options.Trace
	at.Parent = at.Parent[:36] + RunSpan(r.ID) + at.Parent[52:]
	return at
}

// traceParent is version, trace, parent and flags (W3C Trace Context, section 3.2.2). A later version may have more
// after them.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]{1,256})?$`)

// traceStateMost is how long a tracestate may be; the document has 512 carried at least.
const traceStateMost = 1024

// ReadTrace reads the two headers. What is not as the document has it is left out, a state with a parent that is: it
// would be of no use.
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

// WithTrace returns a context of work done for a request with this place.
func WithTrace(ctx context.Context, t Trace) context.Context {
	if t.Parent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the place that ctx carries; the zero value for none.
func TraceOf(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}
