package engine

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// reports are what the log, metrics and traces are told of runs by. Safe for concurrent use.
type reports struct {
	meter  Meter
	tracer *trace.Tracer // may be nil
	zap    *zap.Logger
}

// account reports an execution to the log, metrics and traces.
type account struct{ x *execution }

// countLaunch counts that this process executes the run from now on.
func (a account) countLaunch() {
	a.x.works.reports.meter.RunStarted(a.x.agent.Name)
	if !a.x.Taken && a.x.next == nil {
		a.x.works.reports.meter.RunWaited(a.x.agent.Name, waited(&a.x.Run))
	}
}

// waited is how long a run that was claimed for the first time had to wait. All its times are of the clock of the
// database.
func waited(r *mapping.Run) time.Duration {
	ready := r.CreatedAt
	if r.RunAfter.After(ready) {
		ready = r.RunAfter
	}
	return r.StartedAt.Sub(ready)
}

// countResult counts an update of the agent.
func (a account) countResult() {
	now := time.Now()
	a.x.works.reports.meter.StepTaken(a.x.agent.Name, now.Sub(a.x.stepped))
	a.x.results++
	a.x.stepped = now
}

// countLogged counts what was committed.
func (a account) countLogged(batch []piece) {
	if len(batch) == 0 {
		return
	}
	var of measure
	for i := range batch {
		of.add(&batch[i].entry.Event)
	}
	a.x.works.reports.meter.EventsLogged(a.x.agent.Name, of.events, of.bytes)
}
