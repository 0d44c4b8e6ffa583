package adapter

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// AgentCall is one exchange with an agent, as it is kept for people to look at. It is kept without the bridge's own
// credentials (package upstream) and shown without any others (Runs.GetCall).
type AgentCall struct {
	N        int64         `json:"n"` // from 1, in the order in which the run's calls ended; the first may be missing
	At       time.Time     `json:"at"`
	Took     time.Duration `json:"took_ns"` // to the end of the answer
	Method   string        `json:"method"`
	URL      string        `json:"url"`
	Status   int           `json:"status,omitempty"` // 0: there was no answer, and Error says why
	Error    string        `json:"error,omitempty"`  // why there is no answer, or why it broke off
	Sent     CallPart      `json:"sent"`
	Received CallPart      `json:"received"`

	// Told are the namespaces of the long-term store of which the agent was told items in the run. They are for whoever
	// decides about the bodies, and are shown to no caller.
	Told [][]string `json:"told,omitempty"`
	// Withheld means that the bodies may hold items that the caller may not read, and were left out.
	Withheld bool `json:"withheld,omitempty"`
}

// Withhold leaves the bodies out.
func (c *AgentCall) Withhold() {
	c.Withheld = true
	for _, p := range []*CallPart{&c.Sent, &c.Received} {
		p.Body, p.Kept = nil, 0
	}
}

// CallPart is one half of an exchange.
type CallPart struct {
	Header map[string]string `json:"header,omitempty"`
	// Size is how many bytes the body had, of which Body has the first; a list of calls has no bodies.
	Size int64  `json:"size"`
	Kept int    `json:"kept"`
	Body []byte `json:"-"`
}

// SetBody replaces what is kept of the body. A whole body stays whole.
func (p *CallPart) SetBody(b []byte) {
	whole := !p.Cut()
	if p.Body, p.Kept = b, len(b); whole {
		p.Size = int64(p.Kept)
	}
}

// Cut reports whether the body was longer than what is kept of it.
func (p CallPart) Cut() bool { return p.Size > int64(p.Kept) }

// CallKeeper is given the calls that are made for a run. Safe for concurrent use.
type CallKeeper interface {
	// Begin is called when a call begins. keeps reports whether anything of it is wanted.
	Begin() (keeps bool)
	// Room asks for memory for n bytes of a body, and returns how many there is room for.
	Room(n int) int
	// End follows each Begin, when the answer has ended or was left; c is nil where nothing was kept.
	End(c EndedCall)
}

// EndedCall is a call that was kept. Safe for concurrent use.
type EndedCall interface {
	// Room is how many bytes of memory its bodies take, of those that CallKeeper.Room gave.
	Room() int
	// Shown is the call without what could grant access, and without its number. Each call of it looks for secrets
	// anew.
	Shown() AgentCall
}

type callKeeperKey struct{}

// WithCallKeeper returns a context under which the calls of agents are given to k.
func WithCallKeeper(ctx context.Context, k CallKeeper) context.Context {
	return context.WithValue(ctx, callKeeperKey{}, k)
}

// CallKeeperOf returns what WithCallKeeper was given; nil: none.
func CallKeeperOf(ctx context.Context) CallKeeper {
	k, _ := ctx.Value(callKeeperKey{}).(CallKeeper)
	return k
}

// KeptCalls are the calls of a run that are there to look at.
type KeptCalls struct {
	Calls []AgentCall
	// Capture is what is kept by the configuration in force: off, errors or all.
	Capture string
	// Live: the run is at work in this process, and the calls are those of its memory.
	Live bool
}

// NoCall returns the error for a call that is not kept.
func NoCall(runID string, n int64) error {
	return mapping.Errorf(mapping.NotFound, "call_not_found", "Call %d of run %q is not kept.", n, runID)
}
