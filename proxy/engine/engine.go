package engine

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
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
	// The parts that others call: their exported methods are the engine's.
	*configured
	*starter
	*parkedRuns
	*canceller
	*idleClocks
	*waits
	*recollection
	*copies // of threads, with agents
	*removals
	*lease
	*doorbell

	// The parts that Start sets going.
	running    *executions
	background *background
	dispatch   *dispatcher
	peers      *peers
	compared   *comparison
	chores     []Chore
	shared     bool // other processes are at the same database

	dialects Dialects
	zap      *zap.Logger
}

// Dialects has what only a dialect knows; adapter.Dialects implements it.
type Dialects interface {
	// Webhook writes the body of a run's completion hook.
	Webhook(run mapping.Run, out mapping.Outcome, values []byte) ([]byte, error)
	// ArtifactPath returns the path of an artifact's bytes for clients; "": there is none.
	ArtifactPath(agent, taskID, artifactID string) string
}

// ArtifactPath returns the path of the bytes of a task's artifact for clients of an agent; "" where no face serves it.
func (e *Engine) ArtifactPath(agent, taskID, artifactID string) string {
	return e.dialects.ArtifactPath(agent, taskID, artifactID)
}

// Start picks up what an earlier process left behind, and begins to start runs as their turn comes. It returns once the
// first look at pending runs is done, or cannot be done because the disk is full: reading works then, and the
// dispatcher tries again.
func (e *Engine) Start(ctx context.Context) error {
	if e.shared {
		e.peers.renewLease(ctx)
		e.running.spawn(func() { e.peers.keepLease(e.background.root) })
		e.running.spawn(func() { e.peers.listen(e.background.root) })
		e.running.spawn(func() { e.peers.watchStops(e.background.root) })
		e.running.spawn(func() { e.idleClocks.watch(e.background.root) })
	}
	e.running.spawn(func() { e.compared.compare(e.background.root) })
	if err := e.idleClocks.startAll(ctx); err != nil {
		return err
	}
	look := e.dispatch.claimRunnable
	due, err := e.dispatch.resume(ctx)
	if mapping.Classify(err).Class == mapping.StorageFull {
		e.zap.Warn("what an earlier process left behind is picked up when there is room", errField(err))
		look, due, err = e.dispatch.resume, e.dispatch.now().Add(retryDispatch), nil
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
	e.background.stop(errShutdown)
	e.idleClocks.timers.Stop()
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
func (e *Engine) Tracer() *trace.Tracer { return e.background.tracer }

// Beside has a chore done from Start on. It must be called before Start.
func (e *Engine) Beside(c Chore) { e.chores = append(e.chores, c) }

// Live returns how many runs this process is executing.
func (e *Engine) Live() int { return e.running.count() }

var errDraining = mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown,
	"The bridge is shutting down and takes no new runs; try again in a moment.")
