package store_test

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// asks ends a run with a question.
func (b *harness) asks(c *store.CreateRunResult, id string) {
	b.t.Helper()
	o := mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: []mapping.Interrupt{{ID: id, Value: []byte(`1`)}}}
	_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &store.End{Outcome: o, Thread: o.Thread()},
		Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}}})
	b.ok(err)
}

// on returns a new run of an agent on the thread of another run.
func on(c *store.CreateRunResult, agent string) *store.CreateRun {
	n := newRun(c.Run.ThreadID, mapping.StrategyReject)
	n.Run.Agent, n.Task.Agent = agent, agent
	return n
}

// open returns the ids of a thread's open questions and its status.
func (b *harness) open(thread string) (ids []string, status mapping.ThreadStatus) {
	b.t.Helper()
	th, err := b.Threads.Get(b.ctx, thread)
	b.ok(err)
	for _, q := range th.Interrupts {
		ids = append(ids, q.ID)
	}
	return ids, th.Status
}

// A run that starts closes the questions of its own task and its agent. Those of other agents on the thread remain
// open.
func TestQuestionsThatStayOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next func(b *harness, echo, other *store.CreateRunResult) *store.CreateRun
		left []string
	}{
		"an answer": {func(_ *harness, echo, _ *store.CreateRunResult) *store.CreateRun {
			n := on(echo, "echo")
			n.Task, n.Run.TaskID = nil, echo.Run.TaskID
			return n
		}, []string{"q2"}},
		"new input":               {func(_ *harness, echo, _ *store.CreateRunResult) *store.CreateRun { return on(echo, "echo") }, []string{"q2"}},
		"new input for the other": {func(_ *harness, echo, _ *store.CreateRunResult) *store.CreateRun { return on(echo, "other") }, []string{"q1"}},
		"input for a third":       {func(_ *harness, echo, _ *store.CreateRunResult) *store.CreateRun { return on(echo, "third") }, []string{"q1", "q2"}},
		"beside": {func(_ *harness, echo, _ *store.CreateRunResult) *store.CreateRun {
			n := on(echo, "echo")
			n.Run.Multitask = mapping.StrategyConcurrent
			return n
		}, []string{"q1", "q2"}},
		"from before": {func(b *harness, echo, _ *store.CreateRunResult) *store.CreateRun {
			n := on(echo, "third")
			list, err := b.States.Checkpoints(b.ctx, echo.Run.ThreadID, store.CheckpointQuery{})
			b.ok(err)
			n.Run.Options.Checkpoint = list[len(list)-1].ID
			return n
		}, nil},
	} {
		for _, claimed := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "", false: ", later"}[claimed], func(t *testing.T) {
				t.Parallel()
				onBoth(t, func(t *testing.T, open opener) {
					b := open(t)
					echo := b.create(newThreadRun())
					b.append(echo, update(`{"a":1}`), update(`{"a":2}`))
					b.asks(echo, "q1")
					other := b.create(on(echo, "other"))
					b.asks(other, "q2")
					if ids, status := b.open(echo.Run.ThreadID); !slices.Equal(ids, []string{"q1", "q2"}) || status != mapping.ThreadInterrupted {
						t.Fatalf("before: %v %s", ids, status)
					}
					n := c.next(b, echo, other)
					n.Claim = claimed
					made := b.create(n)
					if !claimed {
						_, got, _ := b.claims()
						made = created(got)
						b.append(made, mapping.Event{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 1}})
					}
					if ids, _ := b.open(echo.Run.ThreadID); !slices.Equal(ids, c.left) {
						t.Errorf("while it runs: %v", ids)
					}
					b.end(made, mapping.RunSuccess)
					ids, status := b.open(echo.Run.ThreadID)
					if d := cmp.Diff(c.left, ids); d != "" || (status == mapping.ThreadInterrupted) != (len(c.left) > 0) {
						t.Errorf("after its end (-want +got): %s %s", d, status)
					}
				})
			})
		}
	}
}

// Nobody could receive the answer after the run was deleted.
func TestQuestionIsRemovedWithItsRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		echo := b.create(newThreadRun())
		b.asks(echo, "q1")
		other := b.create(on(echo, "other"))
		b.asks(other, "q2")
		b.ok(b.Runs.Delete(b.ctx, echo.Run.ThreadID, echo.Run.ID))
		if ids, status := b.open(echo.Run.ThreadID); !slices.Equal(ids, []string{"q2"}) || status != mapping.ThreadInterrupted {
			t.Errorf("one should be left: %v %s", ids, status)
		}
		b.ok(b.Runs.Delete(b.ctx, echo.Run.ThreadID, other.Run.ID))
		if ids, status := b.open(echo.Run.ThreadID); len(ids) > 0 || status != mapping.ThreadIdle {
			t.Errorf("none should be left: %v %s", ids, status)
		}
	})
}

// The questions of a cancelled task are closed, even if the cancelled run has not begun. Those of other tasks remain.
func TestCancelledTaskHasNoQuestion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		echo := b.create(newThreadRun())
		b.asks(echo, "q1")
		other := b.create(on(echo, "other"))
		b.asks(other, "q2")
		for _, c := range []struct {
			of   *store.CreateRunResult
			left []string
		}{{echo, []string{"q2"}}, {other, nil}} {
			n := on(c.of, c.of.Run.Agent)
			n.Task, n.Run.TaskID, n.Claim = nil, c.of.Run.TaskID, false
			made := b.create(n)
			o := mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}
			_, err := b.Events.EndInactive(b.ctx, echo.Run.ThreadID, made.Run.ID, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}, store.End{Outcome: o, Thread: o.Thread()})
			b.ok(err)
			if ids, status := b.open(echo.Run.ThreadID); !slices.Equal(ids, c.left) || (status == mapping.ThreadInterrupted) != (len(c.left) > 0) {
				t.Errorf("open: %v %s, want %v", ids, status, c.left)
			}
		}
	})
}
