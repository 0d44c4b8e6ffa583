package engine

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// removals tell all holders of their data in this process that runs and threads are no more.
type removals struct {
	log    *eventlog.Log
	holder Holder // may be nil
}

// Holder holds data of runs and tasks in memory, which it drops when they are gone.
type Holder interface {
	ForgetRun(r mapping.Run)
	ForgetTask(tenant, taskID string)
}

// OnRemoved has a holder told of every run and task that the engine removes. It must be called before Start.
func (m *removals) OnRemoved(h Holder) { m.holder = h }

func (m *removals) run(r mapping.Run) {
	m.log.Removed(r.ID)
	m.log.WakeThread(r.ThreadID) // its log need not have been in memory
	if m.holder != nil {
		m.holder.ForgetRun(r)
	}
}

func (m *removals) thread(g store.Gone) {
	for _, r := range g.Runs {
		m.run(r)
	}
	if m.holder != nil {
		for _, task := range g.Tasks {
			m.holder.ForgetTask(g.Tenant, task)
		}
	}
	m.log.WakeThread(g.ThreadID) // which may have had no run
}
