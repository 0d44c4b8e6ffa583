package backend

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestSupersteps checks that concurrent nodes count as one superstep if checkpoints or tasks announce them. Subgraphs
// and inputs do not count.
func TestSupersteps(t *testing.T) {
	t.Parallel()
	checkpoint := func(next ...string) mapping.Event {
		return mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Checkpoint: &mapping.Checkpoint{Next: next}}}
	}
	task := func(data string) mapping.Event {
		return mapping.Event{Kind: mapping.KindChunk, Head: mapping.Head{Name: "tasks"}, Data: json.RawMessage(data)}
	}
	events := map[string]mapping.Event{
		"update": {Kind: mapping.KindUpdate},
		"nested": {Kind: mapping.KindUpdate, Head: mapping.Head{NS: []string{"sub"}}},
		"state":  {Kind: mapping.KindState},
		"none":   checkpoint(), "one": checkpoint("a"), "three": checkpoint("a", "a", "b"),
		"begins": task(`{"id":"t","name":"a","input":{},"triggers":["x"],"interrupts":[]}`),
		"done":   task(`{"id":"t","name":"a","result":{"triggers":1},"interrupts":[]}`),
	}
	for log, want := range map[string]int{
		"":                           0,
		"one one":                    0,
		"update update state update": 3,
		"three update update update one update none":          2,
		"one nested nested update one nested":                 1,
		"begins begins update done update begins update done": 2, // no checkpointer
		"three begins begins begins update update update":     1,
		"one update update update update":                     4, // nothing was announced
		"one begins update begins update begins update":       3, // tasks called by a function
	} {
		var made supersteps
		for _, name := range strings.Fields(log) {
			made.note(events[name])
		}
		if made.n != want {
			t.Errorf("%q: %d, want %d", log, made.n, want)
		}
	}
}

// TestUpdatesWithoutCheckpoints checks that a graph that reports one checkpoint and then endless updates is stopped at
// max_steps.
func TestUpdatesWithoutCheckpoints(t *testing.T) {
	t.Parallel()
	play := adaptertest.ChatPlay()
	play.Frames = play.Frames[:4]
	for range 3000 {
		play.Frames = append(play.Frames, `updates {"plan":{"n":1}}`)
	}
	a := playing(play)
	tr := run(t, a, adaptertest.NewTask(nil))
	if tr.Code() != mapping.CodeStepLimit || len(tr.Outputs()) > 20 {
		t.Errorf("%d updates, error %v", len(tr.Outputs()), tr.Err)
	}
}
