package front

import (
	"slices"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// Calls is a meter that notes how the newest calls of each agent went, and passes each on to the next meter. Safe for
// concurrent use.
type Calls struct {
	next adapter.Meter
	of   sync.Map // of *agentCalls by the agent's name
}

// callsKept is of how many calls of an agent is known how they went.
const callsKept = 256

// agentCalls are the newest calls of one agent.
type agentCalls struct {
	mu     sync.Mutex
	last   time.Time                // of an answer
	took   [callsKept]time.Duration // of those that were answered
	failed [callsKept]bool
	n      int // calls so far
}

// NewCalls returns a meter that stands in front of another one.
func NewCalls(next adapter.Meter) *Calls { return &Calls{next: next} }

// UpstreamCall implements adapter.Meter.
func (c *Calls) UpstreamCall(agent, operation, outcome string, took time.Duration) {
	at, known := c.of.Load(agent)
	if !known { // a table is two kilobytes: not one for each call
		at, _ = c.of.LoadOrStore(agent, &agentCalls{})
	}
	if calls, ok := at.(*agentCalls); ok {
		calls.note(outcome == "ok", took)
	}
	c.next.UpstreamCall(agent, operation, outcome, took)
}

func (a *agentCalls) note(ok bool, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ok {
		a.last = time.Now()
	}
	a.took[a.n%callsKept], a.failed[a.n%callsKept] = took, !ok
	a.n++
}

// Answered returns when an agent answered last; the zero time where it has not since the start.
func (c *Calls) Answered(agent string) time.Time { return c.Newest(agent).Answered }

// CallSummary is how the newest calls of an agent went.
type CallSummary struct {
	Answered time.Time // the newest answer; zero: none since the start
	Calls    int       // that were looked at, 256 at most
	Failed   int       // of these
	Median   time.Duration
	Slow     time.Duration // one in twenty took longer
}

// Newest returns how the newest calls of an agent went. Times are of those that were answered.
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
