package engine_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	_ "modernc.org/sqlite"
)

// direct returns a connection that bypasses the store.
func (b *bench) direct(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fault makes the database refuse statements that match a trigger until lift is called.
func (b *bench) fault(t *testing.T, trigger string) (lift func()) {
	t.Helper()
	db := b.direct(t)
	if _, err := db.ExecContext(t.Context(), `CREATE TRIGGER fault `+trigger+` BEGIN SELECT RAISE(ABORT, 'no'); END`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.ExecContext(context.Background(), `DROP TRIGGER fault`); err != nil {
			t.Error(err)
		}
	}
}

// stepping is a backend whose steps are released one at a time.
func stepping(n int) (s *script, goOn chan struct{}) {
	goOn = make(chan struct{})
	s = &script{exposes: mapping.ExposesNothing}
	s.run = func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if !yield(linked("up"), nil) {
			return
		}
		for i := range n {
			select {
			case <-goOn:
			case <-ctx.Done():
				yield(mapping.Event{}, context.Cause(ctx))
				return
			}
			if !yield(step(task, i+1, string(rune('a'+i)), i == n-1), nil) {
				return
			}
		}
		yield(ended(mapping.RunSuccess), nil)
	}
	return s, goOn
}

func TestTemporaryStoreFailureLosesNothing(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	s, goOn := stepping(3)
	b := setup(t, s)
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	goOn <- struct{}{}
	eventually(t, "the first step", func() bool { return len(logged(t, b, r)) == 5 })
	lift := b.fault(t, `BEFORE INSERT ON events`)
	goOn <- struct{}{}
	go func() { // the failed append may end the run before its agent's last step
		select {
		case goOn <- struct{}{}:
		case <-t.Context().Done():
		}
	}()
	if _, err := b.st.Threads.Get(t.Context(), r.ThreadID); err != nil {
		t.Errorf("reading stopped working: %v", err)
	}
	if s := b.status(t, r); s != mapping.RunRunning {
		t.Errorf("the run is %s although its end cannot be written", s)
	}
	lift()
	es := b.read(t, r)
	outcome := es[len(es)-1].Head.Outcome
	if outcome.Status.Active() || len(es) < 6 {
		t.Fatalf("%d events, outcome %+v: the step made while the store failed is missing", len(es), outcome)
	}
	b.sameCold(t, r)
	if out := b.endOfNext(t, r.ThreadID); out.Status != mapping.RunSuccess {
		t.Errorf("the next run ended %+v", out)
	}
}

// An event that can never be written is dropped: the run fails, and the history remains sound.
func TestUnwritableEventFailsTheRun(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	s, goOn := stepping(3)
	b := setup(t, s)
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	goOn <- struct{}{}
	eventually(t, "the first step", func() bool { return len(logged(t, b, r)) == 5 })
	lift := b.fault(t, `BEFORE INSERT ON events WHEN NEW.kind = 'update'`)
	go func() {
		for range 2 {
			select {
			case goOn <- struct{}{}:
			case <-t.Context().Done():
			}
		}
	}()
	out := b.end(t, r)
	if out.Status != mapping.RunError || out.Fault == nil {
		t.Fatalf("outcome %+v", out)
	}
	lift()
	b.sameCold(t, r)
	th, err := b.st.Threads.Get(t.Context(), r.ThreadID)
	if err != nil || th.Status != mapping.ThreadError {
		t.Errorf("thread %s, %v", th.Status, err)
	}
	fold, _, err := b.log.State(t.Context(), r.ThreadID, "")
	if err != nil || len(fold.Messages()) != 2 {
		t.Errorf("state %s, %v; want the input and the first step", fold.JSON(), err)
	}
	if out := b.endOfNext(t, r.ThreadID); out.Status != mapping.RunSuccess {
		t.Errorf("the next run ended %+v", out)
	}
	if fold, _, err := b.log.State(t.Context(), r.ThreadID, ""); err != nil || len(fold.Messages()) != 5 {
		t.Errorf("state %s, %v", fold.JSON(), err)
	}
}

func TestStoreIsLostDuringARun(t *testing.T) {
	t.Parallel()
	s, goOn := stepping(2)
	b := setup(t, s)
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	goOn <- struct{}{}
	eventually(t, "the first step", func() bool { return len(logged(t, b, r)) == 5 })
	_ = b.st.Close()
	goOn <- struct{}{}
	path := b.path
	b.close() // does not hang
	again := open(t, path, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	if out := again.end(t, r); out.Status != mapping.RunSuccess {
		t.Errorf("the next process ended it with %+v", out)
	}
}

func logged(t *testing.T, b *bench, r mapping.Run) []mapping.Event {
	t.Helper()
	evs, err := b.st.Events.List(t.Context(), r.ThreadID, r.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

func (b *bench) endOfNext(t *testing.T, thread string) mapping.Outcome {
	t.Helper()
	o := order(thread, mapping.StrategyReject)
	b.agents(twoSteps)
	return b.end(t, b.begin(t, o))
}

// sameCold checks that the state of every checkpoint in the store is the same as when it was folded live.
func (b *bench) sameCold(t *testing.T, r mapping.Run) {
	t.Helper()
	es := b.read(t, r)
	for i, e := range es {
		c := e.Head.Checkpoint
		if c == nil || len(es) > 50 && i%9 != 0 && i < len(es)-3 {
			continue
		}
		cold, err := b.cold(t).Base(t.Context(), r.ThreadID, c.ID)
		if err != nil {
			t.Errorf("checkpoint of event %d: %v", e.Seq, err)
			continue
		}
		var a, z any
		if json.Unmarshal(cold.JSON(), &a) != nil || json.Unmarshal(e.After.JSON(), &z) != nil || string(cold.JSON()) != string(e.After.JSON()) {
			t.Errorf("checkpoint of event %d reads\n%s\nand was\n%s", e.Seq, cold.JSON(), e.After.JSON())
		}
	}
}
