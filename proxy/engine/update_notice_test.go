package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// A caller that waits for a thread held by another process for a state update is notified when it is free.
func TestEndOfAnUpdateNotifiesOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	here, there := open(t, dsn, &script{exposes: mapping.ExposesNothing}), open(t, dsn, &script{exposes: mapping.ExposesNothing})
	free := func(thread, token string) error { return there.st.States.Free(t.Context(), thread, token) }
	logged := func(thread, token string) error {
		ev := mapping.Event{Kind: mapping.KindState, At: time.Now(), Data: []byte(`{}`), Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: mapping.NewID()}}}
		_, err := there.st.States.Append(t.Context(), thread, "", []mapping.Event{ev}, store.StateOptions{Held: token})
		return err
	}
	for _, end := range []func(thread, token string) error{free, free, logged} { // the first may be noticed as a new connection
		heardToEnd(t, here, there, end)
	}
}

func heardToEnd(t *testing.T, here, there *bench, end func(thread, token string) error) {
	t.Helper()
	th, _, err := there.st.Threads.Create(t.Context(), store.ThreadCreation{Thread: mapping.Thread{ID: mapping.NewID()}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := there.st.States.Hold(t.Context(), th.ID, "", store.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	watch := here.log.Watch(th.ID)
	defer watch.Leave()
	changed := watch.Next()
	if err := end(th.ID, token); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	select {
	case <-changed:
	case <-ctx.Done():
		t.Fatal("no notification")
	}
}

// If ending a hold failed, the thread is freed later, and waiting updates are notified.
func TestWaitingUpdatesAreNotifiedOfALeftoverHold(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{exposes: mapping.ExposesNothing})
	heardToEnd(t, b, b, func(thread, token string) error {
		gone, stop := context.WithCancel(t.Context())
		stop()
		if err := b.st.States.Free(gone, thread, token); err == nil {
			t.Fatal("the thread was freed by a cancelled caller")
		}
		return b.Compare(t.Context())
	})
}
