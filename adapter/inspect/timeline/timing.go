package timeline

import (
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Timing is where the time of a run went.
type Timing struct {
	Total   float64 `json:"seconds"`
	Waiting float64 `json:"waiting_seconds"` // until it began
	Agent   float64 `json:"agent_seconds"`   // while a call of the agent was under way
	Bridge  float64 `json:"bridge_seconds"`  // the rest
	// Known: the log or the calls say how long the agent took. Else Bridge is all that was not waiting.
	Known bool `json:"agent_known"`
}

// TimingOf returns where the time of a run went, up to now or to its end. agent is what its end event says, 0 while
// there is none.
func TimingOf(run *mapping.Run, now time.Time, agent time.Duration, calls []adapter.AgentCall) Timing {
	end := run.EndedAt
	if end.IsZero() {
		end = now
	}
	began := run.StartedAt
	if began.IsZero() || began.After(end) {
		began = end
	}
	if agent == 0 {
		agent = busy(calls)
	}
	t := Timing{Total: seconds(end.Sub(run.CreatedAt)), Waiting: seconds(began.Sub(run.CreatedAt)), Known: agent > 0}
	work := seconds(end.Sub(began))
	t.Agent = min(work, seconds(agent))
	t.Bridge = work - t.Agent
	return t
}

func seconds(d time.Duration) float64 { return max(0, d.Seconds()) }

// busy is how long at least one of the calls was under way.
func busy(calls []adapter.AgentCall) (sum time.Duration) {
	calls = slices.SortedFunc(slices.Values(calls), func(a, b adapter.AgentCall) int { return a.At.Compare(b.At) })
	var until time.Time
	for _, c := range calls {
		begin, end := c.At, c.At.Add(c.Took)
		if begin.Before(until) {
			begin = until
		}
		if end.After(begin) {
			sum += end.Sub(begin)
			until = end
		}
	}
	return sum
}
