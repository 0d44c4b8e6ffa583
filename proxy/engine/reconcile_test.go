package engine_test

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestRunHeldAndNotExecutedIsFreed: a claim whose answer was lost leaves a run that this living process holds and does
// not execute. It is executed all the same, once.
func TestRunHeldAndNotExecutedIsFreed(t *testing.T) {
	t.Parallel()
	b := open(t, storetest.Schema(t), &script{exposes: mapping.ExposesNothing, run: twoSteps})
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Claim = true
	c, err := b.st.Runs.Create(t.Context(), o.New) // the engine hears nothing of it
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

// TestClaimUnderWayIsNotTakenForOrphaned: the answer to a claim takes longer than several looks. The run is not handed
// back meanwhile: it would be executed twice.
func TestClaimUnderWayIsNotTakenForOrphaned(t *testing.T) {
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
				t.Errorf("%d runs are held, want the one whose claim is under way; %v", len(list), err)
			}
			w.Deliver()
			if out := b.end(t, <-began); out.Status != mapping.RunSuccess {
				t.Errorf("the run ended with %s", out.Status)
			}
		})
	}
}

// TestStepUnderWayIsNotTakenForOrphaned is the same for the claim of a parked run's next step.
func TestStepUnderWayIsNotTakenForOrphaned(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	b := open(t, dsn, lockstep(20))
	r := b.parked(t, b.begin(t, lockstepOrder()))
	continued := make(chan error, 1)
	for !b.holdClaim(t, w, r, continued) { // a beat of the lease was held back in its place
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
		t.Errorf("%d runs are held, want the one whose claim is under way; %v", len(list), err)
	}
	w.Deliver()
	if err := <-continued; err != nil {
		t.Fatal(err)
	}
	b.parked(t, r)
}

// holdClaim has the run go on, and holds back the answer to the next commit. It reports whether that is the commit of
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

// beginBatch begins a batch of one run.
func (b *bench) beginBatch(t *testing.T, o *engine.StartRequest) mapping.Run {
	t.Helper()
	c, err := b.BeginAll(t.Context(), []*engine.StartRequest{o})
	if err != nil {
		t.Fatal(err)
	}
	return c[0].Run
}

// TestRunAfterAnUpdateThatIsOver: the thread that a state update held could not be freed when it was over. The run that
// waits for that starts all the same.
func TestRunAfterAnUpdateThatIsOver(t *testing.T) {
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
			t.Fatal("it was freed by a caller that is gone")
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
