package engine

import (
	"context"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"go.uber.org/zap"
)

// New returns an Engine; nothing runs before Start. It gives each part what that uses, which is all that a part knows
// of the engine.
func New(st *store.Store, log *eventlog.Log, cfg *config.Config, agents map[string]*Agent, meter Meter,
	dialects Dialects, logger *zap.Logger, more ...Option) *Engine {
	o := optionsOf(more)
	logger = logger.Named("engine")
	settings, background, running, bell, begun := configure(cfg, agents), newBackground(o), &executions{}, newDoorbell(), &openClaims{}
	lease := newLease(clock.SinceBoot(), running, logger)
	reports := &reports{meter: meter, tracer: o.tracer, zap: logger}
	removals := &removals{log: log, forget: func(string, string) {}}
	tasks := &taskLog{events: st.Events, links: st.Links}
	memories := memory.New(st.Items, st.Threads, st.Runs, st.Secrets, func() config.Auth { return settings.Config().Auth })
	endings := &endings{settings: settings, log: log, dialects: dialects, background: background, zap: logger}
	relay := &cancelRelay{tasks: tasks, background: background, spawn: running.spawn, zap: logger}

	var cancels *canceller // executions set clocks, and clocks cancel, which may take an execution
	idle := &idleClocks{
		timers: timers{Spawn: running.spawn}, settings: settings, claims: st.Claims, now: st.Now, background: background, zap: logger,
		clients: attendance{runs: st.Runs, tasks: st.Tasks, now: st.Now, running: running, shared: st.Shared()},
		cancel:  func(ctx context.Context, r *mapping.Run, how Cancellation) error { return cancels.Cancel(ctx, r, how) },
	}
	launcher := &launcher{&works{
		settings: settings, background: background, lease: lease, log: log, events: st.Events, flush: st.Flush, now: st.Now, reports: reports,
		sources: &sources{memory: memories, tasks: tasks, links: st.Links, runs: st.Runs, states: st.States, artifacts: st.Artifacts, paths: dialects},
		exits: &exits{
			runs: st.Runs, claims: st.Claims, calls: &captures{calls: st.Calls, settings: settings, zap: logger},
			endings: endings, running: running, idle: idle, relay: relay, bell: bell,
		},
	}}
	parked := &parkedRuns{
		claims: st.Claims, begun: begun, settings: settings, background: background, running: running, idle: idle, bell: bell, launcher: launcher,
	}
	cancels = &canceller{
		runs: st.Runs, claims: st.Claims, log: log, running: running, parked: parked, removals: removals, zap: logger,
		inactive: &inactiveRuns{events: st.Events, now: st.Now, endings: endings, settings: settings, relay: relay, idle: idle, log: log, bell: bell, reports: reports},
	}
	preempted := &preemption{cancel: cancels.Cancel, runs: st.Runs, background: background, spawn: running.spawn, bell: bell, zap: logger}

	e := &Engine{
		configured: settings, parkedRuns: parked, canceller: cancels, idleClocks: idle, removals: removals, lease: lease, doorbell: bell,
		starter: &starter{
			admission: admission{running: running, allow: o.allow}, settings: settings, runs: st.Runs, begun: begun, lease: lease, launcher: launcher,
			queue: &enqueuer{log: log, bell: bell, preempted: preempted}, bell: bell,
		},
		waits:        &waits{runs: st.Runs, log: log, running: running},
		recollection: &recollection{memory: memories, settings: settings, running: running},
		copies:       &copies{settings: settings, removals: removals, root: background.root, spawn: running.spawn, turn: make(chan struct{}, 1), zap: logger},
		running:      running, background: background, dialects: dialects, zap: logger,
		dispatch: &dispatcher{
			bell: bell, preempted: preempted, recover: st.Recover, shared: st.Shared(), now: st.Now, zap: logger,
			queue: &queue{claims: st.Claims, begun: begun, settings: settings, running: running, lease: lease, launcher: launcher},
		},
		compared: &comparison{threads: heldThreads{states: st.States, log: log, bell: bell, zap: logger}, zap: logger},
		peers:    &peers{database: st, claims: st.Claims, log: log, lease: lease, running: running, bell: bell, zap: logger},
		shared:   st.Shared(),
	}
	if e.shared {
		e.compared.runs = &heldRuns{claims: st.Claims, begun: begun, running: running, zap: logger}
	}
	return e
}
