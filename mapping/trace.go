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
)

// Trace is the place of a request in a distributed trace, as its client says: the headers of
// W3C Trace Context, which calls to agents repeat. The zero value says nothing.
type Trace struct {
	Parent string `json:"parent,omitempty"`
	State  string `json:"state,omitempty"`
}

// traceParent is version, trace, parent and flags (W3C Trace Context, section 3.2.2). A later version
// may have more behind them.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]{1,256})?$`)

// traceStateMost is how long a tracestate may be; the document has 512 carried at least.
const traceStateMost = 1024

// ReadTrace reads the two headers. What is not as the document has it is left out, a state with a
// parent that is: nobody could use it.
func ReadTrace(parent, state string) (t Trace) {
	if !traceParent.MatchString(parent) || strings.HasPrefix(parent, "ff") || len(parent) > 55 && strings.HasPrefix(parent, "00") ||
		parent[3:35] == strings.Repeat("0", 32) || parent[36:52] == strings.Repeat("0", 16) {
		return Trace{}
	}
	t.Parent = parent
	unprintable := func(c rune) bool { return c < ' ' && c != '\t' || c > '~' }
	if len(state) <= traceStateMost && strings.IndexFunc(state, unprintable) < 0 {
		t.State = state
	}
	return t
}

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
