package engine_test

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// TestReadersGetTheReasonIfTheEndCannotBeWritten checks that readers of a run whose end cannot be written get the
// reason. When the store works again, the run ends as usual.
func TestReadersGetTheReasonIfTheEndCannotBeWritten(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	waits := map[string]func(*bench, *testing.T, mapping.Run) error{
		"follow": func(b *bench, t *testing.T, r mapping.Run) error {
			for _, err := range b.log.Follow(t.Context(), &r, 0, nil) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"end": func(b *bench, t *testing.T, r mapping.Run) error {
			_, err := b.log.End(t.Context(), &r)
			return err
		},
		"settled": func(b *bench, t *testing.T, r mapping.Run) error {
			_, err := b.AwaitInactive(t.Context(), r)
			return err
		},
		"cancel": func(b *bench, t *testing.T, r mapping.Run) error {
			return b.Cancel(t.Context(), &r, engine.Cancellation{})
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, goOn := stepping(1)
			b := setup(t, s)
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			eventually(t, "the link", func() bool { return len(logged(t, b, r)) == 4 })
			lift := b.fault(t, `BEFORE INSERT ON events`)
			goOn <- struct{}{}
			answer := make(chan error, 1)
			go func() { answer <- wait(b, t, r) }()
			select {
			case err := <-answer:
				if err == nil {
					t.Error("the wait ended without an error")
				}
			case <-time.After(time.Minute):
				t.Fatal("no answer within a minute")
			}
			lift()
			eventually(t, "the end", func() bool { return !b.status(t, r).Active() && b.Live() == 0 })
			if _, err := b.log.End(t.Context(), &r); err != nil {
				t.Errorf("the end after the delay: %v", err)
			}
		})
	}
}
