package stateupdate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Updates that wait for another one are notified when it ends, even if the agent refused it: the time limit is too
// short for polling.
func TestWaitingStateUpdatesAreNotified(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"taken":   nil,
		"refused": mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Not so."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			asked, goOn := make(chan struct{}, 8), make(chan struct{})
			k := &keeper{asked: func(context.Context) error { asked <- struct{}{}; <-goOn; return refusal }}
			thread := b.keeps(t, k)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var wg sync.WaitGroup
			for range cap(asked) {
				wg.Go(func() {
					if _, err := b.UpdateState(ctx, thread, adds("a word")); !errors.Is(err, refusal) {
						t.Error(err)
					}
				})
			}
			<-asked
			b.othersAreRefused(t, thread)
			defer time.AfterFunc(30*time.Second, stop).Stop()
			close(goOn)
			wg.Wait()
			if n := 1 + len(asked); n != cap(asked) {
				t.Errorf("the agent was called %d times for %d updates", n, cap(asked))
			}
		})
	}
}

// othersAreRefused tries to hold a held thread long enough for all other attempts to be refused as well.
func (b *bench) othersAreRefused(t *testing.T, thread string) {
	t.Helper()
	st, err := b.GetState(t.Context(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := b.Store.States.Hold(t.Context(), thread, st.Checkpoint, store.IdempotencyKey{}); mapping.Classify(err).Code != store.CodeUpdating {
			t.Fatal(err)
		}
	}
}
