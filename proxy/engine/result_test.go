package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// When the backend makes its next call, the log contains the result of the previous one, however long that took and
// whether or not the run is followed. The backend itself reads the log.
func TestEachResultIsCommittedBeforeTheNextCall(t *testing.T) {
	t.Parallel()
	var b *bench
	var took time.Duration
	var missing int
	s := &script{exposes: mapping.ExposesNothing}
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		look := func(want mapping.Kind) {
			evs, err := b.st.Events.List(ctx, task.Run.ThreadID, task.Run.ID, 0, 0)
			if err != nil || len(evs) == 0 || evs[len(evs)-1].Kind != want {
				missing++
			}
		}
		_ = yield(linked("up"), nil)
		look(mapping.KindLinked)
		for n := 1; n < 4; n++ {
			<-time.After(took) // the duration of an agent's step is what is tested
			if !yield(step(task, n, "x", false), nil) {
				return
			}
			look(mapping.KindUpdate)
		}
		_ = yield(step(task, 4, "x", true), nil) && yield(ended(mapping.RunSuccess), nil)
	}
	b = setup(t, s)
	for range 20 {
		for _, follows := range []bool{true, false} {
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			if follows {
				b.read(t, r)
			}
			if _, err := b.log.End(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	took = 40 * time.Millisecond
	b.read(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
	if missing != 0 {
		t.Errorf("%d results were not committed before the next call", missing)
	}
}
