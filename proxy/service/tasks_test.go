package service_test

import (
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func TestTasksOfAnotherAgentDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, _ := b.Task(t, t.Context(), "legacy", "hello")
	other := adapter.TaskRef{Agent: "graph", ID: task.ID}
	if _, err := b.Tasks.Get(t.Context(), other); class(err) != mapping.NotFound {
		t.Errorf("got %v", err)
	}
	if _, err := b.Tasks.Step(t.Context(), other, adapter.StepRequest{}); class(err) != mapping.NotFound {
		t.Errorf("got %v", err)
	}
	list, total, err := b.Tasks.List(t.Context(), adapter.TaskRef{Agent: "graph"}, adapter.Page{Number: 1, Size: 10})
	if err != nil || total != 0 || len(entries(t, list)) != 0 {
		t.Errorf("%d tasks, %v", total, err)
	}
	if _, err := b.Tasks.Get(t.Context(), adapter.TaskRef{ID: "no such/task"}); class(err) != mapping.NotFound {
		t.Errorf("got %v", err)
	}
}
