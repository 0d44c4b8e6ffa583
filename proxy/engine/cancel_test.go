package engine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

func TestCancelOfAQueuedRun(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 2)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	thread := mapping.NewID()
	first := b.begin(t, order(thread, mapping.StrategyReject))
	<-started
	queued := b.begin(t, order(thread, mapping.StrategyEnqueue))
	delayed := order(mapping.NewID(), mapping.StrategyReject)
	delayed.New.Run.RunAfter = time.Now().Add(time.Hour)
	later := b.begin(t, delayed)
	for _, r := range []mapping.Run{queued, later} {
		if r.Status != mapping.RunPending {
			t.Fatalf("the run is %s", r.Status)
		}
		if err := b.Cancel(t.Context(), &r, engine.Cancellation{}); err != nil {
			t.Fatal(err)
		}
		if out := b.end(t, r); out.Status != mapping.RunInterrupted || !out.Cancelled {
			t.Errorf("outcome %+v", out)
		}
	}
	if s := b.status(t, first); s != mapping.RunRunning {
		t.Errorf("the run before is %s", s)
	}
	if err := b.Cancel(t.Context(), &first, engine.Cancellation{Rollback: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.st.Runs.Get(t.Context(), thread, first.ID); mapping.Classify(err).Class != mapping.NotFound {
		t.Errorf("a rolled-back run still exists: %v", err)
	}
}

// Whichever wins, there is only one end, the canceller gets it, and the thread is free.
func TestCancelRacesTheEnd(t *testing.T) {
	t.Parallel()
	var n int
	var mu sync.Mutex
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		mu.Lock()
		n++
		spin := n % 40 * 500
		mu.Unlock()
		for i := range spin {
			if i%500 == 0 && ctx.Err() != nil {
				yield(mapping.Event{}, context.Cause(ctx))
				return
			}
		}
		twoSteps(ctx, task, yield)
	}})
	told := map[bool]int{}
	for range 150 {
		r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		err := b.Cancel(t.Context(), &r, engine.Cancellation{})
		if err != nil && mapping.Classify(err).Class != mapping.Conflict {
			t.Fatalf("cancel returned %v", err)
		}
		ends := 0
		var out mapping.Outcome
		for _, e := range b.read(t, r) {
			if e.Kind == mapping.KindEnd {
				ends++
				out = *e.Head.Outcome
			}
		}
		if ends != 1 || out.Cancelled != (err == nil) {
			t.Fatalf("%d ends, the last %+v; cancel returned %v", ends, out, err)
		}
		told[out.Cancelled]++
		if th, err := b.st.Threads.Get(t.Context(), r.ThreadID); err != nil || th.Status != mapping.ThreadIdle {
			t.Fatalf("thread %s, %v", th.Status, err)
		}
	}
	t.Logf("%d cancelled, %d ended before", told[true], told[false])
}

// The dispatcher may claim a run at the moment it is cancelled.
func TestCancelRacesTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: twoSteps}, func(a *config.Agent) { a.Concurrency = 2 })
	for range 40 {
		thread := mapping.NewID()
		first := b.begin(t, order(thread, mapping.StrategyReject))
		c, err := b.Begin(t.Context(), order(thread, mapping.StrategyEnqueue))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		if err := b.Cancel(ctx, &c.Run, engine.Cancellation{}); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			t.Fatalf("cancel returned %v", err)
		}
		stop()
		b.end(t, first)
		b.end(t, c.Run)
	}
}

func TestRollbackRestoresTheThread(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	s := &script{exposes: mapping.ExposesNothing, run: twoSteps}
	b := setup(t, s)
	thread := mapping.NewID()
	b.end(t, b.begin(t, order(thread, mapping.StrategyReject)))
	before, err := b.st.Threads.Get(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if yield(linked("up"), nil) && yield(step(task, 1, "half", false), nil) {
			waiting(started)(ctx, task, yield)
		}
	}
	half := b.begin(t, order(thread, mapping.StrategyReject))
	<-started
	s.run = twoSteps
	c, err := b.Begin(t.Context(), order(thread, mapping.StrategyRollback))
	if err != nil {
		t.Fatal(err)
	}
	es := b.read(t, c.Run)
	if got, want := len(es[len(es)-1].After.Messages()), 6; got != want {
		t.Errorf("%d messages, want %d: those of the previous run and of this one", got, want)
	}
	if fresh, err := b.st.Runs.Get(t.Context(), thread, c.Run.ID); err != nil || fresh.Base != before.Head {
		t.Errorf("it began at %q, want %q (%v)", fresh.Base, before.Head, err)
	}
	if _, err := b.st.Runs.Get(t.Context(), thread, half.ID); mapping.Classify(err).Class != mapping.NotFound {
		t.Errorf("the displaced run still exists: %v", err)
	}
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)}, func(a *config.Agent) { a.RunTimeout = 500 * time.Millisecond })
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	out := b.end(t, r)
	if out.Status != mapping.RunTimeout || out.Fault == nil || out.Fault.Code != mapping.CodeRunTimeout {
		t.Errorf("outcome %+v", out)
	}
	if th, _ := b.st.Threads.Get(t.Context(), r.ThreadID); th.Status != mapping.ThreadError {
		t.Errorf("thread %s", th.Status)
	}
}

func TestBackendsThatMisbehave(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, adapter.Assignment, func(mapping.Event, error) bool){
		"stops without an end": func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
			yield(linked("up"), nil)
		},
		"panics": func(context.Context, adapter.Assignment, func(mapping.Event, error) bool) {
			panic("an index out of range")
		},
		"sends a state that is not an object": func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
			yield(mapping.Event{Kind: mapping.KindState, Data: []byte(`[1]`), Head: mapping.Head{Full: true}}, nil)
		},
		"ends with nothing": func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
			yield(mapping.Event{Kind: mapping.KindEnd}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &script{exposes: mapping.ExposesNothing, run: run})
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			out := b.end(t, r)
			if out.Status != mapping.RunError || out.Fault == nil || out.Fault.Message == "" {
				t.Errorf("outcome %+v", out)
			}
			if th, _ := b.st.Threads.Get(t.Context(), r.ThreadID); th.Status != mapping.ThreadError {
				t.Errorf("thread %s", th.Status)
			}
		})
	}
}

// told is a backend that can pass on a cancellation.
type told struct {
	*script
	cancelled atomic.Int64
}

var _ adapter.Canceler = (*told)(nil)

func (b *told) Cancel(context.Context, mapping.Link, string) error {
	b.cancelled.Add(1)
	return nil
}

// TestAgentIsNotInformedOfTheCancelOfAQueuedRun checks that the agent is not informed: it does not know the run and
// would stop the previous one.
func TestAgentIsNotInformedOfTheCancelOfAQueuedRun(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	backend := &told{script: &script{run: waiting(started)}}
	b := open(t, blank.DSN(t), backend)
	thread := mapping.NewID()
	first := b.begin(t, order(thread, mapping.StrategyReject))
	<-started
	for e, err := range b.log.Follow(t.Context(), &first, 0, nil) { // waits until the agent's run is linked
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == mapping.KindLinked {
			break
		}
	}
	for range 3 {
		if err := b.Cancel(t.Context(), new(b.begin(t, order(thread, mapping.StrategyEnqueue))), engine.Cancellation{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Cancel(t.Context(), &first, engine.Cancellation{}); err != nil {
		t.Fatal(err)
	}
	b.close() // waits for the cancellation to be passed on
	if n := backend.cancelled.Load(); n != 1 {
		t.Errorf("the agent received %d cancellations, want 1", n)
	}
}
