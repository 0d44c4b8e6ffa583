package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine/clock"
	"github.com/apbridge/apbridge/proxy/engine/keptcall"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// Meter counts what the engine does; proxy/metrics implements it. Every RunStarted is followed by one RunEnded, whose
// status may also be "parked" or "handed_over", with the code of the failure or "". Runs that end without having been
// started here are not told.
type Meter interface {
	RunStarted(agent string)
	// RunWaited notes how long a run waited that is executed for the first time.
	RunWaited(agent string, d time.Duration)
	StepTaken(agent string, took time.Duration)
	// EventsLogged counts events that were committed, with the bytes of their data.
	EventsLogged(agent string, events int, bytes int64)
	RunEnded(agent string, status mapping.RunStatus, code string)
}

// Statuses returns the statuses that a Meter may be told a run ended with.
func Statuses() []mapping.RunStatus {
	return []mapping.RunStatus{mapping.RunSuccess, mapping.RunError, mapping.RunTimeout, mapping.RunInterrupted, statusParked, statusHandedOver}
}

// Chore is work by the clock that goes on as long as the engine; package chore has them.
type Chore interface {
	// Run returns soon after ctx ends. Shutdown ends it when no run is left to end, and waits for the return.
	Run(ctx context.Context)
}

// Engine runs runs. Safe for concurrent use.
type Engine struct {
	st     *store.Store
	log    *eventlog.Log
	zap    *zap.Logger
	chores []Chore
	*background

	// The parts of an engine that others call: their exported methods are the engine's.
	*configured
	*starter
	*parkedRuns
	*canceller
	*idleClocks
	*copies // of threads, with agents
	*removals
	*waits
	*lease
	*doorbell
	reports  *reports
	dialects Dialects
	memory   *memory.Memory

	running  *executions
	dispatch *dispatcher
	peers    *peers
	compared *comparison

	tasks       *taskLog
	endings     *endings
	relay       *cancelRelay
	idle        *idleClocks
	callsBudget keptcall.Budget // of runs at work
}

// Dialects has what only a dialect knows; adapter.Dialects implements it.
type Dialects interface {
	// Webhook writes the body of a run's completion hook.
	Webhook(run mapping.Run, out mapping.Outcome, values []byte) ([]byte, error)
	// ArtifactPath returns the path of an artifact's bytes for clients; "": there is none.
	ArtifactPath(agent, taskID, artifactID string) string
}

// New returns an Engine; nothing runs before Start.
func New(st *store.Store, log *eventlog.Log, cfg *config.Config, agents map[string]*Agent, meter Meter,
	dialects Dialects, logger *zap.Logger, more ...Option) *Engine {
	o := optionsOf(more)
	logger = logger.Named("engine")
	settings, back, running, bell, begun := configure(cfg, agents), newBackground(o), &executions{}, newDoorbell(), &claims{}
	held := newLease(clock.SinceBoot(), running, logger)
	told := &reports{meter: meter, tracer: o.tracer, zap: logger}
	gone, tasks := &removals{log: log}, &taskLog{events: st.Events, links: st.Links}
	ends := &endings{settings: settings, log: log, dialects: dialects, background: back, zap: logger}
	relay := &cancelRelay{tasks: tasks, background: back, spawn: running.spawn, zap: logger}
	cancels := &canceller{runs: st.Runs, claims: st.Claims, log: log, running: running, removals: gone, zap: logger}
	idle := &idleClocks{
		timers: clock.Timers{Spawn: running.spawn}, settings: settings, claims: st.Claims,
		clients: attendance{runs: st.Runs, tasks: st.Tasks, running: running, shared: st.Shared()},
		cancel:  cancels.Cancel, background: back, zap: logger,
	}
	e := &Engine{
		st: st, log: log, zap: logger, background: back, configured: settings, canceller: cancels, idleClocks: idle, removals: gone, lease: held, doorbell: bell,
		waits:   &waits{runs: st.Runs, log: log, running: running},
		copies:  &copies{settings: settings, removals: gone, root: back.root, spawn: running.spawn, turn: make(chan struct{}, 1), zap: logger},
		reports: told, dialects: dialects, running: running, tasks: tasks, endings: ends, relay: relay, idle: idle,
		memory: memory.New(st.Items, st.Threads, st.Runs, st.Secrets, func() config.Auth { return settings.Config().Auth }),
		peers:  &peers{shared: st, claims: st.Claims, log: log, lease: held, running: running, bell: bell, zap: logger},
	}
	launches := &launcher{e}
	e.parkedRuns = &parkedRuns{claims: st.Claims, begun: begun, settings: settings, background: back, running: running, idle: idle, bell: bell, launcher: launches}
	cancels.parked = e.parkedRuns
	cancels.inactive = &inactiveRuns{events: st.Events, endings: ends, settings: settings, relay: relay, idle: idle, log: log, bell: bell, reports: told}
	preempted := &preemption{cancel: cancels.Cancel, runs: st.Runs, background: back, spawn: running.spawn, bell: bell, zap: logger}
	e.starter = &starter{
		admission: admission{running, o.allow}, settings: settings, runs: st.Runs, begun: begun, lease: held, launcher: launches,
		queue: &enqueuer{log: log, bell: bell, preempted: preempted}, bell: bell,
	}
	e.dispatch = &dispatcher{
		bell: bell, preempted: preempted, recover: st.Recover, shared: st.Shared(), zap: logger,
		queue: &queue{claims: st.Claims, begun: begun, settings: settings, running: running, lease: held, launcher: launches},
	}
	e.compared = &comparison{threads: heldThreads{states: st.States, log: log, bell: bell, zap: logger}, zap: logger}
	if st.Shared() {
		e.compared.runs = &heldRuns{claims: st.Claims, begun: begun, running: running, zap: logger}
	}
	return e
}

// ArtifactPath returns the path of the bytes of a task's artifact for clients of an agent; "" where no face serves it.
func (e *Engine) ArtifactPath(agent, taskID, artifactID string) string {
	return e.dialects.ArtifactPath(agent, taskID, artifactID)
}

// Start picks up what an earlier process left behind, and begins to start runs as their turn comes. It returns once the
// first look at pending runs is done, or cannot be done because the disk is full: reading works then, and the
// dispatcher tries again.
func (e *Engine) Start(ctx context.Context) error {
	if e.st.Shared() {
		e.peers.renewLease(ctx)
		e.running.spawn(func() { e.peers.keepLease(e.background.root) })
		e.running.spawn(func() { e.peers.listen(e.background.root) })
		e.running.spawn(func() { e.idle.watch(e.background.root) })
	}
	e.running.spawn(func() { e.compared.compare(e.background.root) })
	if err := e.idle.startAll(ctx); err != nil {
		return err
	}
	look := e.dispatch.claimRunnable
	due, err := e.dispatch.resume(ctx)
	if mapping.Classify(err).Class == mapping.StorageFull {
		e.zap.Warn("what an earlier process left behind is picked up when there is room", errField(err))
		look, due, err = e.dispatch.resume, time.Now().Add(retryDispatch), nil
	}
	if err != nil {
		return err
	}
	e.running.spawn(func() { e.dispatch.startRuns(e.background.root, due, look) })
	for _, c := range e.chores {
		e.running.spawn(func() { c.Run(e.background.root) })
	}
	return nil
}

// Shutdown lets running runs end until ctx is over, then hands the rest over: they are picked up again by the next
// process. New runs are refused from the start.
func (e *Engine) Shutdown(ctx context.Context) {
	e.running.drain()
	e.await(ctx)
	e.stop(errShutdown)
	e.idle.timers.Stop()
	e.running.stop()
	done := make(chan struct{})
	go func() { e.running.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		e.zap.Warn("some runs did not stop in time; they are resolved at the next start")
	}
}

// await returns when no execution is left or ctx is over.
func (e *Engine) await(ctx context.Context) {
	for _, x := range e.running.all() {
		select {
		case <-x.done:
		case <-ctx.Done():
			return
		}
	}
}

// Tracer returns what WithTracer was given.
func (e *Engine) Tracer() *trace.Tracer { return e.tracer }

// Beside has a chore done from Start on. It must be called before Start.
func (e *Engine) Beside(c Chore) { e.chores = append(e.chores, c) }

// Live returns how many runs this process is executing.
func (e *Engine) Live() int { return e.running.count() }

var errDraining = mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown,
	"The bridge is shutting down and takes no new runs; try again in a moment.")
