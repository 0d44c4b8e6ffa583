package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// A token waits only for its commit: the clock stands still while all tokens are delivered, although nothing follows
// the last one. They are committed, too.
func TestTokenIsDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, path string) {
		const tokens = 3
		more := make(chan struct{})
		b := open(t, path, &script{run: func(ctx context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
			for {
				select {
				case <-more:
				case <-ctx.Done():
					return
				}
				if !yield(mapping.Event{Kind: mapping.KindDelta, Data: json.RawMessage(`[{"id":"m","content":"x"},{}]`)}, nil) {
					return
				}
			}
		}})
		defer b.close()
		r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
		began, told := time.Now(), 0
		for e, err := range b.log.Follow(t.Context(), &r, 0, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == mapping.KindDelta {
				told++
			}
			if told == tokens {
				break
			}
			more <- struct{}{}
		}
		if passed := time.Since(began); passed > 0 {
			t.Errorf("delivered after %s", passed)
		}
		if logged, err := b.st.Events.List(t.Context(), r.ThreadID, r.ID, 0, 0); err != nil || len(logged) != tokens+1 {
			t.Errorf("%d events logged: %v", len(logged), err)
		}
	})
}
