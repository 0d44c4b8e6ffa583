package engine_test

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// A claim whose answer was lost leaves a run that this living process holds but does not execute. It is nevertheless
// executed, exactly once.
func TestRunHeldButNotExecutedIsReleased(t *testing.T) {
	t.Parallel()
	b := open(t, storetest.Schema(t), &script{exposes: mapping.ExposesNothing, run: twoSteps})
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Claim = true
	c, err := b.st.Runs.Create(t.Context(), o.New) // bypasses the engine
	if err != nil || c.Claimed == nil {
		t.Fatalf("claimed %v, %v", c.Claimed != nil, err)
	}
	for range 2 {
		if err := b.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the run's success", func() bool { return b.status(t, c.Run) == mapping.RunSuccess })
}

// The answer to a claim takes longer than several comparisons. The run must not be released in that time, or it would
// be executed twice.
func TestClaimInProgressIsNotReleased(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*bench, *testing.T, *engine.StartRequest) mapping.Run{
		"one":   (*bench).begin,
		"batch": (*bench).beginBatch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dsn := storetest.Through(t, storetest.Schema(t))
			b := open(t, dsn, &script{exposes: mapping.ExposesNothing, run: twoSteps})
			b.end(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
			eventually(t, "the first run leaving", func() bool { return b.Live() == 0 })
			o := order(mapping.NewID(), mapping.StrategyReject)
			held := w.HoldAnswer(o.New.Run.ID)
			began := make(chan mapping.Run, 1)
			go func() { began <- begin(b, t, o) }()
			select {
			case <-held:
			case <-t.Context().Done():
			}
			for range 3 {
				if err := b.Compare(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			list, err := b.st.Claims.ListHeld(t.Context())
			if err != nil || len(list) != 1 {
				t.Errorf("%d runs held, want the one being claimed; %v", len(list), err)
			}
			w.Deliver()
			if out := b.end(t, <-began); out.Status != mapping.RunSuccess {
				t.Errorf("the run ended with %s", out.Status)
			}
		})
	}
}

// TestClaimOfAStepInProgressIsNotReleased is the same for the claim of a parked run's next step.
func TestClaimOfAStepInProgressIsNotReleased(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	b := open(t, dsn, lockstep(20))
	r := b.parked(t, b.begin(t, lockstepOrder()))
	continued := make(chan error, 1)
	for !b.holdClaim(t, w, r, continued) { // a renewal of the lease was held back instead
		w.Deliver()
		if err := <-continued; err != nil {
			t.Fatal(err)
		}
		b.parked(t, r)
	}
	for range 3 {
		if err := b.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := b.st.Claims.ListHeld(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%d runs held, want the one being claimed; %v", len(list), err)
	}
	w.Deliver()
	if err := <-continued; err != nil {
		t.Fatal(err)
	}
	b.parked(t, r)
}

// holdClaim continues the run and holds back the answer to the next commit. It reports whether that is the commit of
// the claim.
func (b *bench) holdClaim(t *testing.T, w *storetest.Wire, r mapping.Run, continued chan error) bool {
	t.Helper()
	eventually(t, "the step before leaving", func() bool { return b.Live() == 0 })
	held := w.HoldAnswer("")
	go func() { continued <- b.Continue(t.Context(), r, engine.StepInput{}) }()
	select {
	case <-held:
	case <-t.Context().Done():
	}
	eventually(t, "the claim", func() bool {
		list, err := b.st.Claims.ListHeld(t.Context())
		return err == nil && len(list) == 1 || len(continued) == 1
	})
	return len(continued) == 0
}

func (b *bench) beginBatch(t *testing.T, o *engine.StartRequest) mapping.Run {
	t.Helper()
	c, err := b.BeginAll(t.Context(), []*engine.StartRequest{o})
	if err != nil {
		t.Fatal(err)
	}
	return c[0].Run
}

// A thread held for a state update could not be freed afterwards. The run that waits for it starts nevertheless.
func TestRunStartsAfterAFinishedUpdate(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		b := open(t, fresh(t), &script{exposes: mapping.ExposesNothing, run: twoSteps})
		th, _, err := b.st.Threads.Create(t.Context(), store.ThreadCreation{Thread: mapping.Thread{ID: mapping.NewID()}})
		if err != nil {
			t.Fatal(err)
		}
		token, err := b.st.States.Hold(t.Context(), th.ID, "", store.IdempotencyKey{})
		if err != nil {
			t.Fatal(err)
		}
		r := b.begin(t, order(th.ID, mapping.StrategyReject))
		gone, stop := context.WithCancel(t.Context())
		stop()
		if err := b.st.States.Free(gone, th.ID, token); err == nil {
			t.Fatal("the thread was freed by a cancelled caller")
		}
		if s := b.status(t, r); s != mapping.RunPending {
			t.Fatalf("the run is %s, want pending", s)
		}
		if err := b.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out := b.end(t, r); out.Status != mapping.RunSuccess {
			t.Errorf("the run ended with %s", out.Status)
		}
	})
}
