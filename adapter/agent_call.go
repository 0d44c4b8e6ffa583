package adapter

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// AgentCall is one exchange with an agent, recorded for inspection. Package upstream removes the bridge's own
// credentials before a call is recorded. Runs.GetCall removes all others before it is shown.
type AgentCall struct {
	N        int64         `json:"n"` // from 1, in the order in which the run's calls ended; the first ones may be missing
	At       time.Time     `json:"at"`
	Took     time.Duration `json:"took_ns"` // until the end of the response
	Method   string        `json:"method"`
	URL      string        `json:"url"`
	Status   int           `json:"status,omitempty"` // 0 if there was no response; Error has the reason
	Error    string        `json:"error,omitempty"`  // reason for a missing or incomplete response
	Sent     CallPart      `json:"sent"`
	Received CallPart      `json:"received"`

	// Recalled are the namespaces of the long-term store whose items the agent received in the run. They are used only to
	// decide who may see the bodies, and are never shown to callers.
	Recalled [][]string `json:"told,omitempty"`
	// Withheld means that the bodies were removed because they may contain items that the caller may not read.
	Withheld bool `json:"withheld,omitempty"`
}

// Withhold removes the bodies.
func (c *AgentCall) Withhold() {
	c.Withheld = true
	for _, p := range []*CallPart{&c.Sent, &c.Received} {
		p.Body, p.Kept = nil, 0
	}
}

// CallPart is one half of an exchange.
type CallPart struct {
	Header map[string]string `json:"header,omitempty"`
	// Size is the length of the body in bytes. Body holds its first bytes; in a list of calls it is empty.
	Size int64  `json:"size"`
	Kept int    `json:"kept"`
	Body []byte `json:"-"`
}

// SetBody replaces the kept part of the body. A complete body remains complete.
func (p *CallPart) SetBody(b []byte) {
	whole := !p.Cut()
	if p.Body, p.Kept = b, len(b); whole {
		p.Size = int64(p.Kept)
	}
}

// Cut reports whether the body was longer than its kept part.
func (p CallPart) Cut() bool { return p.Size > int64(p.Kept) }

// CallKeeper records the calls made for a run. Safe for concurrent use.
type CallKeeper interface {
	// Begin is called when a call begins. keeps reports whether the call should be kept.
	Begin() (keeps bool)
	// Reserve requests memory for n bytes of a body and returns how many may be kept.
	Reserve(n int) int
	// End follows each Begin when the response has ended or was closed. c is nil if nothing was kept.
	End(c EndedCall)
}

// EndedCall is a kept call. Safe for concurrent use.
type EndedCall interface {
	// Reserved returns how many bytes its bodies use of the memory granted by CallKeeper.Reserve.
	Reserved() int
	// Shown returns the call without anything that could grant access, and without its number. It searches for secrets
	// at each call.
	Shown() AgentCall
}

type callKeeperKey struct{}

// WithCallKeeper returns a context that passes the calls of agents to k.
func WithCallKeeper(ctx context.Context, k CallKeeper) context.Context {
	return context.WithValue(ctx, callKeeperKey{}, k)
}

// CallKeeperOf returns the CallKeeper of WithCallKeeper, or nil.
func CallKeeperOf(ctx context.Context) CallKeeper {
	k, _ := ctx.Value(callKeeperKey{}).(CallKeeper)
	return k
}

// KeptCalls are the available calls of a run.
type KeptCalls struct {
	Calls []AgentCall
	// Capture is the setting inspector.capture: off, errors or all.
	Capture string
	// Live means that the run is active in this process, which has the calls in memory.
	Live bool
	// AgentTime is the time during which at least one call was open in this process. It is 0 unless the run is Live.
	AgentTime time.Duration
}

// NoCall returns the error for a call that is not kept.
func NoCall(runID string, n int64) error {
	return mapping.Errorf(mapping.NotFound, "call_not_found", "Call %d of run %q is not kept.", n, runID)
}
