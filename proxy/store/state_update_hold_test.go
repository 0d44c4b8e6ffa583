package store_test

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// A thread that was held for a state update and could not be freed afterwards is freed by a later call of FreeLeft. A
// running update keeps its thread.
func TestFinishedUpdateHoldsNoThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		freed := func(want int) {
			t.Helper()
			if n, err := b.States.FreeLeft(b.ctx); n != want || err != nil {
				t.Errorf("%d threads freed, want %d; %v", n, want, err)
			}
		}
		change := func(thread, held string) error {
			_, err := b.States.Append(b.ctx, thread, "", []mapping.Event{update(`{"a":1}`)}, store.StateOptions{Held: held})
			return err
		}
		over, underWay := b.thread().ID, b.thread().ID
		token, err := b.States.Hold(b.ctx, over, "", store.IdempotencyKey{})
		b.ok(err)
		goesOn, err := b.States.Hold(b.ctx, underWay, "", store.IdempotencyKey{})
		b.ok(err)
		freed(0)
		if err := b.States.Free(gone(b.ctx), over, token); err == nil {
			t.Fatal("the thread was freed by a cancelled caller")
		}
		if err := change(over, ""); mapping.Classify(err).Code != store.CodeUpdating {
			t.Fatalf("the thread is not held: %v", err)
		}
		freed(1)
		b.ok(change(over, ""))
		b.ok(change(underWay, goesOn))
		freed(0)
	})
}

func gone(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	stop()
	return ctx
}
