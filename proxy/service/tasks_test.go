package service_test

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store"
)

func TestTasksOfAnotherAgentDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, _ := b.Task(t, t.Context(), "legacy", "hello")
	other := adapter.TaskRef{Agent: "graph", ID: task.ID}
	if _, err := b.GetTask(t.Context(), other); class(err) != mapping.NotFound {
		t.Errorf("got %v", err)
	}
	if _, err := b.ExecuteStep(t.Context(), other, adapter.StepRequest{}); class(err) != mapping.NotFound {
		t.Errorf("got %v", err)
	}
	list, total, err := b.ListTasks(t.Context(), adapter.TaskRef{Agent: "graph"}, adapter.Page{Number: 1, Size: 10})
	if err != nil || total != 0 || len(entries(t, list)) != 0 {
		t.Errorf("%d tasks, %v", total, err)
	}
	if _, err := b.GetTask(t.Context(), adapter.TaskRef{ID: "no such/task"}); class(err) != mapping.NotFound {
		t.Errorf("got %v", err)
	}
}

// A task without runs is in memory. It is deleted with its thread.
func TestTaskWithoutRunsIsDeletedWithItsThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	_, before := b.Task(t, ctx, "legacy", "hello")
	b.Step(t, ctx, before, nil) // connects the agent
	task, ref := b.Task(t, ctx, "legacy", "hello")
	if _, _, err := b.ListSteps(ctx, ref, adapter.Page{Number: 1, Size: 10}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.Threads.Patch(ctx, task.ThreadID, nil, &store.Expire{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	servicetest.Eventually(t, "its steps are gone", func() bool {
		_, _, err := b.ListSteps(ctx, ref, adapter.Page{Number: 1, Size: 10})
		return mapping.Classify(err).Code == mapping.CodeTaskNotFound
	})
	if _, err := b.ExecuteStep(ctx, ref, adapter.StepRequest{}); mapping.Classify(err).Code != mapping.CodeTaskNotFound {
		t.Errorf("a step of it: %v", err)
	}
}
