package engine

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// removals tell all holders of their data in this process that runs and threads are no more.
type removals struct {
	log     *eventlog.Log
	removed func(mapping.Run) // may be nil
}

// OnRemoved has f called for every run that the engine removes. It must be called before Start.
func (m *removals) OnRemoved(f func(mapping.Run)) { m.removed = f }

func (m *removals) run(r mapping.Run) {
	m.log.Removed(r.ID)
	m.log.WakeThread(r.ThreadID) // its log need not have been in memory
	if m.removed != nil {
		m.removed(r)
	}
}

func (m *removals) thread(g store.Gone) {
	for _, r := range g.Runs {
		m.run(r)
	}
	m.log.WakeThread(g.ThreadID) // which may have had no run
}
