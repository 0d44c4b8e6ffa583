package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Who follows a thread on which nothing happens hears at once of a run, of an
// update and of the end: the clock stands still meanwhile.
func TestThreadIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, path string) {
		w := wind(t, path, cronAgent{})
		defer w.close()
		th, err := w.Threads.Create(t.Context(), adapter.NewThread{})
		if err != nil {
			t.Fatal(err)
		}
		at, err := w.ThreadLog.Position(t.Context(), th.ID, adapter.Cursor{K: -1, Live: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		got, failed := make(chan *state.Entry, 100), make(chan error, 1)
		go func() {
			for e, err := range w.ThreadLog.Events(ctx, th.ID, at, nil) {
				if err != nil {
					failed <- err
					return
				}
				got <- e
			}
		}()
		synctest.Wait()
		began := time.Now()
		run, err := w.Runs.Start(t.Context(), adapter.NewRun{ThreadID: th.ID, Agent: "a", HasInput: true, Input: []byte(`"hi"`)})
		if err != nil {
			t.Fatal(err)
		}
		for e := range got {
			if e.RunID != run.Run.ID {
				t.Errorf("%+v", e.Event)
			}
			if e.Kind == mapping.KindEnd {
				break
			}
		}
		if _, err := w.States.Update(t.Context(), th.ID, adapter.StateUpdate{Values: []byte(`{"k":1}`)}); err != nil {
			t.Fatal(err)
		}
		if e := <-got; e.RunID != "" || e.Kind != mapping.KindState || !rawjson.Contains(e.After.JSON(), []byte(`{"k":1}`)) {
			t.Errorf("%+v", e)
		}
		if err := w.Threads.Delete(t.Context(), th.ID); err != nil {
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

func TestThreadPosition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	th, err := b.Threads.Create(t.Context(), adapter.NewThread{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.States.Update(t.Context(), th.ID, adapter.StateUpdate{Values: []byte(`{"k":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		from adapter.Cursor
		want int64
		code string
	}{
		{adapter.Cursor{K: -1, Start: true}, 0, ""}, {adapter.Cursor{K: -1, Live: true}, 2, ""}, {adapter.Cursor{Seq: 1, K: 3}, 1, ""}, {adapter.Cursor{Seq: 2, K: -1}, 2, ""},
		{adapter.Cursor{Seq: 3, K: -1}, 3, mapping.CodeBadCursor}, {adapter.Cursor{Seq: 9, K: 0}, 9, mapping.CodeBadCursor},
	} {
		got, err := b.ThreadLog.Position(t.Context(), th.ID, c.from)
		if got.Seq != c.want || got.Live || (err != nil) != (c.code != "") || err != nil && mapping.Classify(err).Code != c.code {
			t.Errorf("%+v: %+v %v", c.from, got, err)
		}
	}
	if _, err := b.ThreadLog.Position(mapping.WithPrincipal(t.Context(), mapping.Principal{Tenant: "other"}), th.ID, adapter.Cursor{Start: true}); mapping.Classify(err).Class != mapping.NotFound {
		t.Error("another tenant's thread:", err)
	}
}
