package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

func TestTheQueueIsLimited(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)}, func(a *config.Agent) { a.Concurrency, a.Queue = 1, 2 })
	first := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	for range 2 {
		b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	}
	thread := mapping.NewID()
	_, err := b.Begin(t.Context(), order(thread, mapping.StrategyReject))
	if e := mapping.Classify(err); e.Class != mapping.Limited || e.Code != mapping.CodeQueueFull {
		t.Fatalf("one run too many returned %v", err)
	}
	if _, err := b.st.Threads.Get(t.Context(), thread); mapping.Classify(err).Class != mapping.NotFound {
		t.Errorf("a refused run left its thread: %v", err)
	}
	if err := b.Cancel(t.Context(), &first, engine.Cancellation{}); err != nil {
		t.Fatal(err)
	}
	<-started // the next run starts
}

func TestADelayedRunStartsWhenItIsDue(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Run.RunAfter = time.Now().Add(2 * time.Second)
	r := b.begin(t, o)
	if r.Status != mapping.RunPending {
		t.Fatalf("a delayed run is %s", r.Status)
	}
	es := b.read(t, r)
	if at := es[0].At; at.Before(o.New.Run.RunAfter.Truncate(time.Microsecond)) {
		t.Errorf("it began at %v, due at %v", at, o.New.Run.RunAfter)
	}
	if out := es[len(es)-1].Head.Outcome; out.Status != mapping.RunSuccess {
		t.Errorf("outcome %+v", out)
	}
}

// Runs that an earlier process left in the queue of one thread start one after the other, although this process has
// queued none.
func TestAQueueSurvivesARestart(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	thread := mapping.NewID()
	runs := []mapping.Run{b.begin(t, order(thread, mapping.StrategyReject))}
	<-started
	for range 3 {
		runs = append(runs, b.begin(t, order(thread, mapping.StrategyEnqueue)))
	}
	path := b.path
	b.close()
	again := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	for i, r := range runs {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		n := 0
		for e, err := range again.log.Follow(ctx, &r, 0, nil) {
			if err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
			if e.Kind == mapping.KindStarted {
				n++
			}
		}
		stop()
		if n != 1 {
			t.Errorf("run %d has %d starts", i, n)
		}
	}
}

func TestRunOfARemovedAgentEnds(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	path := b.path
	b.close()
	again := openAs(t, "other", path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	if out := again.end(t, r); out.Status != mapping.RunError || out.Fault.Code != mapping.CodeAgentNotFound {
		t.Errorf("outcome %+v", out)
	}
}

func TestShutdownWaitsForRunsWithinItsGrace(t *testing.T) {
	t.Parallel()
	s, goOn := stepping(1)
	b := setup(t, s)
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		b.Shutdown(ctx)
	}()
	eventually(t, "new runs being refused", func() bool {
		c, err := b.Begin(t.Context(), order(mapping.NewID(), mapping.StrategyReject))
		if err == nil {
			_ = b.Cancel(t.Context(), &c.Run, engine.Cancellation{})
		}
		return mapping.Classify(err).Class == mapping.Unavailable
	})
	goOn <- struct{}{}
	<-done
	if s := b.status(t, r); s != mapping.RunSuccess {
		t.Errorf("the run is %s", s)
	}
}

func TestShutdownDoesNotWaitForARunThatHangs(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	b.Shutdown(ctx)
	if s := b.status(t, r); s != mapping.RunRunning {
		t.Errorf("the run is %s, want it handed over as running", s)
	}
	if c, _, err := b.st.Claims.ClaimNext(t.Context(), nil); err != nil || c == nil || c.Run.ID != r.ID || !c.Taken {
		t.Errorf("the next process would get %+v, %v", c, err)
	}
}

func TestRunWithAKnownOutcomeIsNotHandedOver(t *testing.T) {
	t.Parallel()
	started, goOn := make(chan struct{}, 1), make(chan struct{})
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		started <- struct{}{}
		<-ctx.Done()
		<-goOn
		twoSteps(ctx, task, yield)
	}})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	time.AfterFunc(20*time.Millisecond, func() { close(goOn) })
	b.Shutdown(cancelledContext())
	if s := b.status(t, r); s != mapping.RunSuccess {
		t.Errorf("the run is %s", s)
	}
}

func cancelledContext() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}
