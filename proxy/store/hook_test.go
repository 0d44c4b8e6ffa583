package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// says is the WriteHook of these tests: the notification has the hook's id and the status, and the token as a header.
func says(h mapping.Hook, status mapping.TaskStatus) *store.Webhook {
	return &store.Webhook{Header: map[string]string{"Token": h.Token}, Body: []byte(h.ID + " " + string(status))}
}

func hookAt(id, url string, fires ...mapping.TaskStatus) mapping.Hook {
	return mapping.Hook{ID: id, Flavour: "f", URL: url, Token: "secret of " + id, Scheme: "Bearer", Credentials: "also secret", Fires: fires}
}

// hookedRun returns a run of a new task with these hooks.
func hookedRun(thread string, hooks ...mapping.Hook) *store.CreateRun {
	n := newRun(thread, mapping.StrategyEnqueue)
	n.Hooks, n.WriteHook = hooks, says
	return n
}

// further returns another run of c's task.
func further(c *store.CreateRunResult) *store.CreateRun {
	n := newRun(c.Run.ThreadID, mapping.StrategyEnqueue)
	n.Task, n.Run.TaskID, n.WriteHook = nil, c.Run.TaskID, says
	return n
}

func (b *harness) outcome(c *store.CreateRunResult, o mapping.Outcome) {
	b.t.Helper()
	e := store.End{Outcome: o, Thread: o.Thread(), Hook: says}
	_, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e,
		Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}}}})
	b.ok(err)
}

// delivered claims and delivers everything that is due, and returns the bodies in order.
func (b *harness) delivered() (said []string) {
	b.t.Helper()
	for {
		list, _ := b.due(9, nil)
		if len(list) == 0 {
			return said
		}
		for _, d := range list {
			if want := "secret of " + d.Hook; d.Header["Token"] != want || string(d.Body) != d.Hook+" "+string(d.Status) {
				b.t.Errorf("hook %s, status %s: body %q, header %v", d.Hook, d.Status, d.Body, d.Header)
			}
			said = append(said, string(d.Body))
			b.ok(b.Deliveries.Delivered(b.ctx, d))
		}
	}
}

var asks = mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: []mapping.Interrupt{{ID: "q", Value: []byte(`"sure?"`)}}}

// TestHooksAreNotifiedOfTheirStatuses checks that each hook is notified of the statuses that it names, in the
// transaction of the change and in order.
func TestHooksAreNotifiedOfTheirStatuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, store.Options{})
		all := hookAt("all", "http://h/1", mapping.TaskStatuses()...)
		c := b.create(hookedRun(b.thread().ID, all, hookAt("asks", "http://h/2", mapping.TaskAsking)))
		b.outcome(c, asks)
		answer := b.create(further(c))
		waiting := b.create(further(c)) // it changes nothing before it starts
		if waiting.Claimed != nil {
			t.Fatal("a run was claimed while another run of its task was active")
		}
		b.outcome(answer, mapping.Outcome{Status: mapping.RunSuccess}) // the end of a run that is followed by another
		started := b.claimed(waiting)
		_, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: c.Run.ThreadID, RunID: started.Run.ID, Fence: started.Claimed.Fence, WriteHook: says,
			Events: []mapping.Event{{Kind: mapping.KindStarted}}})
		b.ok(err)
		b.outcome(started, mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true})
		list, err := b.Deliveries.List(b.ctx, "", 0)
		b.ok(err)
		ids := map[string]bool{}
		for _, d := range list {
			ids[d.ID] = true
		}
		if len(ids) != len(list) {
			t.Errorf("%d different ids for %d deliveries", len(ids), len(list))
		}
		byHook := map[string][]string{}
		for _, said := range b.delivered() {
			var hook, status string
			_, _ = fmt.Sscan(said, &hook, &status)
			byHook[hook] = append(byHook[hook], status)
		}
		want := map[string][]string{"all": {"working", "asking", "working", "cancelled"}, "asks": {"asking"}}
		if diff := cmp.Diff(want, byHook); diff != "" {
			t.Errorf("statuses by hook (-want +got):\n%s", diff)
		}
		task, err := b.Tasks.Get(b.ctx, c.Run.TaskID)
		b.ok(err)
		if task.Status != mapping.TaskCancelled {
			t.Errorf("the task is %s, want cancelled", task.Status)
		}
	})
}

// claimed claims a waiting run.
func (b *harness) claimed(c *store.CreateRunResult) *store.CreateRunResult {
	b.t.Helper()
	got, _, err := b.Claims.ClaimNext(b.ctx, nil)
	b.ok(err)
	if got == nil || got.Run.ID != c.Run.ID {
		b.t.Fatalf("claimed %+v", got)
	}
	c.Claimed = got
	return c
}

// TestHookIsNotifiedInOrder checks that a delivery waits only for earlier ones to the same hook.
func TestHookIsNotifiedInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		one, two := hookAt("1", "http://h/1", mapping.TaskStatuses()...), hookAt("2", "http://h/2", mapping.TaskStatuses()...)
		c := b.create(hookedRun(b.thread().ID, one, two))
		b.outcome(c, mapping.Outcome{Status: mapping.RunSuccess})
		first, _ := b.due(9, nil)
		if len(first) != 2 || first[0].Status != mapping.TaskWorking || first[1].Status != mapping.TaskWorking {
			t.Fatalf("got %+v", first)
		}
		b.ok(b.Deliveries.Failed(b.ctx, first[0], "HTTP 500", time.Second))
		b.ok(b.Deliveries.Delivered(b.ctx, first[1]))
		next, _ := b.due(9, nil)
		if len(next) != 1 || next[0].Hook != "2" || next[0].Status != mapping.TaskDone {
			t.Fatalf("got %+v", next)
		}
		clock.at = clock.at.Add(time.Second)
		again, _ := b.due(9, nil)
		if len(again) != 1 || again[0].ID != first[0].ID {
			t.Fatalf("got %+v", again)
		}
		b.ok(b.Deliveries.Dead(b.ctx, again[0], "HTTP 410"))
		if last, _ := b.due(9, nil); len(last) != 1 || last[0].Hook != "1" || last[0].Status != mapping.TaskDone {
			t.Fatalf("got %+v", last)
		}
	})
}

// TestHooksOfATask checks that hooks are read without their secrets, replaced, limited, and deleted together with their
// pending deliveries.
func TestHooksOfATask(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, store.Options{})
		c := b.create(hookedRun(b.thread().ID))
		task := c.Run.TaskID
		_, err := b.Tasks.PutHook(b.ctx, task, hookAt("b", "http://h/1", mapping.TaskDone), writeEnded)
		b.ok(err)
		_, err = b.Tasks.PutHook(b.ctx, task, hookAt("a", "http://h/2", mapping.TaskDone), writeEnded)
		b.ok(err)
		_, err = b.Tasks.PutHook(b.ctx, task, hookAt("b", "http://h/3", mapping.TaskFailed, mapping.TaskDone), writeEnded)
		b.ok(err)
		list, err := b.Tasks.Hooks(b.ctx, task)
		b.ok(err)
		for i := range list {
			list[i].CreatedAt = time.Time{}
		}
		want := []mapping.Hook{
			{ID: "a", Flavour: "f", URL: "http://h/2", Scheme: "Bearer", Fires: []mapping.TaskStatus{mapping.TaskDone}},
			{ID: "b", Flavour: "f", URL: "http://h/3", Scheme: "Bearer", Fires: []mapping.TaskStatus{mapping.TaskFailed, mapping.TaskDone}},
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("hooks (-want +got):\n%s", diff)
		}
		_, err = b.as("other").Tasks.Hooks(b.as("other").ctx, task)
		wantClass(t, err, mapping.NotFound, mapping.CodeTaskNotFound)

		b.outcome(c, mapping.Outcome{Status: mapping.RunSuccess})
		b.ok(b.Tasks.DeleteHook(b.ctx, task, "b"))
		b.ok(b.Tasks.DeleteHook(b.ctx, task, "b"))
		if diff := cmp.Diff([]string{"a done"}, b.delivered()); diff != "" {
			t.Errorf("hooks after a deletion (-want +got):\n%s", diff)
		}
		for i := range store.MaxHooks - 1 {
			_, err := b.Tasks.PutHook(b.ctx, task, hookAt(fmt.Sprint("more", i), "http://h/1", mapping.TaskDone), writeEnded)
			b.ok(err)
		}
		_, err = b.Tasks.PutHook(b.ctx, task, hookAt("one too many", "http://h/1", mapping.TaskDone), writeEnded)
		wantClass(t, err, mapping.Limited, "too_many_hooks")
		b.ok(b.Threads.Delete(b.ctx, c.Run.ThreadID))
		_, err = b.Tasks.Hooks(b.ctx, task)
		wantClass(t, err, mapping.NotFound, mapping.CodeTaskNotFound)
	})
}

// TestADeletedHookSettlesNoOtherDelivery deletes a hook while it is being notified. What becomes of that attempt must not
// change a later delivery, to which SQLite gives the same key.
func TestADeletedHookSettlesNoOtherDelivery(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, store.Options{})
		c := b.create(hookedRun(b.thread().ID))
		_, err := b.Tasks.PutHook(b.ctx, c.Run.TaskID, hookAt("a", "http://h/1", mapping.TaskDone), writeEnded)
		b.ok(err)
		b.outcome(c, mapping.Outcome{Status: mapping.RunSuccess})
		list, _ := b.due(9, nil)
		if len(list) != 1 {
			t.Fatalf("got %+v", list)
		}
		b.ok(b.Tasks.DeleteHook(b.ctx, c.Run.TaskID, "a"))
		later := b.hooked("http://h/2")
		b.ok(b.Deliveries.Delivered(b.ctx, list[0]))
		b.ok(b.Deliveries.Dead(b.ctx, list[0], "refused"))
		b.ok(b.Deliveries.Returned(b.ctx, list[0]))
		if rest, _ := b.due(9, nil); len(rest) != 1 || rest[0].RunID != later.Run.ID || rest[0].Attempts != 1 {
			t.Errorf("still due is %+v", rest)
		}
	})
}

// TestTasksByStatus checks that tasks are listed by the time of their status, in pages that do not depend on changes in
// earlier pages.
func TestTasksByStatus(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		begun := clock.at
		var made []*store.CreateRunResult
		for range 5 {
			made = append(made, b.create(newThreadRun()))
		}
		for i, k := range []int{3, 0, 2} { // the others change at the same time
			clock.at = begun.Add(time.Duration(i+1) * time.Second)
			b.outcome(made[k], []mapping.Outcome{{Status: mapping.RunSuccess}, asks, {Status: mapping.RunSuccess}}[i])
		}
		list := func(q store.TaskQuery, total int) (ids []string, last mapping.TaskMark) {
			t.Helper()
			q.Agent, q.ByStatus = "echo", true
			tasks, n, err := b.Tasks.List(b.ctx, q)
			b.ok(err)
			if n != total {
				t.Errorf("%+v: total %d, want %d", q, n, total)
			}
			for _, k := range tasks {
				ids, last = append(ids, k.ID), mapping.TaskMark{StatusAt: k.StatusAt, ID: k.ID}
			}
			return ids, last
		}
		id := func(k int) string { return made[k].Run.TaskID }
		want := []string{id(2), id(0), id(3), id(4), id(1)}
		all, _ := list(store.TaskQuery{}, 5)
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("all tasks (-want +got):\n%s", diff)
		}
		var pages []string
		for q := (store.TaskQuery{Limit: 2}); ; {
			ids, last := list(q, 5)
			if len(ids) == 0 {
				break
			}
			pages, q.After = append(pages, ids...), last
		}
		if diff := cmp.Diff(want, pages); diff != "" {
			t.Errorf("tasks page by page (-want +got):\n%s", diff)
		}
		done, _ := list(store.TaskQuery{Status: []mapping.TaskStatus{mapping.TaskDone, mapping.TaskFailed}}, 2)
		since, _ := list(store.TaskQuery{Since: begun.Add(2 * time.Second)}, 2)
		if diff := cmp.Diff([][]string{{id(2), id(3)}, {id(2), id(0)}}, [][]string{done, since}); diff != "" {
			t.Errorf("tasks by status, and by time (-want +got):\n%s", diff)
		}
	})
}

// TestTaskStatus checks that a task has the status of its newest run, even after that was deleted, and the time of the
// change.
func TestTaskStatus(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		want := func(id string, status mapping.TaskStatus, at time.Time) {
			t.Helper()
			task, err := b.Tasks.Get(b.ctx, id)
			b.ok(err)
			if task.Status != status || !task.StatusAt.Equal(at) {
				t.Errorf("the task is %s since %s, want %s since %s", task.Status, task.StatusAt, status, at)
			}
		}
		begun := clock.at
		c := b.create(newRun(b.thread().ID, mapping.StrategyReject))
		task := c.Run.TaskID
		clock.at = begun.Add(time.Second)
		want(task, mapping.TaskWorking, begun)
		b.append(c, mapping.Event{Kind: mapping.KindStarted, Head: mapping.Head{Attempt: 2}})
		want(task, mapping.TaskWorking, begun)
		b.outcome(c, asks)
		asked := clock.at
		want(task, mapping.TaskAsking, asked)
		clock.at = begun.Add(2 * time.Second)
		answer := b.create(further(c))
		want(task, mapping.TaskWorking, clock.at)
		b.outcome(answer, mapping.Outcome{Status: mapping.RunError})
		want(task, mapping.TaskFailed, clock.at)
		clock.at = begun.Add(3 * time.Second)
		b.ok(b.Runs.Delete(b.ctx, answer.Run.ThreadID, answer.Run.ID))
		want(task, mapping.TaskAsking, clock.at)
		for status, out := range map[mapping.TaskStatus]mapping.Outcome{
			mapping.TaskRejected:  {Status: mapping.RunError, Fault: &mapping.Fault{Code: mapping.CodeAgentRejected, Message: "not my job"}},
			mapping.TaskFailed:    {Status: mapping.RunTimeout},
			mapping.TaskCancelled: {Status: mapping.RunInterrupted, Cancelled: true, Reason: mapping.CancelledByRequest},
			mapping.TaskDone:      {Status: mapping.RunSuccess},
		} {
			first := b.create(newRun(b.thread().ID, mapping.StrategyReject))
			b.outcome(first, out)
			more := b.create(further(first))
			b.outcome(more, asks)
			b.ok(b.Runs.Delete(b.ctx, more.Run.ThreadID, more.Run.ID))
			want(first.Run.TaskID, status, clock.at)
		}
	})
}

// writeEnded writes a notification of a run that has ended.
func writeEnded(*mapping.Run) store.WriteHook {
	return func(h mapping.Hook, s mapping.TaskStatus) *store.Webhook {
		return &store.Webhook{Header: map[string]string{"Token": h.Token}, Body: []byte(h.ID + " " + string(s))}
	}
}

// TestHookOfAnEndedTask checks that a hook which is added after the end of its task is notified of the end.
func TestHookOfAnEndedTask(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t, store.Options{})
		c := b.create(hookedRun(b.thread().ID))
		put := func(id string, fires ...mapping.TaskStatus) {
			_, err := b.Tasks.PutHook(b.ctx, c.Run.TaskID, hookAt(id, "http://h/1", fires...), writeEnded)
			b.ok(err)
		}
		put("early", mapping.TaskAsking)
		b.outcome(c, mapping.Outcome{Status: mapping.RunSuccess})
		put("late", mapping.TaskStatuses()...)
		put("of failures", mapping.TaskFailed)
		if diff := cmp.Diff([]string{"late done"}, b.delivered()); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
	})
}
