package crash

import (
	"context"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// checkRecord checks the durable data at the end: event numbers have no gaps (except where the scene deletes events),
// every run ended once and with its last event, no thread is busy, and no run has events after its end.
func checkRecord(t *testing.T, dsn string, deletes bool) {
	t.Helper()
	st := openRecord(t, dsn)
	defer st.Close()
	ctx := context.Background()
	threads, _, err := st.Threads.List(ctx, mapping.ThreadQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		runs, err := st.Runs.List(ctx, mapping.RunQuery{ThreadID: th.ID, OldestFirst: true})
		if err != nil {
			t.Fatal(err)
		}
		events, err := st.Events.List(ctx, th.ID, "", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkNumbers(t, th.ID, events, deletes)
		checkJournal(t, th, runs, events)
	}
}

// checkNumbers checks that numbers begin with 1 and increase by 1, or at least increase.
func checkNumbers(t *testing.T, thread string, events []mapping.Event, deletes bool) {
	t.Helper()
	var last int64
	for _, ev := range events {
		if ev.Seq <= last || !deletes && ev.Seq != last+1 {
			t.Errorf("thread %s: event %d comes after event %d", thread, ev.Seq, last)
		}
		last = ev.Seq
	}
}

// openRecord opens the database of a bridge that has ended. A process that is being started at the same time briefly
// holds every open file and its lock.
func openRecord(t *testing.T, dsn string) (st *store.Store) {
	t.Helper()
	rig.Eventually(t, "the database is free", func() (ok bool) {
		var err error
		st, err = store.Open(context.Background(), dsn, store.Options{}, zap.NewNop())
		if err != nil && !rig.Says(err.Error(), "another process is using it") {
			t.Fatal(err)
		}
		return err == nil
	})
	return st
}

func checkJournal(t *testing.T, th mapping.Thread, runs []mapping.Run, events []mapping.Event) {
	t.Helper()
	ends, starts, last := map[string]int{}, map[string]int{}, map[string]mapping.Kind{}
	for _, ev := range events {
		last[ev.RunID] = ev.Kind
		switch ev.Kind {
		case mapping.KindStarted:
			starts[ev.RunID]++
		case mapping.KindEnd:
			ends[ev.RunID]++
		}
	}
	for _, r := range runs {
		if r.Status.Active() || ends[r.ID] != 1 || starts[r.ID] > 1 || last[r.ID] != mapping.KindEnd {
			t.Errorf("run %s is %s with %d starts and %d ends, its last event is %q", r.ID, r.Status, starts[r.ID], ends[r.ID], last[r.ID])
		}
	}
	if th.Status == mapping.ThreadBusy {
		t.Errorf("thread %s is busy without an active run", th.ID)
	}
}
