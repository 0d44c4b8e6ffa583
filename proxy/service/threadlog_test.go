package service_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// A client that follows an idle thread is notified at once of a run, an update and the end: the clock stands still.
func TestThreadIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		th, err := w.CreateThread(t.Context(), adapter.ThreadRequest{})
		if err != nil {
			t.Fatal(err)
		}
		at, err := w.ThreadPosition(t.Context(), th.ID, adapter.Cursor{K: -1, Live: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		got, failed := make(chan *state.Entry, 100), make(chan error, 1)
		go func() {
			for e, err := range w.ThreadEvents(ctx, th.ID, at, nil) {
				if err != nil {
					failed <- err
					return
				}
				got <- e
			}
		}()
		synctest.Wait()
		began := time.Now()
		run, err := w.StartRun(t.Context(), &adapter.RunRequest{ThreadID: th.ID, Agent: "a", HasInput: true, Input: []byte(`"hi"`)})
		if err != nil {
			t.Fatal(err)
		}
		for e := range got {
			if e.RunID != run.Run.ID {
				t.Errorf("got %+v", e.Event)
			}
			if e.Kind == mapping.KindEnd {
				break
			}
		}
		if _, err := w.UpdateState(t.Context(), th.ID, adapter.StateUpdate{Values: []byte(`{"k":1}`)}); err != nil {
			t.Fatal(err)
		}
		if e := <-got; e.RunID != "" || e.Kind != mapping.KindState || !rawjson.Contains(e.After.JSON(), []byte(`{"k":1}`)) {
			t.Errorf("got %+v", e)
		}
		if err := w.DeleteThread(t.Context(), th.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; mapping.Classify(err).Class != mapping.NotFound {
			t.Error(err)
		}
		if passed := time.Since(began); passed > 0 {
			t.Errorf("it took %s", passed)
		}
	})
}

// talking is a run of a graph with many tokens before its only step.
func talking(tokens int) func(context.Context, adapter.Assignment, servicetest.Yielder) {
	return func(ctx context.Context, t adapter.Assignment, yield servicetest.Yielder) {
		for range tokens {
			if !yield(mapping.Event{Kind: mapping.KindDelta, Data: []byte(`[{"id":"m","type":"AIMessageChunk","content":"x"},{}]`)}, nil) {
				return
			}
		}
		servicetest.Nodes("a")(ctx, t, yield)
	}
}

// longThread creates a thread with runs of 1,000 tokens each, and returns the last number of each run.
func longThread(t *testing.T, b *bench) (thread string, ends []int64) {
	t.Helper()
	b.Graph.Does(talking(1000))
	thread = mapping.NewID()
	for range 4 {
		b.Start(t, t.Context(), servicetest.NewRun(thread, "graph", "hi"))
		last, err := b.Store.Events.LastSeq(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, last)
	}
	return thread, ends
}

// present reads the current events of a thread after a cursor.
func present(t *testing.T, b *bench, thread string, from adapter.Cursor) (seqs []int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	last, err := b.Store.Events.LastSeq(ctx, thread)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range b.ThreadEvents(ctx, thread, from, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if seqs = append(seqs, e.Seq); e.Seq == last {
			break
		}
	}
	return seqs
}

// A reader that starts late on a thread of thousands of events reads the run that was active at that point and what
// follows, and knows the checkpoints before it.
func TestLateReaderStartsAtARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread, ends := longThread(t, b)
	last := len(ends) - 1
	for _, c := range []struct {
		after  adapter.Cursor
		behind int64
		runs   int // runs whose checkpoints are known
	}{
		{adapter.Cursor{Start: true, K: -1}, 0, 0},
		{adapter.Cursor{Seq: ends[last-1] + 500, K: 0}, ends[last-1], last},
		{adapter.Cursor{Seq: ends[last], K: 0}, ends[last-1], last},
		{adapter.Cursor{Seq: ends[last] + 7, K: 0}, ends[last], last + 1},
		{adapter.Cursor{Seq: 3, K: 0}, 0, 0},
	} {
		o, err := b.ThreadReplayStart(t.Context(), thread, c.after)
		if err != nil || o.At.Seq != c.behind {
			t.Errorf("%+v: behind %d, want %d: %v", c.after, o.At.Seq, c.behind, err)
		}
		of := map[string]bool{}
		for _, cp := range o.Checkpoints {
			of[cp.RunID] = true
		}
		if len(of) != c.runs {
			t.Errorf("%+v: checkpoints of %d runs, want %d", c.after, len(of), c.runs)
		}
	}
	if got := present(t, b, thread, adapter.Cursor{Seq: ends[last-1], K: -1}); int64(len(got)) != ends[last]-ends[last-1] || got[0] != ends[last-1]+1 {
		t.Errorf("read %d entries of %d, the first is %d", len(got), ends[last], got[0])
	}
}

// If tokens or the base states of runs were removed, positions before them are refused, and the start is that of the
// remaining events.
func TestPositionBeforeRemovedEventsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread, ends := longThread(t, b)
	opening := func(after adapter.Cursor, code string) (o adapter.ReplayStart) {
		t.Helper()
		o, err := b.ThreadReplayStart(t.Context(), thread, after)
		if (err != nil) != (code != "") || err != nil && mapping.Classify(err).Code != code {
			t.Errorf("%+v: %v", after, err)
		}
		return o
	}
	inside, atEnd, start := adapter.Cursor{Seq: ends[1] - 1, K: 0}, adapter.Cursor{Seq: ends[1], K: 0}, adapter.Cursor{K: -1, Start: true}
	opening(inside, "")
	for more := true; more; {
		var err error
		if more, err = b.Store.Retention.DeleteTokenEvents(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	opening(inside, mapping.CodeCursorExpired)
	opening(atEnd, "")
	opening(start, "")
	if _, err := b.Store.Retention.DeleteHistory(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	opening(atEnd, mapping.CodeCursorExpired)
	floor := opening(start, "").At
	if floor.Seq != ends[3] {
		t.Errorf("the remaining events begin after %d, want %d", floor.Seq, ends[3])
	}
	opening(floor, "")
	for _, c := range []adapter.Cursor{start, atEnd} {
		if _, err := b.ThreadPosition(t.Context(), thread, c); err == nil || mapping.Classify(err).Code != mapping.CodeCursorExpired {
			t.Errorf("%+v: %v", c, err)
		}
	}
	b.Start(t, t.Context(), servicetest.NewRun(thread, "graph", "hi"))
	if got := present(t, b, thread, floor); got[0] != floor.Seq+1 {
		t.Errorf("the first after %d is %d", floor.Seq, got[0])
	}
}

func TestThreadPosition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	th, err := b.CreateThread(t.Context(), adapter.ThreadRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.UpdateState(t.Context(), th.ID, adapter.StateUpdate{Values: []byte(`{"k":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		from adapter.Cursor
		want int64
		code string
	}{
		{adapter.Cursor{K: -1, Start: true}, 0, ""}, {adapter.Cursor{K: -1, Live: true}, 2, ""}, {adapter.Cursor{Seq: 1, K: 3}, 1, ""}, {adapter.Cursor{Seq: 2, K: -1}, 2, ""},
		{adapter.Cursor{Seq: 3, K: -1}, 3, mapping.CodeInvalidCursor}, {adapter.Cursor{Seq: 9, K: 0}, 9, mapping.CodeInvalidCursor},
	} {
		got, err := b.ThreadPosition(t.Context(), th.ID, c.from)
		if got.Seq != c.want || got.Live || (err != nil) != (c.code != "") || err != nil && mapping.Classify(err).Code != c.code {
			t.Errorf("%+v: %+v %v", c.from, got, err)
		}
	}
	if _, err := b.ThreadPosition(mapping.WithPrincipal(t.Context(), mapping.Principal{Tenant: "other"}), th.ID, adapter.Cursor{Start: true}); mapping.Classify(err).Class != mapping.NotFound {
		t.Error("another tenant's thread:", err)
	}
}

// The remaining events of a deleted run are shown as history without a run. So a position among its entries now belongs
// to other events and is refused. Positions outside of it are unaffected.
func TestAPositionWithinADeletedRunIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	thread, ends := longThread(t, b)
	runs, err := b.Store.Runs.List(t.Context(), mapping.RunQuery{ThreadID: thread, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	deleted := slices.MinFunc(runs, func(a, b mapping.Run) int { return a.CreatedAt.Compare(b.CreatedAt) })
	if err := b.DeleteRun(t.Context(), adapter.RunRef{ThreadID: thread, RunID: deleted.ID}); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for seq := int64(1); seq <= ends[1]; seq++ {
		_, err := b.ThreadPosition(t.Context(), thread, adapter.Cursor{Seq: seq})
		if refused := mapping.Classify(err).Code == mapping.CodeCursorExpired; err != nil && !refused || refused != (seq <= ends[0]) {
			t.Errorf("position %d of %v: %v", seq, ends, err)
		}
		if list, err := b.Store.Events.List(t.Context(), thread, "", seq-1, 1); err == nil && list[0].Seq == seq && seq <= ends[0] {
			kept++
		}
	}
	if kept == 0 {
		t.Error("nothing of the run remains")
	}
	copied, err := b.CopyThread(t.Context(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.Store.Events.List(t.Context(), copied.ID, "", 0, 1)
	if err != nil || len(first) == 0 {
		t.Fatal(first, err)
	}
	if _, err := b.ThreadPosition(t.Context(), copied.ID, adapter.Cursor{Seq: first[0].Seq}); err != nil {
		t.Errorf("on a copy, which never had the run: %v", err)
	}
}
