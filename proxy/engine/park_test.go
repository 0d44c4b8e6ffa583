package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// lockstep makes one step per call, n in total, and echoes the text that it received.
func lockstep(n int) *script {
	s := &script{exposes: mapping.ExposesNothing}
	s.run = func(_ context.Context, t adapter.Assignment, yield func(mapping.Event, error) bool) {
		done := 0
		for _, ev := range t.After {
			if ev.Kind == mapping.KindUpdate {
				done++
			}
		}
		if done == 0 && !yield(linked("up"), nil) {
			return
		}
		said := "nothing"
		if t.StepText != nil {
			said = *t.StepText
		}
		last := done+1 == n
		if !yield(step(t, done+1, fmt.Sprintf("%d %s", done+1, said), last), nil) {
			return
		}
		out := mapping.Outcome{Parked: true}
		if last {
			out = mapping.Outcome{Status: mapping.RunSuccess}
		}
		yield(mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}}, nil)
	}
	return s
}

func lockstepOrder() *engine.StartRequest {
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Run.Options.Stepping = mapping.SteppingLockstep
	return o
}

// parked waits until the run is parked.
func (b *bench) parked(t *testing.T, r mapping.Run) mapping.Run {
	t.Helper()
	fresh, err := b.AwaitInactive(t.Context(), r)
	if err != nil || !fresh.Parked {
		t.Fatalf("the run is %+v, %v; want it parked", fresh, err)
	}
	return fresh
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, deadline := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

func (b *bench) status(t *testing.T, r mapping.Run) mapping.RunStatus {
	t.Helper()
	fresh, err := b.st.Runs.Get(t.Context(), r.ThreadID, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return fresh.Status
}

func TestLockstepRunContinuesStepByStep(t *testing.T) {
	t.Parallel()
	b := setup(t, lockstep(3), func(a *config.Agent) { a.Concurrency = 1 })
	r := b.begin(t, lockstepOrder())
	th := func() mapping.ThreadStatus {
		th, err := b.st.Threads.Get(t.Context(), r.ThreadID)
		if err != nil {
			t.Fatal(err)
		}
		return th.Status
	}
	r = b.parked(t, r)
	if th() != mapping.ThreadInterrupted || b.Live() != 0 {
		t.Errorf("a parked run leaves its thread %s and %d executions", th(), b.Live())
	}
	b.parked(t, b.begin(t, lockstepOrder())) // the agent's only slot is free
	words := "two words"
	if err := b.Continue(t.Context(), r, engine.StepInput{Text: &words}); err != nil {
		t.Fatal(err)
	}
	b.parked(t, r)
	if err := b.Continue(t.Context(), r, engine.StepInput{}); err != nil {
		t.Fatal(err)
	}
	es := b.read(t, r)
	last := es[len(es)-1]
	if last.Head.Outcome.Status != mapping.RunSuccess || th() != mapping.ThreadIdle {
		t.Errorf("outcome %+v, thread %s", last.Head.Outcome, th())
	}
	var outputs []string
	for _, e := range es {
		if e.Head.Step != nil {
			said, _ := rule.StepSaid(&e.Event)
			outputs = append(outputs, string(said))
		}
	}
	if got, want := fmt.Sprint(outputs), `["1 nothing" "2 two words" "3 nothing"]`; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	if err := b.Continue(t.Context(), r, engine.StepInput{}); mapping.Classify(err).Class != mapping.Conflict {
		t.Errorf("a step of an ended run returned %v", err)
	}
}

func TestAParkedRunIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, lockstep(3))
	r := b.parked(t, b.begin(t, lockstepOrder()))
	if err := b.Cancel(t.Context(), &r, engine.Cancellation{}); err != nil {
		t.Fatal(err)
	}
	if out := b.end(t, r); out.Status != mapping.RunInterrupted || !out.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

func TestIdleParkedRunIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, lockstep(3), func(a *config.Agent) { a.Stepping.Idle = 20 * time.Millisecond })
	if out := b.end(t, b.begin(t, lockstepOrder())); !out.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

func TestARunParkedByAnEarlierProcessIsWatched(t *testing.T) {
	t.Parallel()
	b := setup(t, lockstep(3))
	r := b.parked(t, b.begin(t, lockstepOrder()))
	path := b.path
	b.close()
	again := open(t, path, lockstep(3), func(a *config.Agent) { a.Stepping.Idle = 20 * time.Millisecond })
	if out := again.end(t, r); !out.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

// An idle run that cannot be cancelled is cancelled once that is possible.
func TestCancellationOfAnIdleRunIsRetried(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	b := setup(t, lockstep(3), func(a *config.Agent) { a.Stepping.Idle = 20 * time.Millisecond })
	lift := b.fault(t, `BEFORE UPDATE ON runs WHEN NEW.ended_us <> 0`)
	r := b.parked(t, b.begin(t, lockstepOrder()))
	b.StopIdleTimer(r.ID)
	b.IdleOver(r)
	if got := b.status(t, r); got != mapping.RunRunning {
		t.Fatalf("the run is %s though its end could not be written", got)
	}
	lift()
	eventually(t, "it is cancelled", func() bool { return b.status(t, r) == mapping.RunInterrupted })
}

// shared returns two engines over one database, of which the second has a very short idle timeout.
func shared(t *testing.T, backend *script) (here, there *bench) {
	t.Helper()
	here = setup(t, backend)
	if !here.st.Shared() {
		t.Skip("several processes can share only a PostgreSQL database")
	}
	return here, open(t, here.path, lockstep(3), func(a *config.Agent) { a.Stepping.Idle = time.Millisecond })
}

func TestRunParkedByADeadProcessIsWatched(t *testing.T) {
	t.Parallel()
	here, there := shared(t, lockstep(3))
	r := here.parked(t, here.begin(t, lockstepOrder()))
	here.close()
	if err := there.WatchIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := there.end(t, r); !out.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

// The timer of the process that parked a run does not know that the client has continued with another process.
func TestRunServedElsewhereIsNotIdle(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	here, there := shared(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)})
	r := here.begin(t, lockstepOrder())
	<-started
	there.IdleOver(r)
	if got := here.status(t, r); got != mapping.RunRunning {
		t.Errorf("the run is %s", got)
	}
	here.close()
}

func TestAFreeRunWithoutAClientIsCancelled(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: waiting(started)}, func(a *config.Agent) { a.Stepping.Idle = 30 * time.Millisecond })
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	b.StartIdleTimer(r)
	b.StopIdleTimer(r.ID) // in time
	b.StartIdleTimer(r)
	if out := b.end(t, r); !out.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

// A cancellation ends a run at any point between two steps.
func TestCancelDuringParking(t *testing.T) {
	t.Parallel()
	b := setup(t, lockstep(1000))
	for range 40 {
		r := b.begin(t, lockstepOrder())
		var both sync.WaitGroup
		both.Go(func() {
			for range 3 {
				fresh, err := b.AwaitInactive(t.Context(), r)
				if err != nil || !fresh.Parked || b.Continue(t.Context(), fresh, engine.StepInput{}) != nil {
					return
				}
			}
		})
		if err := b.Cancel(t.Context(), &r, engine.Cancellation{}); err != nil {
			t.Fatalf("cancel returned %v", err)
		}
		both.Wait()
		if out := b.end(t, r); !out.Cancelled {
			t.Fatalf("outcome %+v", out)
		}
		if th, err := b.st.Threads.Get(t.Context(), r.ThreadID); err != nil || th.Status != mapping.ThreadIdle {
			t.Fatalf("thread %s, %v", th.Status, err)
		}
	}
	if b.Live() != 0 {
		t.Errorf("%d executions left", b.Live())
	}
}

// An asynchronous cancellation coincides with the end of a step: the run ends instead of being parked.
func TestCancelSoonDuringParking(t *testing.T) {
	t.Parallel()
	running := make(chan func(), 1)
	steps := lockstep(3)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		steps.run(ctx, task, func(ev mapping.Event, err error) bool {
			if ev.Kind == mapping.KindEnd {
				(<-running)()
			}
			return yield(ev, err)
		})
	}})
	r := b.begin(t, lockstepOrder())
	running <- func() {
		if err := b.CancelSoon(t.Context(), &r, engine.Cancellation{}); err != nil {
			t.Error(err)
		}
	}
	if out := b.end(t, r); !out.Cancelled {
		t.Errorf("outcome %+v", out)
	}
}

func TestAParkedRunSurvivesARestart(t *testing.T) {
	t.Parallel()
	b := setup(t, lockstep(2))
	r := b.parked(t, b.begin(t, lockstepOrder()))
	path := b.path
	b.close()
	again := open(t, path, lockstep(2))
	if n := again.Live(); n != 0 {
		t.Errorf("%d executions after a restart: a parked run waits for its client", n)
	}
	words := "go"
	if err := again.Continue(t.Context(), r, engine.StepInput{Text: &words}); err != nil {
		t.Fatal(err)
	}
	es := again.read(t, r)
	var m struct{ Content json.RawMessage }
	messages := es[len(es)-1].After.Messages()
	_ = json.Unmarshal(messages[len(messages)-1], &m)
	if string(m.Content) != `"2 go"` {
		t.Errorf("the last message is %s", m.Content)
	}
}
