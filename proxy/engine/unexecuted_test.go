package engine_test

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestRunHeldAndNotExecutedIsFreed: a claim whose answer was lost leaves a run that this
// living process holds and does not execute. It is executed all the same, once.
func TestRunHeldAndNotExecutedIsFreed(t *testing.T) {
	t.Parallel()
	b := open(t, storetest.Schema(t), &script{opaque: true, run: twoSteps})
	o := order(mapping.NewID(), mapping.StrategyReject)
	o.New.Claim = true
	c, err := b.st.CreateRun(t.Context(), o.New) // the engine hears nothing of it
	if err != nil || !c.Claimed {
		t.Fatalf("claimed %v, %v", c.Claimed, err)
	}
	for range 2 {
		if err := b.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the run's success", func() bool { return b.status(t, c.Run) == mapping.RunSuccess })
}

// TestClaimUnderWayIsNotTakenForANobodys: the answer to a claim takes longer than several
// looks. The run is not handed back meanwhile: it would be executed twice.
func TestClaimUnderWayIsNotTakenForANobodys(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	b := open(t, dsn, &script{opaque: true, run: twoSteps})
	b.end(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
	eventually(t, "the first run leaving", func() bool { return b.Live() == 0 })
	o := order(mapping.NewID(), mapping.StrategyReject)
	held := w.HoldAnswer(o.New.Run.ID)
	began := make(chan mapping.Run, 1)
	go func() { began <- b.begin(t, o) }()
	select {
	case <-held:
	case <-t.Context().Done():
	}
	for range 3 {
		if err := b.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.st.Held(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("%d runs are held, want the one whose claim is under way; %v", len(list), err)
	}
	w.Deliver()
	if out := b.end(t, <-began); out.Status != mapping.RunSuccess {
		t.Errorf("the run ended with %s", out.Status)
	}
}
