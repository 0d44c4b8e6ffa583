package front

import (
	"slices"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
)

// Calls is a meter that records the newest calls to each agent and passes all calls on to the next meter. It is safe
// for concurrent use.
type Calls struct {
	next adapter.Meter
	of   sync.Map // of *agentCalls by agent
}

// callsKept is the number of recorded calls per agent.
const callsKept = 256

// agentCalls holds the newest calls to one agent.
type agentCalls struct {
	mu     sync.Mutex
	last   time.Time                // time of the newest answer
	took   [callsKept]time.Duration // durations of calls that did not fail
	failed [callsKept]bool
	n      int // number of calls
}

// NewCalls returns Calls that pass on to next.
func NewCalls(next adapter.Meter) *Calls { return &Calls{next: next} }

// UpstreamCall implements adapter.Meter.
func (c *Calls) UpstreamCall(agent, operation, outcome string, took time.Duration) {
	at, known := c.of.Load(agent)
	if !known { // the table has two kilobytes, so it is not allocated for each call
		at, _ = c.of.LoadOrStore(agent, &agentCalls{})
	}
	if calls, ok := at.(*agentCalls); ok {
		calls.note(outcome == "ok", failed(operation, outcome), took)
	}
	c.next.UpstreamCall(agent, operation, outcome, took)
}

// failed reports whether the agent failed to answer a call. A call that the bridge stopped is no failure of the agent.
// Neither is a refused read. It only shows that the agent does not speak a dialect or does not have the resource.
func failed(operation, outcome string) bool {
	switch outcome {
	case "ok", "stopped":
		return false
	case "refused":
		return operation != upstream.OpRead
	}
	return true
}

func (a *agentCalls) note(ok, failed bool, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ok {
		a.last = time.Now()
	}
	a.took[a.n%callsKept], a.failed[a.n%callsKept] = took, failed
	a.n++
}

// Answered returns the time of an agent's newest answer, or zero if there is none since the start.
func (c *Calls) Answered(agent string) time.Time { return c.Newest(agent).Answered }

// CallSummary summarises the newest calls to an agent.
type CallSummary struct {
	Answered time.Time // the newest answer; zero if none since the start
	Calls    int       // number of recorded calls, at most 256
	Failed   int       // of them
	Median   time.Duration
	Slow     time.Duration // 95th percentile
}

// Newest summarises the newest calls to an agent. Durations only include calls that did not fail.
func (c *Calls) Newest(agent string) (s CallSummary) {
	at, _ := c.of.Load(agent)
	a, ok := at.(*agentCalls)
	if !ok {
		return s
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s.Answered, s.Calls = a.last, min(a.n, callsKept)
	var took []time.Duration
	for i := range s.Calls {
		if a.failed[i] {
			s.Failed++
		} else {
			took = append(took, a.took[i])
		}
	}
	if len(took) == 0 {
		return s
	}
	slices.Sort(took)
	s.Median, s.Slow = took[len(took)/2], took[min(len(took)*95/100, len(took)-1)]
	return s
}
