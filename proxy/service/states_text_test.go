package service_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// A checkpoint's source is the agent's own word, and may hold any character.
func TestStateWhoseSourceHasAnyCharacter(t *testing.T) {
	t.Parallel()
	const source = "loop\x01\x7f\u2028\"\\"
	b := setup(t)
	b.graph.does(func(_ context.Context, _ adapter.Task, yield yielder) {
		cp := &mapping.Checkpoint{Source: source, Remote: "r"}
		_ = yield(linked(), nil) &&
			yield(mapping.Event{Kind: mapping.KindState, Data: raw(`{"a":1}`), Head: mapping.Head{Full: true, Name: "values", Checkpoint: cp}}, nil) &&
			yield(end(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	})
	thread := mapping.NewID()
	b.start(t, t.Context(), newRun(thread, "graph", "hi"))
	s, err := b.States.Get(t.Context(), thread, "")
	var meta struct{ Source string }
	if err != nil || json.Unmarshal(s.Metadata, &meta) != nil || meta.Source != source {
		t.Errorf("the source reads %q in %q, %v", meta.Source, s.Metadata, err)
	}
	list, err := gathered(b.States.History(t.Context(), thread, adapter.HistoryQuery{}))
	if err != nil || len(list) == 0 || !json.Valid(list[0].Metadata) {
		t.Errorf("the history has %d states, %v", len(list), err)
	}
}
