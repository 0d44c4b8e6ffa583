package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// A name from an agent that no database can store fails the run and is not logged.
func TestNamesFromAnAgentMustBeText(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"\x00", "a\x00b", "\xff", strings.Repeat("x", 100) + "\xc3"} {
		for what, event := range map[string]mapping.Event{
			"link":       {Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Agent: "a", Remote: id}}},
			"checkpoint": {Kind: mapping.KindState, Data: []byte(`{}`), Head: mapping.Head{Full: true, Checkpoint: &mapping.Checkpoint{ID: id}}},
		} {
			b := setup(t, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
				_ = yield(event, nil) && yield(ended(mapping.RunSuccess), nil)
			}})
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			out := b.end(t, r)
			if out.Status != mapping.RunError || out.Fault == nil || out.Fault.Code != mapping.CodeBadUpstream {
				t.Errorf("%s %q: ended %+v", what, id, out)
			}
			for _, e := range b.read(t, r) {
				if e.Kind == event.Kind {
					t.Errorf("%s %q was logged", what, id)
				}
			}
			b.close()
		}
	}
}

func TestRemoteIDOfAFileMustBeText(t *testing.T) {
	t.Parallel()
	refused := make(chan error, 1)
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		_, err := task.Files.Save(ctx, "a.txt", "\x00", "", strings.NewReader("x"))
		refused <- err
		yield(ended(mapping.RunSuccess), nil)
	}})
	b.end(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
	if e := mapping.Classify(<-refused); e.Class != mapping.Upstream || e.Code != mapping.CodeBadUpstream {
		t.Errorf("got %v", e)
	}
}
