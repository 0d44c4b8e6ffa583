package service_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
)

// A checkpoint's source comes from the agent and may contain any character.
func TestStateWhoseSourceHasAnyCharacter(t *testing.T) {
	t.Parallel()
	const source = "loop\x01\x7f\u2028\"\\"
	b := setup(t)
	b.Graph.Does(func(_ context.Context, _ adapter.Assignment, yield servicetest.Yielder) {
		cp := &mapping.Checkpoint{Source: source, Remote: "r"}
		_ = yield(servicetest.Linked(), nil) &&
			yield(mapping.Event{Kind: mapping.KindState, Data: raw(`{"a":1}`), Head: mapping.Head{Full: true, Name: "values", Checkpoint: cp}}, nil) &&
			yield(servicetest.End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	})
	thread := mapping.NewID()
	b.Start(t, t.Context(), servicetest.NewRun(thread, "graph", "hi"))
	s, err := b.GetState(t.Context(), thread, "")
	var meta struct{ Source string }
	if err != nil || json.Unmarshal(s.Metadata, &meta) != nil || meta.Source != source {
		t.Errorf("the source reads %q in %q, %v", meta.Source, s.Metadata, err)
	}
	list, err := gathered(b.StateHistory(t.Context(), thread, adapter.HistoryQuery{}))
	if err != nil || len(list) == 0 || !json.Valid(list[0].Metadata) {
		t.Errorf("the history has %d states, %v", len(list), err)
	}
}
