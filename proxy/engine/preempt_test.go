package engine_test

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// TestRunsAreDisplacedAfterACrash covers a process that created a run which interrupts another one and died before it
// stopped that one. The next process stops it, even if it hangs.
func TestRunsAreDisplacedAfterACrash(t *testing.T) {
	t.Parallel()
	for _, strategy := range []mapping.Strategy{mapping.StrategyInterrupt, mapping.StrategyRollback} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			started := make(chan struct{}, 2)
			first := ""
			backend := &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
				if task.Run.ID == first {
					waiting(started)(ctx, task, yield)
					return
				}
				twoSteps(ctx, task, yield)
			}}
			b := setup(t, backend)
			thread := mapping.NewID()
			o := order(thread, mapping.StrategyReject)
			first = o.New.Run.ID
			old := b.begin(t, o)
			<-started
			b.close()

			newer := order(thread, strategy).New
			newer.Run.ThreadID = thread
			made := createdBy(t, b.path, newer)
			again := open(t, b.path, backend)
			if out := again.end(t, made); out.Status != mapping.RunSuccess {
				t.Errorf("the newer run ended %+v", out)
			}
			r, err := again.st.Runs.Get(t.Context(), thread, old.ID)
			if gone := mapping.Classify(err).Class == mapping.NotFound; gone != (strategy == mapping.StrategyRollback) || !gone && r.Status != mapping.RunInterrupted {
				t.Errorf("the older run is %s, %v", r.Status, err)
			}
			if left, err := again.st.Runs.Displaced(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("stop notes left: %+v, %v", left, err)
			}
		})
	}
}

// createdBy creates a run like a process that dies immediately afterwards.
func createdBy(t *testing.T, path string, n *store.CreateRun) mapping.Run {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	c, err := st.Runs.Create(t.Context(), n)
	if err != nil || c.Claimed != nil || len(c.Active) != 1 {
		t.Fatalf("created %+v, %v", c, err)
	}
	return c.Run
}
