package stepping_test

import (
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/google/go-cmp/cmp"
)

func TestIdempotentTasksAndSteps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := adapter.TaskRequest{Agent: "legacy", Input: say("hello"), IdempotencyKey: "k1"}
	first, err := b.CreateTask(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.CreateTask(t.Context(), n); err != nil || again.ID != first.ID {
		t.Errorf("again: %v, %v", again.ID, err)
	}
	n.Input = say("other words")
	if _, err := b.CreateTask(t.Context(), n); class(err) != mapping.Invalid {
		t.Errorf("another request under the key: %v", err)
	}
	ref := adapter.TaskRef{Agent: "legacy", ID: first.ID}
	req := adapter.StepRequest{Input: say("one"), IdempotencyKey: "s1"}
	h := b.Handout(t, t.Context(), ref, req)
	h.Confirm()
	again := b.Handout(t, t.Context(), ref, req)
	again.Confirm()
	if cmp.Diff(h.Step, again.Step) != "" {
		t.Errorf("the same POST gave\n%s", cmp.Diff(h.Step, again.Step))
	}
	b.Again(t)
	again = b.Handout(t, t.Context(), ref, req)
	again.Confirm()
	if again.Step.ID != h.Step.ID {
		t.Errorf("after a restart it gave step %d", again.Step.N)
	}
	if _, err := b.ExecuteStep(t.Context(), ref, adapter.StepRequest{Input: say("two"), IdempotencyKey: "s1"}); class(err) != mapping.Invalid {
		t.Errorf("another request under the key: %v", err)
	}
	if s := b.Step(t, t.Context(), ref, say("two")); s.N != 2 {
		t.Errorf("then came step %d", s.N)
	}
	if c := b.Legacy.Calls.Load(); c != 2 {
		t.Errorf("the agent was called %d times", c)
	}
}

// A repeated POST whose response was lost creates its follow-up once.
func TestRepeatedPOSTCreatesOneFollowUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ref := b.Task(t, t.Context(), "graph", "hello")
	b.Step(t, t.Context(), ref, nil)
	req := adapter.StepRequest{Input: say("and more"), IdempotencyKey: "s1"}
	b.Handout(t, t.Context(), ref, req) // interrupted before it was written
	servicetest.Eventually(t, "the follow-up", func() bool {
		runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: ref.ID}))
		return err == nil && len(runs) == 2
	})
	b.Again(t) // the bridge also died
	h := b.Handout(t, t.Context(), ref, req)
	h.Confirm()
	if runs, err := adapter.All(b.ListRuns(t.Context(), mapping.RunQuery{ThreadID: ref.ID})); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
