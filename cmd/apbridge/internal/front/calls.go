package front

import (
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
)

// Calls is a meter that notes when each agent answered last, and tells the next meter. Safe for concurrent
// use.
type Calls struct {
	next adapter.Meter
	last sync.Map // of time.Time by the agent's name
}

// NewCalls stands before a meter.
func NewCalls(next adapter.Meter) *Calls { return &Calls{next: next} }

// UpstreamCall implements adapter.Meter.
func (c *Calls) UpstreamCall(agent, operation, outcome string, took time.Duration) {
	if outcome == "ok" {
		c.last.Store(agent, time.Now())
	}
	c.next.UpstreamCall(agent, operation, outcome, took)
}

// Answered is when an agent answered last; the zero time: not since the start.
func (c *Calls) Answered(agent string) time.Time {
	t, _ := c.last.Load(agent)
	at, _ := t.(time.Time)
	return at
}
