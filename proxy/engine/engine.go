package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// Engine runs agents: it claims runs, executes them and records what happens. Safe for concurrent use.
type Engine struct {
	store    *store.Store
	log      *eventlog.Log
	memory   *memory.Memory
	dialects adapter.Dialects
	meter    Meter
	tracer   *trace.Tracer // may be nil
	logger   *zap.Logger
	allow    func(ctx context.Context, n int) (giveBack func(n int), err error) // WithRunLimit

	settings atomic.Pointer[settings]
	root     context.Context // for all work outside of requests; ends with errShutdown
	stop     context.CancelCauseFunc

	runs      registry      // executions in this process
	claims    claimTracker  // running claims
	wakeup    wakeup        // of the dispatcher
	lease     *lease        // of this process
	idle      idleTimers    // one for each run whose client requests its steps
	held      reconciler    // the last comparison of held and executed runs
	callBytes atomic.Int64  // bodies of agent calls in memory
	deletions chan struct{} // held while a batch of deleted threads is passed on to agents

	background  []Background
	taskRemoved func(tenant, taskID string) // OnRemoved
}

// Meter counts what the engine does; proxy/metrics implements it. Each RunStarted is followed by one RunEnded, whose
// status may also be "parked" or "handed_over". Its code is that of the failure, or "" if there is none. Runs that were
// never started in this process are not reported.
type Meter interface {
	RunStarted(agent string)
	// RunWaited reports how long a run waited before its first execution.
	RunWaited(agent string, d time.Duration)
	StepTaken(agent string, took time.Duration)
	// EventsLogged counts committed events and the bytes of their data.
	EventsLogged(agent string, events int, bytes int64)
	RunEnded(agent string, status mapping.RunStatus, code string)
}

// Statuses returns the statuses that RunEnded may be called with.
func Statuses() []mapping.RunStatus {
	return []mapping.RunStatus{mapping.RunSuccess, mapping.RunError, mapping.RunTimeout, mapping.RunInterrupted, statusParked, statusHandedOver}
}

// Background is work that runs from Start to Shutdown; package maintenance has examples.
type Background interface {
	// Run returns soon after ctx ends. Shutdown ends ctx once no runs are left and waits for Run to return.
	Run(ctx context.Context)
}

// Option configures an Engine.
type Option func(*Engine)

// WithTracer enables tracing of runs. A nil tracer disables it.
func WithTracer(t *trace.Tracer) Option { return func(e *Engine) { e.tracer = t } }

// WithRunLimit sets a limit for new runs. allow is called before n runs are created for the principal of ctx. giveBack
// is called with the number of runs that were not created.
func WithRunLimit(allow func(ctx context.Context, n int) (giveBack func(n int), err error)) Option {
	return func(e *Engine) { e.allow = allow }
}

// WithAudit uses d as the audit record of background work.
func WithAudit(d *mapping.AuditRecord) Option {
	return func(e *Engine) { e.root = mapping.WithAuditRecord(e.root, d) }
}

// New returns an Engine, which does nothing before Start.
func New(st *store.Store, log *eventlog.Log, cfg *config.Config, agents map[string]*Agent, meter Meter,
	dialects adapter.Dialects, logger *zap.Logger, options ...Option) *Engine {
	root, stop := context.WithCancelCause(context.Background())
	e := &Engine{
		store: st, log: log, dialects: dialects, meter: meter, logger: logger.Named("engine"),
		allow: func(context.Context, int) (func(int), error) { return func(int) {}, nil },
		root:  root, stop: stop,
		wakeup: wakeup{ch: make(chan struct{}, 1)}, lease: newLease(clock.SinceBoot()), deletions: make(chan struct{}, 1),
		taskRemoved: func(string, string) {},
	}
	e.settings.Store(newSettings(cfg, agents, nil))
	e.memory = memory.New(st.Items, st.Threads, st.Runs, st.Secrets, func() config.Auth { return e.Config().Auth })
	for _, o := range options {
		o(e)
	}
	return e
}

// Start recovers the runs that an earlier process left behind and then starts pending runs. It returns after the first
// attempt to start them. If that fails because the disk is full, Start returns no error, since reads still work and the
// dispatcher retries.
func (e *Engine) Start(ctx context.Context) error {
	if e.store.Shared() {
		e.renewLease(ctx)
		e.spawn(e.keepLease)
		e.spawn(e.listen)
		e.spawn(e.watchStops)
		e.spawn(e.watchIdle)
	}
	e.spawn(e.reconcile)
	if err := e.startIdleTimers(ctx, false); err != nil {
		return err
	}
	d := &dispatcher{e: e}
	err := d.look(ctx)
	if mapping.Classify(err).Class == mapping.StorageFull {
		e.logger.Warn("runs of an earlier process resume when there is capacity", errField(err))
		d.due, err = e.store.Now().Add(retryDispatch), nil
	}
	if err != nil {
		return err
	}
	e.spawn(d.run)
	for _, b := range e.background {
		e.spawn(b.Run)
	}
	return nil
}

// spawn runs f with the root context on a goroutine that Shutdown waits for.
func (e *Engine) spawn(f func(ctx context.Context)) { e.runs.spawn(func() { f(e.root) }) }

// Shutdown refuses new runs and waits for running ones until ctx ends. It leaves the rest to the next process.
func (e *Engine) Shutdown(ctx context.Context) {
	e.runs.drain()
	await(ctx, e.runs.all())
	e.stop(errShutdown)
	e.idle.stop()
	e.runs.stop()
	done := make(chan struct{})
	go func() { e.runs.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		e.logger.Warn("some runs did not stop in time; they are resolved at the next start")
	}
}

// await returns when all executions are done or ctx ends.
func await(ctx context.Context, list []*execution) {
	for _, x := range list {
		select {
		case <-x.done:
		case <-ctx.Done():
			return
		}
	}
}

// AddBackground adds work that runs from Start on. It must be called before Start.
func (e *Engine) AddBackground(b Background) { e.background = append(e.background, b) }

// Tracer returns the tracer of WithTracer.
func (e *Engine) Tracer() *trace.Tracer { return e.tracer }

// Live returns the number of runs that this process is executing.
func (e *Engine) Live() int { return e.runs.count() }

// ArtifactPath returns the path of a task's artifact for clients of an agent, or "" if no face serves it.
func (e *Engine) ArtifactPath(agent, taskID, artifactID string) string {
	return e.dialects.ArtifactPath(agent, taskID, artifactID)
}

// runContext returns a context for work on behalf of r. Its spans are children of the run's span or, without a tracer,
// of the request for the run.
func (e *Engine) runContext(ctx context.Context, r *mapping.Run) context.Context {
	at := traceOf(r)
	if e.tracer != nil {
		at = r.Span()
	}
	ctx = mapping.WithHops(ctx, r.Options.Hops)
	ctx = mapping.WithRequestID(ctx, r.Options.RequestID)
	ctx = mapping.WithTrace(ctx, at)
	return mapping.WithPrincipal(ctx, mapping.Principal{ID: r.Owner, Tenant: r.Tenant})
}

var errDraining = mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown,
	"The bridge is shutting down and does not accept new runs; try again in a moment.")
