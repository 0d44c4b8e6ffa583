package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// endWith ends a run with totals.
func (b *harness) endWith(c *store.CreateRunResult, e store.End, n mapping.RunTotals) {
	b.t.Helper()
	e.Totals = &n
	a := store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e}
	if !e.Outcome.Parked {
		a.Events = []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}}}
	}
	_, _, err := b.Events.Append(b.ctx, a)
	b.ok(err)
}

// The activity has exactly the runs that the caller can list, with their usage.
func TestActivityHasTheRunsThatTheCallerSees(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := func(key string, own bool) *harness {
			c := *b
			c.ctx = mapping.WithPrincipal(b.ctx, mapping.Principal{ID: key, Own: own})
			return &c
		}
		b.runOf("one", "")
		spent := b.create(newThreadRun())
		b.endWith(spent, ending(mapping.RunError), mapping.RunTotals{Steps: 2, Usage: mapping.Usage{Input: 3, Output: 4, Cost: 0.5}})
		waits := newRun(spent.Run.ThreadID, mapping.StrategyEnqueue)
		b.create(newRun(spent.Run.ThreadID, mapping.StrategyReject))
		waits.Claim = false
		b.create(waits)
		b.as("other").runOf("one", "")

		of := func(b *harness, since time.Time) mapping.Activity {
			t.Helper()
			a, err := b.Runs.Activity(b.ctx, since)
			b.ok(err)
			if !a.Whole || a.Now.IsZero() {
				t.Errorf("%+v", a)
			}
			return a
		}
		all := of(b, time.Time{})
		if len(all.Ended) != 2 || all.Ended[1].Agent != "one" || all.Ended[1].Usage != (mapping.Usage{}) {
			t.Fatalf("%+v", all.Ended)
		}
		run, err := b.Runs.Get(b.ctx, "", spent.Run.ID)
		b.ok(err)
		want := mapping.EndedRun{Agent: "echo", Status: mapping.RunError, CreatedAt: run.CreatedAt, EndedAt: run.EndedAt, Usage: mapping.Usage{Input: 3, Output: 4, Cost: 0.5}}
		if d := cmp.Diff(want, all.Ended[0]); d != "" || run.Totals != (mapping.RunTotals{Steps: 2, Usage: want.Usage}) {
			t.Errorf("%s %+v", d, run.Totals)
		}
		if d := cmp.Diff([]mapping.OpenRuns{{Agent: "echo", Queued: 1, Running: 1}}, all.Open); d != "" {
			t.Error(d)
		}
		if a := of(b, run.EndedAt.Add(time.Microsecond)); len(a.Ended) != 0 || len(a.Open) != 1 {
			t.Errorf("later: %+v", a)
		}
		for name, c := range map[string]struct {
			as          *harness
			ended, open int
		}{
			"of one agent": {b.only("k", "one"), 1, 0}, "of the other": {b.only("k", "echo"), 1, 1}, "of none": {b.only("k", []string{}...), 0, 0},
			"of another tenant": {b.as("other"), 1, 0}, "of a third": {b.as("third"), 0, 0}, "own": {first("", true), 2, 1}, "another's own": {first("k", true), 0, 0},
		} {
			a := of(c.as, time.Time{})
			listed, err := c.as.Runs.List(c.as.ctx, mapping.RunQuery{})
			b.ok(err)
			active := len(slices.DeleteFunc(listed, func(r mapping.Run) bool { return !r.Status.Active() }))
			if len(a.Ended) != c.ended || len(a.Open) != c.open || active != 2*len(a.Open) {
				t.Errorf("%s: %+v, of which %d are active", name, a, active)
			}
		}
	})
}

// An agent reports the cost of its whole task. A parked run keeps what was counted when it is cancelled later.
func TestCostOfARunIsItsPartOfTheTask(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		thread, task := b.thread(), ""
		for _, c := range []struct{ task, run float64 }{{0.25, 0.25}, {0.75, 0.5}, {0.125, 0.125}, {0, 0}} {
			n := newRun(thread.ID, mapping.StrategyReject)
			if task != "" {
				n.Run.TaskID, n.Task = task, nil
			}
			made := b.create(n)
			task = made.Run.TaskID
			parked := ending(mapping.RunRunning)
			parked.Outcome.Parked = true
			b.endWith(made, parked, mapping.RunTotals{Steps: 1, Usage: mapping.Usage{Cost: c.task}})
			run, err := b.Runs.Get(b.ctx, "", made.Run.ID)
			b.ok(err)
			if run.Totals != (mapping.RunTotals{}) {
				t.Errorf("an active run has %+v", run.Totals)
			}
			out := mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}
			_, err = b.Events.EndInactive(b.ctx, run.ThreadID, run.ID, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}}, store.End{Outcome: out, Thread: out.Thread()})
			b.ok(err)
			run, err = b.Runs.Get(b.ctx, "", made.Run.ID)
			b.ok(err)
			if run.Totals != (mapping.RunTotals{Steps: 1, Usage: mapping.Usage{Cost: c.run}}) {
				t.Errorf("cost %v of the task: %+v", c.task, run.Totals)
			}
		}
	})
}
