package service

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// listedCopy is an agent's copy of a thread whose checkpoints are these, newest first.
type listedCopy struct {
	adapter.CopyReader
	list []adapter.TasksAt
}

func (c listedCopy) TaskHistory(context.Context, adapter.Copy, *adapter.Fork, string, int) ([]adapter.TasksAt, error) {
	return c.list, nil
}

// TestTasksOfAServerThatNamesNoRuns checks that checkpoints are found by their step. Those of an older copy, which
// counted the same steps, do not get the tasks of the newer ones.
func TestTasksOfAServerThatNamesNoRuns(t *testing.T) {
	t.Parallel()
	tasks := func(text string) json.RawMessage { return json.RawMessage(`["` + text + `"]`) }
	at := func(run string, step int, text string) adapter.TasksAt {
		return adapter.TasksAt{Checkpoint: "there-" + text, Run: run, Step: step, Source: "loop", Tasks: tasks(text)}
	}
	point := func(id, run string, step int) mapping.Checkpoint {
		return mapping.Checkpoint{ID: id, RunID: run, Step: step, Source: "loop", Next: []string{"a"}}
	}
	for name, c := range map[string]struct {
		there []adapter.TasksAt
		want  map[string]json.RawMessage
	}{
		"it names the runs":    {[]adapter.TasksAt{at("new", 1, "one"), at("new", 0, "zero"), at("old", 1, "old")}, map[string]json.RawMessage{"n1": tasks("one"), "n0": tasks("zero"), "o1": tasks("old")}},
		"it names no runs":     {[]adapter.TasksAt{at("", 1, "one"), at("", 0, "zero")}, map[string]json.RawMessage{"n1": tasks("one"), "n0": tasks("zero")}},
		"it names other runs":  {[]adapter.TasksAt{at("theirs", 1, "one")}, map[string]json.RawMessage{}},
		"it has the older one": {[]adapter.TasksAt{at("old", 1, "old")}, map[string]json.RawMessage{"o1": tasks("old")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := wantedOf([]mapping.Checkpoint{point("n1", "new", 1), point("n0", "new", 0), point("o1", "old", 1)})
			walk, got := &taskWalk{copied: &agentCopy{CopyReader: listedCopy{list: c.there}}, read: map[taskKey]json.RawMessage{}}, map[string]json.RawMessage{}
			walk.find(t.Context(), wanted, got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
