package stepping_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/google/go-cmp/cmp"
)

func outputs(steps []mapping.Step) (list []string) {
	for _, s := range steps {
		said := "nothing"
		if s.Output != nil {
			said = *s.Output
		}
		list = append(list, fmt.Sprintf("%d %s %v", s.N, said, s.IsLast))
	}
	return list
}

// all fetches steps until the last.
func (b *bench) all(t *testing.T, ref adapter.TaskRef) (list []mapping.Step) {
	t.Helper()
	for range 50 {
		s := b.Step(t, t.Context(), ref, nil)
		if list = append(list, s); s.IsLast {
			return list
		}
	}
	t.Fatal("50 steps and none is the last")
	return nil
}

// listed checks that List and Get agree with the POSTs, also after a restart.
func (b *bench) listed(t *testing.T, ref adapter.TaskRef, want []mapping.Step) {
	t.Helper()
	for _, when := range []string{"live", "after a restart"} {
		got, total, err := b.ListSteps(t.Context(), ref, adapter.Page{Number: 1, Size: 100})
		if err != nil || total != len(want) {
			t.Fatalf("%s: %d steps, %v", when, total, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, listed instead of handed out:\n%s", when, diff)
		}
		for _, w := range want {
			if got, err := b.GetStep(t.Context(), ref, w.ID); err != nil || cmp.Diff(w, got) != "" {
				t.Errorf("%s: step %d reads %+v, %v", when, w.N, got, err)
			}
		}
		b.Again(t)
	}
}

func TestLockstepTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, ref := b.Task(t, t.Context(), "legacy", "do it")
	if th, err := b.GetThread(t.Context(), task.ID); err != nil || th.Status != mapping.ThreadIdle {
		t.Fatalf("thread %+v, %v", th, err)
	}
	steps := []mapping.Step{b.Step(t, t.Context(), ref, say("do it")), b.Step(t, t.Context(), ref, say("mind the gap")), b.Step(t, t.Context(), ref, nil)}
	want := []string{"1 step 1, told do it false", "2 step 2, told mind the gap false", "3 step 3, told nothing true"}
	if diff := cmp.Diff(want, outputs(steps)); diff != "" {
		t.Errorf("steps:\n%s", diff)
	}
	if s := b.Step(t, t.Context(), ref, nil); cmp.Diff(s, steps[2]) != "" {
		t.Errorf("a POST after the last gave %+v", s)
	}
	if b.Legacy.Calls.Load() != 3 {
		t.Errorf("the agent was called %d times", b.Legacy.Calls.Load())
	}
	b.listed(t, ref, steps)
}

func TestFreeTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ref := b.Task(t, t.Context(), "graph", "hello")
	steps := b.all(t, ref)
	want := []string{"1 said by a false", "2 said by b false", "3 said by c true"}
	if diff := cmp.Diff(want, outputs(steps)); diff != "" {
		t.Errorf("steps:\n%s", diff)
	}
	if b.Graph.Calls.Load() != 1 {
		t.Errorf("%d runs", b.Graph.Calls.Load())
	}
	b.listed(t, ref, steps)
}

func TestAStepIsHandedOutUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, agent := range []string{"legacy", "graph"} {
		_, ref := b.Task(t, t.Context(), agent, "hello")
		ctx, leave := context.WithCancel(t.Context())
		lost := b.Handout(t, ctx, ref, adapter.StepRequest{Input: say("hello")})
		leave()
		lost.Release() // the response was not written
		got := b.Handout(t, t.Context(), ref, adapter.StepRequest{Input: say("hello")})
		if cmp.Diff(lost.Step, got.Step) != "" {
			t.Errorf("%s: the lost step came again as\n%s", agent, cmp.Diff(lost.Step, got.Step))
		}
		got.Confirm()
		if s := b.Step(t, t.Context(), ref, nil); s.N != 2 {
			t.Errorf("%s: then came step %d", agent, s.N)
		}
	}
}

func TestPostsOfOneTaskTakeTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Legacy.Does(servicetest.Lockstep(8))
	_, ref := b.Task(t, t.Context(), "legacy", "hello")
	var mu sync.Mutex
	got := map[int]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			h, err := b.ExecuteStep(t.Context(), ref, adapter.StepRequest{})
			if err != nil {
				t.Error(err)
				return
			}
			h.Confirm()
			mu.Lock()
			got[h.Step.N]++
			mu.Unlock()
		})
	}
	all.Wait()
	for n := 1; n <= 8; n++ {
		if got[n] != 1 {
			t.Errorf("step %d was handed out %d times", n, got[n])
		}
	}
	if n := b.Legacy.Calls.Load(); n != 8 {
		t.Errorf("the agent was called %d times", n)
	}
}

func TestAQuestionIsAnsweredByTheNextStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Graph.Does(servicetest.Asking)
	_, ref := b.Task(t, t.Context(), "graph", "paint")
	steps := []mapping.Step{b.Step(t, t.Context(), ref, nil)}
	if s := steps[0]; s.IsLast || s.Output == nil || *s.Output != "which colour?" {
		t.Fatalf("the question came as %+v", s)
	}
	steps = append(steps, b.Step(t, t.Context(), ref, say("blue")))
	if diff := cmp.Diff([]string{"1 which colour? false", "2 said by after blue true"}, outputs(steps)); diff != "" {
		t.Errorf("steps:\n%s", diff)
	}
	b.listed(t, ref, steps)
}

func TestAQuestionAnsweredThroughTheOtherFace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Graph.Does(servicetest.Asking)
	task, ref := b.Task(t, t.Context(), "graph", "paint")
	b.Step(t, t.Context(), ref, nil)
	n := servicetest.NewRun(task.ThreadID, "graph", "")
	n.Input, n.HasInput, n.Kwargs = nil, false, nil
	n.Command = &adapter.Command{HasResume: true, Resume: json.RawMessage(`"green"`)}
	r, out := b.Start(t, t.Context(), n)
	if out.Status != mapping.RunSuccess || r.TaskID != task.ID {
		t.Fatalf("%+v, task %s", out, r.TaskID)
	}
	list, _, err := b.ListSteps(t.Context(), ref, adapter.Page{Number: 1, Size: 10})
	if err != nil || len(list) != 2 {
		t.Errorf("listed %v, %v", outputs(list), err)
	}
	if s := b.Step(t, t.Context(), ref, say("y")); s.N != 2 || !s.IsLast {
		t.Errorf("the next POST gave step %d, %v", s.N, *s.Output)
	}
	if c := b.Graph.Calls.Load(); c != 2 {
		t.Errorf("the agent was called %d times", c)
	}
}

func TestInputDuringARunIsAFollowUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, goOn := make(chan struct{}, 2), make(chan struct{})
	b.Graph.Does(func(ctx context.Context, task adapter.Assignment, yield servicetest.Yielder) {
		if task.Run.Options.FollowUp {
			servicetest.Nodes("more")(ctx, task, yield)
			return
		}
		servicetest.Held(started, goOn, servicetest.Nodes("a", "b"))(ctx, task, yield)
	})
	_, ref := b.Task(t, t.Context(), "graph", "hello")
	first := make(chan adapter.Handout, 1)
	go func() {
		h, err := b.ExecuteStep(t.Context(), ref, adapter.StepRequest{})
		if err != nil {
			t.Error(err)
		}
		first <- h
	}()
	<-started
	close(goOn)
	h := <-first
	h.Confirm()
	steps := []mapping.Step{h.Step, b.Step(t, t.Context(), ref, say("and more"))}
	for !steps[len(steps)-1].IsLast || len(steps) < 3 {
		if len(steps) > 5 {
			t.Fatalf("steps %v", outputs(steps))
		}
		steps = append(steps, b.Step(t, t.Context(), ref, nil))
	}
	if got := *steps[2].Output; got != "said by more" {
		t.Errorf("steps %v", outputs(steps))
	}
	b.listed(t, ref, steps)
}

// If a follow-up is requested before the run has ended, its last step is not the task's last.
func TestIsLastWaitsForAFollowUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, goOn := make(chan struct{}, 2), make(chan struct{})
	b.Graph.Does(func(ctx context.Context, task adapter.Assignment, yield servicetest.Yielder) {
		if task.Run.Options.FollowUp {
			servicetest.Nodes("more")(ctx, task, yield)
			return
		}
		_ = yield(servicetest.Linked(), nil)
		for i, name := range []string{"a", "b"} {
			data := json.RawMessage(fmt.Sprintf(`{"messages":[{"id":"%s","type":"ai","content":"said by %s"}]}`, name, name))
			if !yield(mapping.Event{Kind: mapping.KindUpdate, Data: data, Head: mapping.Head{Node: name}}, nil) {
				return
			}
			if i == 1 {
				servicetest.Held(started, goOn, func(context.Context, adapter.Assignment, servicetest.Yielder) {})(ctx, task, yield)
			}
		}
		yield(servicetest.End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
	})
	_, ref := b.Task(t, t.Context(), "graph", "hello")
	steps := []mapping.Step{b.Step(t, t.Context(), ref, nil)}
	<-started // the second step exists and is held
	second := make(chan adapter.Handout, 1)
	go func() {
		h, err := b.ExecuteStep(t.Context(), ref, adapter.StepRequest{Input: say("and more")})
		if err != nil {
			t.Error(err)
		}
		second <- h
	}()
	servicetest.Eventually(t, "the follow-up", func() bool {
		list, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: ref.ID}))
		return err == nil && len(list) == 2
	})
	close(goOn)
	h := <-second
	h.Confirm()
	steps = append(steps, h.Step, b.Step(t, t.Context(), ref, nil))
	if diff := cmp.Diff([]string{"1 said by a false", "2 said by b false", "3 said by more true"}, outputs(steps)); diff != "" {
		t.Errorf("steps:\n%s", diff)
	}
	b.listed(t, ref, steps)
}

func TestCancelOfATask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cancelled := func(ref adapter.TaskRef) {
		t.Helper()
		if _, err := b.CancelTask(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		if th, err := b.GetThread(t.Context(), ref.ID); err != nil || th.Status != mapping.ThreadIdle {
			t.Errorf("thread %s, %v", th.Status, err)
		}
	}
	_, before := b.Task(t, t.Context(), "legacy", "never")
	cancelled(before)
	if s := b.Step(t, t.Context(), before, nil); !s.IsLast || s.N != 1 {
		t.Errorf("a step of a task cancelled before its first: %+v", s)
	}
	if b.Legacy.Calls.Load() != 0 {
		t.Error("the agent was called for a task that was cancelled before")
	}
	_, parked := b.Task(t, t.Context(), "legacy", "parked")
	b.Step(t, t.Context(), parked, nil)
	cancelled(parked)
	if s := b.Step(t, t.Context(), parked, nil); !s.IsLast || s.N != 2 {
		t.Errorf("a step of a cancelled task: %+v", s)
	}
	started := make(chan struct{}, 1)
	b.Graph.Does(servicetest.Held(started, nil, nil))
	_, running := b.Task(t, t.Context(), "graph", "running")
	done := make(chan mapping.Step, 1)
	go func() {
		h, err := b.ExecuteStep(t.Context(), running, adapter.StepRequest{})
		if err != nil {
			t.Error(err)
		} else {
			h.Confirm()
		}
		done <- h.Step
	}()
	<-started
	cancelled(running)
	if s := <-done; !s.IsLast {
		t.Errorf("the POST that waited got %+v", s)
	}
	cancelled(running) // again
}

func TestFailureOfTheAgentIsTheLastStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Legacy.Does(func(_ context.Context, _ adapter.Assignment, yield servicetest.Yielder) {
		yield(mapping.Event{}, mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "it broke"))
	})
	_, ref := b.Task(t, t.Context(), "legacy", "hello")
	s := b.Step(t, t.Context(), ref, nil)
	var extra struct {
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(s.AdditionalOutput, &extra); err != nil || !s.IsLast || s.Status != mapping.StepCompleted || extra.Error.Message != "it broke" {
		t.Errorf("step %+v, additional %s", s, s.AdditionalOutput)
	}
	b.listed(t, ref, []mapping.Step{s})
}

func TestFollowYieldsStepsAsTheyAreReleased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ref := b.Task(t, t.Context(), "graph", "hello")
	want := outputs(b.all(t, ref))
	for after := range 3 {
		var got []mapping.Step
		for s, err := range b.FollowSteps(t.Context(), ref, after) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(want[after:], outputs(got)); diff != "" {
			t.Errorf("after %d:\n%s", after, diff)
		}
	}
}

func TestAnIdleTaskIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) {
		for name, a := range c.Agents {
			a.Stepping.Idle = 40 * time.Millisecond
			c.Agents[name] = a
		}
	})
	started := make(chan struct{}, 1)
	b.Graph.Does(func(ctx context.Context, task adapter.Assignment, yield servicetest.Yielder) {
		_ = yield(servicetest.Linked(), nil)
		for _, name := range []string{"a", "b"} {
			yield(mapping.Event{Kind: mapping.KindUpdate, Data: json.RawMessage(`{"messages":[{"type":"ai","content":"x"}]}`), Head: mapping.Head{Node: name}}, nil)
		}
		servicetest.Held(started, nil, nil)(ctx, task, yield)
	})
	for _, confirm := range []bool{true, false} {
		_, ref := b.Task(t, t.Context(), "graph", "hello")
		ctx, leave := context.WithCancel(t.Context())
		h := b.Handout(t, ctx, ref, adapter.StepRequest{})
		if confirm {
			h.Confirm()
		}
		h.Release()
		leave()
		<-started
		servicetest.Eventually(t, "the cancellation", func() bool {
			list, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: ref.ID}))
			return err == nil && len(list) == 1 && list[0].Status == mapping.RunInterrupted
		})
	}
}

func TestTaskIsDeletedWithItsThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, ref := b.Task(t, t.Context(), "graph", "hello")
	b.all(t, ref)
	runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: task.ThreadID}))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	if err := b.DeleteThread(t.Context(), task.ThreadID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.GetTask(t.Context(), ref); class(err) != mapping.NotFound {
		t.Errorf("the task: %v", err)
	}
	if list, _, err := b.ListSteps(t.Context(), ref, adapter.Page{Number: 1, Size: 10}); class(err) != mapping.NotFound {
		t.Errorf("its steps: %d, %v", len(list), err)
	}
	for _, err := range b.RunEvents(t.Context(), adapter.RunRef{RunID: runs[0].ID}, adapter.Cursor{Start: true}, nil) {
		if class(err) != mapping.NotFound {
			t.Errorf("its run's events: %v", err)
		}
		break
	}
}
