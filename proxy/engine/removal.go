package engine

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// removals tell all holders of their data in this process that runs and threads are no more.
type removals struct {
	log    *eventlog.Log
	forget func(tenant, taskID string)
}

// OnRemoved has forget called for every task that the engine removes, or a run of. It must be called before Start.
func (m *removals) OnRemoved(forget func(tenant, taskID string)) { m.forget = forget }

func (m *removals) run(r mapping.Run) {
	m.log.Removed(r.ID)
	m.log.WakeThread(r.ThreadID) // its log need not have been in memory
	m.forget(r.Tenant, r.TaskID)
}

func (m *removals) thread(g store.Gone) {
	for _, r := range g.Runs {
		m.run(r)
	}
	for _, task := range g.Tasks {
		m.forget(g.Tenant, task)
	}
	m.log.WakeThread(g.ThreadID) // which may have had no run
}
