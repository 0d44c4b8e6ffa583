package threadrun

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// TestSupersteps: nodes beside each other are one superstep where the server
// tells checkpoints, subgraphs and inputs are none.
func TestSupersteps(t *testing.T) {
	t.Parallel()
	events := map[string]mapping.Event{
		"update":     {Kind: mapping.KindUpdate},
		"nested":     {Kind: mapping.KindUpdate, Head: mapping.Head{NS: []string{"sub"}}},
		"state":      {Kind: mapping.KindState},
		"checkpoint": {Kind: mapping.KindState, Head: mapping.Head{Checkpoint: &mapping.Checkpoint{}}},
	}
	for log, want := range map[string]int{
		"":                           0,
		"checkpoint checkpoint":      0,
		"update update state update": 3,
		"checkpoint update update update checkpoint update checkpoint": 2,
		"checkpoint nested nested update checkpoint nested":            1,
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
