package engine

import (
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// countBegin counts that this process executes the run from now on.
func (x *execution) countBegin() {
	x.e.meter.RunStarted(x.agent.Name)
	if !x.taken && x.next == nil {
		x.e.meter.RunWaited(x.agent.Name, waited(x.run))
	}
}

// waited is how long a run that was claimed for the first time had to wait. All its times are of
// the clock of the database.
func waited(r mapping.Run) time.Duration {
	ready := r.CreatedAt
	if r.RunAfter.After(ready) {
		ready = r.RunAfter
	}
	return r.StartedAt.Sub(ready)
}

// countResult counts an update of the agent.
func (x *execution) countResult() {
	now := time.Now()
	x.e.meter.StepTaken(x.agent.Name, now.Sub(x.stepped))
	x.results++
	x.stepped = now
}

// countLogged counts what was committed.
func (x *execution) countLogged(batch []piece) {
	if len(batch) == 0 {
		return
	}
	var of measure
	for i := range batch {
		of.add(batch[i].entry.Event)
	}
	x.e.meter.EventsLogged(x.agent.Name, of.events, of.bytes)
}
