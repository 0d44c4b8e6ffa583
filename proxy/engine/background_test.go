package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// A client that waits for a run does not wait for others' to begin; who takes the
// answer and goes may.
func TestOnlyBackgroundRunsGiveWay(t *testing.T) {
	t.Parallel()
	for name, background := range map[string]bool{"background": true, "waited for": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, path string) {
				began := make(chan time.Time, 2)
				b := open(t, path, &script{opaque: true, run: func(_ context.Context, _ adapter.Task, yield func(mapping.Event, error) bool) {
					began <- time.Now()
					yield(ended(mapping.RunSuccess), nil)
				}})
				defer b.close()
				for range 2 {
					o := order(mapping.NewID(), mapping.StrategyReject)
					o.Background = background
					b.begin(t, o)
				}
				if waited := (<-began).Sub(<-began).Abs() > 0; waited != background {
					t.Errorf("the second run waited: %t", waited)
				}
			})
		})
	}
}
