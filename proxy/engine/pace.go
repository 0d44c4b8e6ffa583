package engine

import (
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// quickStep is how long a step may take for its agent to be a quick one.
const quickStep = 25 * time.Millisecond

// pace is how long an agent's steps take, as a moving average. Safe for
// concurrent use.
//
// Before a quick agent a step is asked for while the result of the one before
// is still being written, and results are written together: waiting for the
// disk would take longer than the steps. The price is paid at a crash: of an
// agent that cannot tell what it was asked, the run's outcome is then unknown.
// Before any other agent each result is durable before the next step is asked
// for, so that just one call is open at any time.
type pace struct{ average atomic.Int64 } // nanoseconds; 0: not known

func (p *pace) took(d time.Duration) {
	was := p.average.Load()
	if was == 0 {
		p.average.Store(max(1, int64(d)))
		return
	}
	p.average.Store(max(1, was+(int64(d)-was)/8)) // a lost update is a lost sample
}

func (p *pace) quick() bool {
	average := time.Duration(p.average.Load())
	return average > 0 && average < quickStep
}

// start is a run's first event, or the first of a further attempt. It says
// whether steps will run ahead of the log, for whoever picks the run up.
func (a *Agent) start(r mapping.Run) mapping.Event {
	ev := startedEvent(r)
	ev.Head.Ahead = a.pace.quick()
	return ev
}
