package service_test

import (
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store"
)

func runOfTask(task, words string) *adapter.RunRequest {
	n := servicetest.NewRun("", "", words)
	n.TaskID, n.Multitask = task, mapping.StrategyEnqueue
	return &n
}

// TestRunNamesItsTask checks that a run of a task that is running waits for it and belongs to the same task.
func TestRunNamesItsTask(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"legacy", "graph"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			started, goOn := make(chan struct{}, 2), make(chan struct{})
			b.Legacy.Does(servicetest.Held(started, goOn, servicetest.Nodes("a")))
			b.Graph.Does(servicetest.Held(started, goOn, servicetest.Nodes("a")))
			first, err := b.StartRun(t.Context(), new(servicetest.NewRun("", agent, "hi")))
			if err != nil {
				t.Fatal(err)
			}
			<-started
			second, err := b.StartRun(t.Context(), runOfTask(first.Run.TaskID, "more"))
			if err != nil {
				t.Fatal(err)
			}
			if r := second.Run; r.TaskID != first.Run.TaskID || r.ThreadID != first.Run.ThreadID || r.Agent != agent || r.Status != mapping.RunPending {
				t.Errorf("the second run is %+v", r)
			}
			close(goOn)
			if out := b.Wait(t, t.Context(), second.Run); out.Status != mapping.RunSuccess {
				t.Errorf("it ended %+v", out)
			}
			if _, total, err := b.ListTasks(t.Context(), adapter.TaskRef{Agent: agent}, adapter.Page{Number: 1, Size: 10}); err != nil || total != 1 {
				t.Errorf("%d tasks, %v", total, err)
			}
			if _, err := b.StartRun(t.Context(), runOfTask(first.Run.TaskID, "late")); code(err) != service.CodeTaskEnded {
				t.Errorf("a run of an ended task: %v", err)
			}
		})
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return mapping.Classify(err).Code
}

// TestAnswerNamesItsTask checks that an answer goes to the task named in the request, and that a cancelled task accepts
// none.
func TestAnswerNamesItsTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Graph.Does(servicetest.Asking)
	asked, out := b.Start(t, t.Context(), servicetest.NewRun("", "graph", "hi"))
	if out.Status != mapping.RunInterrupted {
		t.Fatalf("got %+v", out)
	}
	answer := runOfTask(asked.TaskID, "")
	answer.Command, answer.Input, answer.Kwargs, answer.HasInput = &adapter.Command{HasResume: true, Resume: []byte(`"yes"`)}, nil, nil, false
	b.Graph.Does(servicetest.Nodes("a"))
	again := *answer
	answered, out := b.Start(t, t.Context(), *answer)
	if answered.TaskID != asked.TaskID || out.Status != mapping.RunSuccess {
		t.Errorf("the answer belongs to task %s and ended %+v", answered.TaskID, out)
	}
	if _, err := b.StartRun(t.Context(), &again); code(err) != service.CodeTaskEnded {
		t.Errorf("a second answer: %v", err)
	}

	started := make(chan struct{}, 1)
	b.Graph.Does(servicetest.Held(started, nil, servicetest.Nodes("a")))
	held, err := b.StartRun(t.Context(), new(servicetest.NewRun("", "graph", "hi")))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := b.CancelRun(t.Context(), adapter.RunRef{RunID: held.Run.ID}, adapter.CancelOptions{Wait: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.StartRun(t.Context(), runOfTask(held.Run.TaskID, "more")); code(err) != service.CodeTaskEnded {
		t.Errorf("a run of a cancelled task: %v", err)
	}
}

// TestTwoRunsOfATaskAtOnce checks that concurrent requests for runs of a task create runs that follow each other, or
// are refused because the task has changed.
func TestTwoRunsOfATaskAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, ref := b.Task(t, t.Context(), "graph", "hi") // it has no run yet
	var mu sync.Mutex
	made := 0
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			_, err := b.StartRun(t.Context(), runOfTask(task.ID, "go"))
			mu.Lock()
			defer mu.Unlock()
			switch code(err) {
			case "":
				made++
			case store.CodeTaskMoved, service.CodeTaskEnded:
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: task.ThreadID, OldestFirst: true}))
	if err != nil || len(runs) != made || made == 0 {
		t.Fatalf("%d runs, want %d, %v", len(runs), made, err)
	}
	for i, r := range runs {
		if r.TaskID != task.ID || r.Options.FollowUp != (i > 0) {
			t.Errorf("run %d belongs to task %s, follow-up: %v", i, r.TaskID, r.Options.FollowUp)
		}
	}
	n := 0
	for step, err := range b.FollowSteps(t.Context(), ref, 0) {
		if n++; err != nil || step.N != n {
			t.Fatalf("step %d is %+v, %v", n, step, err)
		}
	}
	if n < made {
		t.Errorf("%d steps of %d runs", n, made)
	}
}

// TestRunsThatNameAnotherTask checks that a task of another thread or agent is refused.
func TestRunsThatNameAnotherTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, _ := b.Task(t, t.Context(), "graph", "hi")
	for name, tc := range map[string]struct {
		change func(*adapter.RunRequest)
		class  mapping.Class
	}{
		"unknown":     {func(n *adapter.RunRequest) { n.TaskID = mapping.NewID() }, mapping.NotFound},
		"no id":       {func(n *adapter.RunRequest) { n.TaskID = "x" }, mapping.NotFound},
		"thread":      {func(n *adapter.RunRequest) { n.ThreadID = mapping.NewID() }, mapping.Invalid},
		"other agent": {func(n *adapter.RunRequest) { n.Agent = "legacy" }, mapping.Invalid},
	} {
		n := runOfTask(task.ID, "go")
		tc.change(n)
		if _, err := b.StartRun(t.Context(), n); class(err) != tc.class {
			t.Errorf("%s: %v", name, err)
		}
	}
	if runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: task.ThreadID})); err != nil || len(runs) != 0 {
		t.Errorf("%d runs after only refusals, %v", len(runs), err)
	}
}

// TestTasksAreFoundByStatus checks that a task has its status while it works, asks and is done, and that a search by it
// finds the task.
func TestTasksAreFoundByStatus(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, ref := b.Task(t, t.Context(), "graph", "hi")
	other, _ := b.Task(t, t.Context(), "graph", "hi")
	b.Graph.Does(servicetest.Asking)
	want := func(status mapping.TaskStatus, first string) {
		t.Helper()
		got, err := b.GetTask(t.Context(), ref)
		if err != nil || got.Status != status {
			t.Errorf("the task is %q, want %q, %v", got.Status, status, err)
		}
		tasks, total, err := b.SearchTasks(t.Context(), adapter.TaskQuery{Agent: "graph", Limit: 1})
		if err != nil || total != 2 {
			t.Fatalf("%d tasks, %v", total, err)
		}
		list, err := adapter.All(tasks)
		if err != nil || len(list) != 1 || list[0].ID != first {
			t.Errorf("found %+v, want task %s, %v", list, first, err)
		}
		tasks, total, err = b.SearchTasks(t.Context(), adapter.TaskQuery{Agent: "graph", ThreadID: task.ThreadID, Status: []mapping.TaskStatus{status}})
		if err != nil || total != 1 {
			t.Fatalf("%d tasks, %v", total, err)
		}
		if list, err := adapter.All(tasks); err != nil || len(list) != 1 || !list[0].StatusAt.Equal(got.StatusAt) {
			t.Errorf("by status: %+v, %v", list, err)
		}
	}
	want(mapping.TaskSubmitted, other.ID)
	b.Step(t, t.Context(), ref, nil)
	want(mapping.TaskAsking, task.ID)
	b.Graph.Does(servicetest.Nodes("a"))
	b.Step(t, t.Context(), ref, new("red"))
	want(mapping.TaskDone, task.ID)
}
