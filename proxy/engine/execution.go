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

// execution is one run being executed by this process. Its goroutine is the only one that touches it, but for cancel
// and done.
type execution struct {
	*store.Claimed // which nothing else has, without Logged
	works          *works
	agent          *Agent
	began          time.Time // when this execution did
	say            *string   // StartRequest.Say
	alone          bool      // the thread was made with this run
	next           *Next     // StartRequest.further
	token          memory.Token
	input          *rule.Input        // StartRequest.Input, until the agent is given it
	recalls        *memory.Recalled   // StartRequest.Recalled, until the agent is given it
	told           []mapping.ItemName // what the agent is told of it, until that is logged
	span           *trace.Run         // nil: none is made
	calls          *callLog

	cancel context.CancelCauseFunc
	departure

	results int       // updates of the agent that were taken
	stepped time.Time // when the newest of them was, or the attempt began

	buffer *eventlog.RunBuffer
	rec    *recorder
}

// launcher makes executions. Safe for concurrent use.
type launcher struct{ works *works }

// launch starts the execution of a claimed run, on a goroutine of its own, which has c from then on. The agent's slot
// is held.
func (l *launcher) launch(agent *Agent, c *store.Claimed, o *StartRequest) {
	if x, work := l.register(agent, c, o); x != nil {
		go work()
	}
}

// register makes the execution of a claimed run known; a call of work, which executes it, must follow. x is nil when
// the engine has stopped.
func (l *launcher) register(agent *Agent, c *store.Claimed, o *StartRequest) (x *execution, work func()) {
	scope := mapping.WithRequestID(l.works.background.of(&c.Run), o.requestID)
	ctx, cancel := context.WithCancelCause(scope)
	x = &execution{
		works: l.works, agent: agent, Claimed: c, began: time.Now(), say: o.Say, input: o.Input, recalls: o.Recalled,
		alone: o.New != nil && o.New.MustNotExist, next: o.further, cancel: cancel, calls: l.works.exits.calls.newCallLog(),
	}
	x.departure = departure{x: x, done: make(chan struct{}), stalled: make(chan struct{})}
	x.buffer = l.works.log.Acquire(&c.Run) // before the run is known anywhere: its readers wait for us
	if !l.works.exits.running.enlist(x) {
		cancel(errShutdown) // it stays claimed: the next process takes it over
		l.works.log.Release(x.buffer)
		agent.release()
		return nil, nil
	}
	l.works.log.WakeThread(c.Run.ThreadID) // it may be a while until something is logged of it
	ctx = adapter.WithCallKeeper(adapter.WithPermit(account{x}.traced(ctx, o), x.stillHolds), x.calls)
	account{x}.countLaunch()
	account{x}.logLaunch()
	logged := c.Logged
	c.Logged = nil // it does not live as long as the run
	return x, func() { x.work(ctx, logged) }
}

// work executes the run and leaves the process in order, whatever happened.
func (x *execution) work(ctx context.Context, logged []mapping.Event) {
	defer x.cancel(nil)
	ctx, stop := x.withTimeout(ctx)
	defer stop()
	out, err := x.contained(ctx, logged)
	x.depart(ctx, out, err)
}

// withTimeout ends ctx run_timeout after the start of the run, whichever process that was. A lockstep run, which waits
// for its client in between, has that time for each step.
func (x *execution) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	t := x.agent.Config.RunTimeout
	if t <= 0 {
		return ctx, func() {}
	}
	if x.Taken && !x.oneStep() {
		t -= max(0, x.Running) // below 0 only where the clock was set back
	}
	return context.WithTimeoutCause(ctx, t, errTimeout)
}

// contained is execute whose panic is the failure of this run, not of all.
func (x *execution) contained(ctx context.Context, logged []mapping.Event) (out *mapping.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			x.works.reports.zap.Error("a run panicked", zap.Any("panic", p), zap.Stack("stack"), runField(x.Run.ID), agentField(x.agent.Name))
			out, err = nil, mapping.Errorf(mapping.Internal, mapping.CodeInternal,
				"The bridge itself failed while it drove agent %s. Its log has the cause.", x.agent.Name)
		}
	}()
	return x.execute(ctx, logged)
}

// execute drives the backend, again where the run may be retried. It returns the outcome the backend named, or why
// there is none.
func (x *execution) execute(ctx context.Context, logged []mapping.Event) (*mapping.Outcome, error) {
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
		if err := x.tryAgain(ctx, failed); err != nil {
			return nil, err
		}
	}
}

// attempt executes the run once.
func (x *execution) attempt(ctx context.Context, logged []mapping.Event) (*mapping.Outcome, error) {
	x.stepped = time.Now()
	events, err := x.assign(ctx, logged)
	if err != nil {
		return nil, err
	}
	return x.consume(ctx, events)
}

// assign gives the backend what it is to do. An agent that is known is sent nothing before the events are ranged over.
func (x *execution) assign(ctx context.Context, logged []mapping.Event) (iter.Seq2[mapping.Event, error], error) {
	if err := x.logStart(logged); err != nil {
		return nil, err
	}
	backend, traits, err := x.agent.Backend(ctx)
	if err != nil {
		return nil, err
	}
	x.rec.opaque = traits.Opaque
	if x.endsAtOnce() {
		return x.gotoEnd(), nil
	}
	if err := x.logInput(ctx, logged, traits); err != nil {
		return nil, err
	}
	t, err := assignment{x}.build(ctx, traits, logged)
	if err != nil {
		return nil, err
	}
	return backend.Run(ctx, t), nil
}

// resume folds what is logged and takes the run's buffer over.
func (x *execution) resume(ctx context.Context, logged []mapping.Event) error {
	// Also for a run that is cancelled already: its end stands on its start.
	base, err := x.works.log.Base(context.WithoutCancel(ctx), x.Run.ThreadID, x.Run.Base)
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

// logStart logs the start of a run that was not claimed at its creation.
func (x *execution) logStart(logged []mapping.Event) error {
	if has(logged, mapping.KindStarted) {
		return nil
	}
	ev := startedEvent(&x.Run)
	ev.At = x.works.now()
	return x.rec.add(&ev)
}

// logInput logs the input of a run that was not claimed at its creation.
func (x *execution) logInput(ctx context.Context, logged []mapping.Event, traits adapter.Traits) error {
	if !traits.Opaque || has(logged, mapping.KindInput) || has(logged, mapping.KindLinked) {
		return nil
	}
	ev, err := inputEvent(&x.Run, x.input)
	if err != nil || ev == nil {
		return err
	}
	if err := x.attach(ctx, ev); err != nil {
		return err
	}
	if x.Run.Base == "" && !has(logged, mapping.KindState) {
		err = x.rec.add(rootEvent(&x.Run))
	}
	if err == nil {
		err = x.rec.add(ev)
	}
	if err != nil {
		return err
	}
	x.rec.app.drain() // its files are what the backend uploads
	return nil
}

func has(logged []mapping.Event, k mapping.Kind) bool {
	return slices.ContainsFunc(logged, func(ev mapping.Event) bool { return ev.Kind == k })
}

// consume consumes the backend's events until the end.
func (x *execution) consume(ctx context.Context, events iter.Seq2[mapping.Event, error]) (*mapping.Outcome, error) {
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
			x.rec.agree(&ev)
			return ev.Head.Outcome, nil
		}
		x.token.HideIn(&ev)
		x.noteTold(&ev)
		failpoint.Hit(failpoint.EventTaken)
		if ev.Kind == mapping.KindUpdate && ev.Head.Step != nil && x.agent.Config.Memory.Writes {
			x.remember(ctx, &ev)
		}
		if err := x.rec.add(&ev); err != nil {
			return nil, err
		}
		if ev.Kind == mapping.KindUpdate {
			account{x}.countResult()
		}
		failpoint.Hit(failpoint.EventQueued)
		if err := x.rec.refused(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
