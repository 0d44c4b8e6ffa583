package engine

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/trace"
	"go.uber.org/zap"
)

// execution is one run executed by this process. Only its goroutine uses it, except for cancel, done and stalled.
type execution struct {
	*store.Claimed // owned by the execution; run takes Logged out
	e              *Engine
	store          *store.Store // of e
	agent          *Agent
	calls          *callLog
	span           *trace.Run // nil without tracing
	cancel         context.CancelCauseFunc

	// Input of the backend.
	text          *string            // StartRequest.Text
	next          *StepInput         // StartRequest.next
	newThread     bool               // the thread was created with this run
	input         *rule.Input        // StartRequest.Input, until it is passed on
	recalled      *memory.Recalled   // StartRequest.Recalled, until it is passed on
	recalledItems []mapping.ItemName // items passed to the agent, until that is logged
	token         memory.Token

	buffer  *eventlog.RunBuffer
	rec     *recorder // nil until the run's state is read
	began   time.Time // start of this execution
	results int       // updates of the agent so far
	stepped time.Time // time of the newest update, or start of the attempt

	// The end. These are also written by the goroutine of an endWriter that continues after a stall.
	done     chan struct{}
	outcome  mapping.Outcome // valid once done is closed
	stalled  chan struct{}   // closed when the end could not be written for a while
	stallErr error           // why; valid once stalled is closed
}

// start starts the execution of a claimed run on its own goroutine, which then owns c. The caller holds a slot of the
// agent.
func (e *Engine) start(agent *Agent, c *store.Claimed, o *StartRequest) {
	if x, ctx := e.newExecution(agent, c, o); x != nil {
		go x.run(ctx)
	}
}

// newExecution registers the execution of a claimed run. The caller must then call run with the returned context. x is
// nil if the engine has stopped.
func (e *Engine) newExecution(agent *Agent, c *store.Claimed, o *StartRequest) (x *execution, ctx context.Context) {
	ctx, cancel := context.WithCancelCause(mapping.WithRequestID(e.runContext(e.root, &c.Run), o.requestID))
	x = &execution{
		Claimed: c, e: e, store: e.store, agent: agent, calls: e.newCallLog(), cancel: cancel,
		text: o.Text, next: o.next, newThread: o.New != nil && o.New.MustNotExist, input: o.Input, recalled: o.Recalled,
		began: time.Now(), done: make(chan struct{}), stalled: make(chan struct{}),
	}
	x.buffer = e.log.Acquire(&c.Run) // before the run is registered, since its readers wait for the execution
	if !e.runs.add(x) {
		cancel(errShutdown) // the run stays claimed; the next process picks it up
		e.log.Release(x.buffer)
		agent.slots.release()
		return nil, nil
	}
	e.log.WakeThread(c.Run.ThreadID) // nothing of the run may be logged for a while
	ctx = x.reportStart(ctx, o)
	return x, adapter.WithCallKeeper(adapter.WithPermit(ctx, x.stillHolds), x.calls)
}

// run executes the run and releases what it holds, whatever happens.
func (x *execution) run(ctx context.Context) {
	defer x.cancel(nil)
	ctx, stop := x.withTimeout(ctx)
	defer stop()
	logged := x.Logged
	x.Logged = nil // frees it before the run ends
	out, err := x.execute(ctx, logged)
	x.finish(ctx, out, err)
}

// withTimeout returns a context that ends run_timeout after the run has started, in this or another process. A lockstep
// run waits for its client between steps, so the limit applies to each step.
func (x *execution) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	t := x.agent.Config.RunTimeout
	if t <= 0 {
		return ctx, func() {}
	}
	if x.Taken && !x.oneStep() {
		t -= max(0, x.Running) // below 0 only if the clock was set back
	}
	return context.WithTimeoutCause(ctx, t, errTimeout)
}

// execute drives the backend, repeatedly if the run may be retried. It returns the outcome reported by the backend, or
// an error if there is none. A panic fails only this run.
func (x *execution) execute(ctx context.Context, logged []mapping.Event) (out *mapping.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			x.e.logger.Error("run panicked", zap.Any("panic", p), zap.Stack("stack"), runField(x.Run.ID), agentField(x.agent.Name))
			out, err = nil, mapping.Errorf(mapping.Internal, mapping.CodeInternal,
				"The bridge itself failed while running agent %s. See its log for the cause.", x.agent.Name)
		}
	}()
	if err := x.resume(ctx, logged); err != nil {
		return nil, err
	}
	for {
		out, err := x.attempt(ctx, logged)
		if !x.again(ctx, out, err) {
			return out, err
		}
		failed := failure(out, err)
		if logged, err = x.restart(ctx); err != nil {
			return nil, err
		}
		if err := x.pauseBeforeRetry(ctx, failed); err != nil {
			return nil, err
		}
	}
}

// attempt executes the run once.
func (x *execution) attempt(ctx context.Context, logged []mapping.Event) (*mapping.Outcome, error) {
	x.stepped = time.Now()
	events, err := x.prepare(ctx, logged)
	if err != nil {
		return nil, err
	}
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		if err := x.stillHolds(); err != nil {
			return nil, err
		}
		if err := mapping.CheckNames(&ev); err != nil {
			return nil, err
		}
		if ev.Kind == mapping.KindEnd {
			if ev.Head.Link != nil {
				x.rec.addLink(&ev) // it is written with the end
			}
			return ev.Head.Outcome, nil
		}
		if err := x.take(ctx, &ev); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// take records one event of the backend. It returns an error if the run must not continue.
func (x *execution) take(ctx context.Context, ev *mapping.Event) error {
	x.token.HideIn(ev)
	if ev.Kind == mapping.KindLinked {
		ev.Head.Recalled, x.recalledItems = x.recalledItems, nil
	}
	failpoint.Hit(failpoint.EventTaken)
	if ev.Kind == mapping.KindUpdate && ev.Head.Step != nil && x.agent.Config.Memory.AllowWrites {
		x.remember(ctx, ev)
	}
	if err := x.rec.record(ev); err != nil {
		return err
	}
	if ev.Kind == mapping.KindUpdate {
		x.countResult()
	}
	failpoint.Hit(failpoint.EventQueued)
	return x.rec.fault
}

// prepare logs the start and the input of the run unless that was done at its creation, and returns the events of the
// backend. An agent of a known dialect receives nothing before the iteration starts.
func (x *execution) prepare(ctx context.Context, logged []mapping.Event) (iter.Seq2[mapping.Event, error], error) {
	if !has(logged, mapping.KindStarted) {
		ev := startedEvent(&x.Run, x.store.Now())
		if err := x.rec.record(&ev); err != nil {
			return nil, err
		}
	}
	backend, traits, err := x.agent.Backend(ctx)
	if err != nil {
		return nil, err
	}
	x.rec.exposes = traits.Exposes
	if x.endsAtOnce() {
		return x.gotoEnd(), nil
	}
	if err := x.logInput(ctx, logged, traits); err != nil {
		return nil, err
	}
	t, err := x.assignment(ctx, traits, logged)
	if err != nil {
		return nil, err
	}
	return backend.Run(ctx, t), nil
}

// resume folds the logged events and begins the run's buffer.
func (x *execution) resume(ctx context.Context, logged []mapping.Event) error {
	// Also for a cancelled run, since its end builds on its start.
	base, err := x.e.log.Base(context.WithoutCancel(ctx), x.Run.ThreadID, x.Run.Base)
	if err != nil {
		return err
	}
	entries, err := eventlog.Fold(base, logged)
	if err != nil {
		return err
	}
	x.buffer.Begin(base, entries)
	fold := base
	if n := len(entries); n > 0 {
		fold = entries[n-1].After
	}
	x.rec = newRecorder(x, fold, logged)
	return nil
}

// logInput logs the input of a run that was not claimed at its creation.
func (x *execution) logInput(ctx context.Context, logged []mapping.Event, traits adapter.Traits) error {
	if traits.Exposes.ReportsState() || has(logged, mapping.KindInput) || has(logged, mapping.KindLinked) {
		return nil
	}
	now := x.store.Now()
	ev, err := inputEvent(&x.Run, x.input, now)
	if err != nil || ev == nil {
		return err
	}
	if err := x.attach(ctx, ev); err != nil {
		return err
	}
	if x.Run.Base == "" && !has(logged, mapping.KindState) {
		err = x.rec.record(rootEvent(&x.Run, now))
	}
	if err == nil {
		err = x.rec.record(ev)
	}
	if err != nil {
		return err
	}
	x.rec.writer.drain() // the backend uploads its files
	return nil
}

func has(logged []mapping.Event, k mapping.Kind) bool {
	return slices.ContainsFunc(logged, func(ev mapping.Event) bool { return ev.Kind == k })
}

// endsAtOnce reports whether the run jumps to the end of the graph that represents an opaque agent (command.goto
// "__end__"). Its start drops the open question, and the agent receives nothing. No other goto reaches such an agent.
func (x *execution) endsAtOnce() bool {
	return !x.rec.exposes.ReportsState() && len(x.Run.Options.Goto) > 0
}

// gotoEnd returns the events of such a run. Its checkpoint has no next node.
func (x *execution) gotoEnd() iter.Seq2[mapping.Event, error] {
	x.rec.dirty = true
	return func(yield func(mapping.Event, error) bool) {
		yield(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}, nil)
	}
}

// oneStep reports whether the run is a lockstep run, which stops after each step, including its first step after a
// restart.
func (x *execution) oneStep() bool {
	return x.Run.Options.Stepping == mapping.SteppingLockstep
}
