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
	st  *store.Store
	log *eventlog.Log
	*configured
	meter    Meter
	dialects Dialects
	zap      *zap.Logger
	chores   []Chore

	*background
	*doorbell
	running *executions
	allow   func(ctx context.Context, n int) (giveBack func(n int), err error)

	// The parts of an engine: their exported methods, and those of configured, are the engine's.
	starter
	canceller
	copies // of threads, with agents
	*removals
	*taskLog
	*lease
	endings  *endings
	relay    *cancelRelay
	dispatch dispatcher
	memory   *memory.Memory
	peers    *peers
	compared *comparison

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
	running, bell, claimed, back := &executions{}, newDoorbell(), &claims{}, newBackground(o)
	settings, gone, tasks := configure(cfg, agents), &removals{log: log}, &taskLog{events: st.Events, links: st.Links}
	e := &Engine{
		st: st, log: log, configured: settings, meter: meter, dialects: dialects, zap: logger,
		background: back, doorbell: bell, running: running, allow: o.allow,
		lease: newLease(clock.SinceBoot(), running, logger), removals: gone, taskLog: tasks,
		copies:  copies{settings: settings, removals: gone, root: back.root, spawn: running.spawn, turn: make(chan struct{}, 1), zap: logger},
		endings: &endings{settings: settings, log: log, dialects: dialects, background: back, zap: logger},
		relay:   &cancelRelay{tasks: tasks, background: back, spawn: running.spawn, zap: logger},
	}
	e.starter.e, e.starter.claims, e.canceller.e = e, claimed, e
	e.memory = memory.New(st.Items, st.Threads, st.Runs, st.Secrets, func() config.Auth { return e.Config().Auth })
	e.dispatch.e = e
	e.idle.e, e.idle.timers.Spawn = e, e.running.spawn
	e.peers = &peers{shared: st, claims: st.Claims, log: log, lease: e.lease, running: running, bell: bell, zap: logger}
	e.compared = &comparison{threads: heldThreads{states: st.States, log: log, bell: bell, zap: logger}, zap: logger}
	if st.Shared() {
		e.compared.runs = &heldRuns{claims: st.Claims, begun: claimed, running: running, zap: logger}
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
	e.running.spawn(func() { e.dispatch.startRuns(due, look) })
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
