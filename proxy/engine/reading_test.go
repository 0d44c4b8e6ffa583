package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// steady is a state of which a small part changes at every step.
func steady(n int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"turn":%d,"fixed":"%s"}`, n, strings.Repeat("y", 32_000)))
}

// The amount read for a checkpoint does not grow with the history before it.
func TestEveryCheckpointReadsAsFastAsTheFirst(t *testing.T) {
	t.Parallel()
	const steps = 1000
	b := setup(t, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		for n := range steps {
			if !yield(mapping.Event{Kind: mapping.KindState, Data: steady(n),
				Head: mapping.Head{Full: true, Checkpoint: &mapping.Checkpoint{Source: "loop", Step: n}}}, nil) {
				return
			}
		}
		yield(ended(mapping.RunSuccess), nil)
	}})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	if out := b.end(t, r); out.Status != mapping.RunSuccess {
		t.Fatalf("outcome %+v", out)
	}
	list, err := b.st.States.Checkpoints(t.Context(), r.ThreadID, store.CheckpointQuery{})
	if err != nil || len(list) != steps {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	slices.Reverse(list)
	for i, c := range list {
		s, err := b.st.States.At(t.Context(), r.ThreadID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		f, err := eventlog.FoldState(s)
		if err != nil || string(f.JSON()) != string(steady(i)) {
			t.Fatalf("checkpoint %d is %.80s, %v", i, f.JSON(), err)
		}
		if rows, bytes := len(s.Events), len(s.Snapshot)+s.DiffBytes; rows > store.RowsBetween(f.Size()) || bytes > f.Size()*3/2 {
			t.Fatalf("checkpoint %d takes %d rows and %d bytes, its state has %d", i, rows, bytes, f.Size())
		}
	}
	per := float64(b.held(t, r.ThreadID)) / steps / 32_000
	t.Logf("%.4f of a state for each checkpoint", per)
	if per > 0.1 {
		t.Errorf("a checkpoint takes %.3f of a state", per)
	}
}

// held returns the bytes of diffs and snapshots in the thread's history, as returned by the store.
func (b *bench) held(t *testing.T, thread string) (bytes int) {
	t.Helper()
	list, err := b.st.States.Checkpoints(t.Context(), thread, store.CheckpointQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		s, err := b.st.States.At(t.Context(), thread, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Events); n > 0 {
			bytes += len(s.Events[n-1].Data)
		} else {
			bytes += len(s.Snapshot)
		}
	}
	return bytes
}
