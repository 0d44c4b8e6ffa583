package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// TestStepsOfASlowAgentAreDurableBeforeTheNextOne: the backend asks the store
// itself what is logged when it would ask for the next step.
func TestStepsOfASlowAgentAreDurableBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	var b *bench
	var took time.Duration
	var missing int
	s := &script{opaque: true}
	s.run = func(ctx context.Context, task adapter.Task, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		for n := 1; n < 4; n++ {
			<-time.After(took) // the time of an agent's step is what is tested
			if !yield(step(task, n, "x", false), nil) {
				return
			}
			evs, err := b.st.Events(ctx, task.Run.ThreadID, task.Run.ID, 0, 0)
			if err != nil || len(evs) == 0 || evs[len(evs)-1].Kind != mapping.KindUpdate {
				missing++
			}
		}
		_ = yield(step(task, 4, "x", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
	b = setup(t, s)
	run := func() (ahead bool) {
		es := b.read(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
		return es[0].Head.Ahead
	}
	took = 40 * time.Millisecond
	if run() || missing != 0 {
		t.Errorf("the first run of an agent ran ahead; %d steps were not durable in time", missing)
	}
	if run() || missing != 0 {
		t.Errorf("a slow agent's run ran ahead; %d steps were not durable in time", missing)
	}
	took = 0
	for range 20 {
		run()
	}
	if !run() {
		t.Error("a quick agent's run says that it does not run ahead of its log")
	}
}
