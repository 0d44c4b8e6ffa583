package store_test

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/google/go-cmp/cmp"
)

func (b *harness) overdue(now clock.Reading) ([]store.Overdue, time.Time) {
	b.t.Helper()
	list, next, err := b.Retention.OverdueThreads(b.ctx, now, 1000)
	b.ok(err)
	return list, next
}

func at(t time.Time) clock.Reading { return clock.At(t) }

// expiring creates a thread with an expiry.
func (b *harness) expiring(expires time.Time) mapping.Thread {
	b.t.Helper()
	th, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: id(), Expires: expires}})
	b.ok(err)
	return th
}

func TestThreadsAreOverdueOnceTheyAreIdle(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		start := clock.at
		c := b.as("a").create(newThreadRun())
		b.thread()
		over := start
		_, err := b.Threads.Patch(b.as("a").ctx, c.Run.ThreadID, nil, &store.Expire{At: over})
		b.ok(err)
		if list, next := b.overdue(at(start.Add(time.Hour))); len(list) != 0 || !next.IsZero() {
			t.Fatal("during a run:", list, next)
		}
		e := ending(mapping.RunSuccess)
		e.Expire = start.Add(time.Second)
		_, _, err = b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, End: &e, Events: []mapping.Event{{Kind: mapping.KindEnd}}})
		b.ok(err)
		select {
		case <-b.Retention.Expiries():
		default:
			t.Error("the listener was not notified")
		}
		if list, next := b.overdue(at(start)); len(list) != 0 || !next.Equal(e.Expire) {
			t.Fatal("before it expires:", list, next)
		}
		list, next := b.overdue(at(e.Expire))
		if len(list) != 1 || list[0].ThreadID != c.Run.ThreadID || list[0].Tenant != "a" || !next.IsZero() {
			t.Fatal(list, next)
		}
		gone, err := b.Retention.DeleteThreads(b.ctx, list)
		b.ok(err)
		if d := cmp.Diff([]store.Gone{{Tenant: "a", ThreadID: c.Run.ThreadID, Runs: []mapping.Run{{Tenant: "a", ID: c.Run.ID, ThreadID: c.Run.ThreadID, TaskID: c.Run.TaskID}}, Tasks: []string{c.Run.TaskID}}}, gone); d != "" {
			t.Error(d)
		}
		_, err = b.Threads.Get(b.as("a").ctx, c.Run.ThreadID)
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
		_, err = b.Runs.Get(b.as("a").ctx, "", c.Run.ID)
		wantClass(t, err, mapping.NotFound, mapping.CodeRunNotFound)
	})
}

func TestThreadInUseAgainIsKept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		past := clock.at.Add(-time.Hour)
		busy, longer, rest := b.expiring(past), b.expiring(past), b.expiring(past)
		list, _ := b.overdue(at(clock.at))
		if len(list) != 3 {
			t.Fatal(list)
		}
		b.create(newRun(busy.ID, mapping.StrategyReject))
		future := clock.at.Add(time.Hour)
		_, err := b.Threads.Patch(b.ctx, longer.ID, nil, &store.Expire{At: future})
		b.ok(err)
		gone, err := b.Retention.DeleteThreads(b.ctx, list)
		b.ok(err)
		if len(gone) != 1 || gone[0].ThreadID != rest.ID {
			t.Errorf("deleted %+v", gone)
		}
		left, n, err := b.Threads.List(b.ctx, mapping.ThreadQuery{})
		b.ok(err)
		if n != 2 || len(left) != 2 {
			t.Errorf("left %+v", left)
		}
	})
}

func TestCopyOfAnExpiringThreadDoesNotExpire(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		th := b.expiring(clock.at)
		copied, err := b.Threads.Copy(b.ctx, th.ID, id(), store.IdempotencyKey{})
		b.ok(err)
		list, _ := b.overdue(at(clock.at.Add(time.Hour)))
		if len(list) != 1 || list[0].ThreadID != th.ID || !copied.Expires.IsZero() {
			t.Errorf("%+v, copy %+v", list, copied)
		}
	})
}

func TestExpiryUsesTheClockOfItsTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		start := clock.at
		old := b.expiring(start.Add(time.Hour))
		clock.at = start.AddDate(10, 0, 0) // clock jump
		now := at(clock.at.Add(time.Minute))
		now.Since, now.Horizon = clock.at.UnixMicro(), start.Add(time.Minute).UnixMicro()
		young := b.expiring(clock.at.Add(30 * time.Second))
		list, _ := b.overdue(now)
		if len(list) != 1 || list[0].ThreadID != young.ID {
			t.Fatalf("got %+v", list)
		}
		now.Horizon = start.Add(time.Hour).UnixMicro()
		if list, _ = b.overdue(now); len(list) != 2 || list[0].ThreadID != old.ID {
			t.Fatalf("got %+v", list)
		}
	})
}

func TestManyThreadsAreDeletedInFewTransactions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		for range 150 {
			b.expiring(clock.at)
		}
		kept := b.thread()
		list, _ := b.overdue(at(clock.at))
		gone, err := b.Retention.DeleteThreads(b.ctx, list)
		b.ok(err)
		left, _, err := b.Threads.List(b.ctx, mapping.ThreadQuery{})
		b.ok(err)
		if len(gone) != 150 || len(left) != 1 || left[0].ID != kept.ID {
			t.Errorf("%d threads deleted, left %+v", len(gone), left)
		}
	})
}

func TestIdleThreadsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		start := clock.at
		first, second := b.thread(), b.thread()
		b.create(newThreadRun())
		clock.at = start.Add(time.Hour)
		b.thread()
		page, err := b.Retention.IdleThreads(b.ctx, start, store.Overdue{}, 1)
		b.ok(err)
		if len(page) != 1 || page[0].ThreadID != first.ID {
			t.Fatalf("got %+v", page)
		}
		page, err = b.Retention.IdleThreads(b.ctx, start, page[0], 9)
		b.ok(err)
		if len(page) != 1 || page[0].ThreadID != second.ID {
			t.Fatalf("got %+v", page)
		}
	})
}

func TestTokensOfOldRunsAreDeleted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		old, active := b.create(newThreadRun()), b.create(newThreadRun())
		for range 1200 {
			b.append(old, token("1"), token("2"))
		}
		b.append(old, update(`{"a":1}`))
		b.append(active, token("1"))
		b.end(old, mapping.RunSuccess)
		ended := clock.at
		clock.at = clock.at.Add(time.Hour)
		young := b.create(newThreadRun())
		b.append(young, token("1"))
		b.end(young, mapping.RunSuccess)
		kinds := func(c *store.CreateRunResult) (n int) {
			evs, err := b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
			b.ok(err)
			return len(evs)
		}
		rounds := 0
		for more := true; more; rounds++ {
			var err error
			more, err = b.Retention.DeleteTokenEvents(b.ctx, ended)
			b.ok(err)
		}
		if got := []int{kinds(old), kinds(active), kinds(young)}; !cmp.Equal(got, []int{3, 2, 3}) || rounds != 3 {
			t.Errorf("events left: %v, after %d rounds", got, rounds)
		}
		if st, err := b.States.At(b.ctx, old.Run.ThreadID, ""); err != nil || len(st.Events) != 1 {
			t.Errorf("got %+v, %v", st, err)
		}
	})
}

// A thread is not idle and keeps its history if a cron will use it, its state is being updated, or its question is
// open.
func TestRetentionKeepsThreadsInUse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		start := clock.at
		idle, ticking, disabled, over, later, updating := b.thread(), b.thread(), b.thread(), b.thread(), b.thread(), b.thread()
		_, err := b.States.Hold(b.ctx, updating.ID, "", store.IdempotencyKey{})
		b.ok(err)
		cron := func(thread string, next time.Time, enabled bool) mapping.Cron {
			c, err := b.Crons.Create(b.ctx, mapping.Cron{ID: id(), ThreadID: thread, Agent: "agent", AssistantID: id(), Schedule: "@daily", Enabled: enabled, Next: next}, store.IdempotencyKey{})
			b.ok(err)
			return c
		}
		cron(ticking.ID, start.Add(24*time.Hour), true)
		cron(disabled.ID, time.Time{}, false)
		cron(over.ID, time.Time{}, true) // after its end
		asking := b.create(newThreadRun())
		b.say(asking, 1)
		first := b.history(asking.Run.ThreadID)[0]
		b.say(asking, 2)
		question := ending(mapping.RunInterrupted)
		question.Outcome.Interrupts = []mapping.Interrupt{{ID: "q", Value: []byte(`"which?"`)}}
		question.Thread = question.Outcome.Thread()
		_, _, err = b.Events.Append(b.ctx, store.Append{RunID: asking.Run.ID, Fence: asking.Claimed.Fence, End: &question, Events: []mapping.Event{{Kind: mapping.KindEnd}}})
		b.ok(err)

		now := start.Add(time.Hour)
		clock.at = now
		list, err := b.Retention.IdleThreads(b.ctx, now, store.Overdue{}, 100)
		b.ok(err)
		var ids []string
		for _, o := range list {
			ids = append(ids, o.ThreadID)
		}
		if d := cmp.Diff([]string{idle.ID, over.ID, later.ID}, ids); d != "" {
			t.Errorf("idle threads (-want +got):\n%s", d)
		}
		cron(later.ID, now.Add(time.Hour), true) // between listing and deletion
		gone, err := b.Retention.DeleteThreads(b.ctx, list)
		b.ok(err)
		if len(gone) != 2 {
			t.Errorf("deleted: %+v", gone)
		}
		_, err = b.Threads.Get(b.ctx, later.ID)
		b.ok(err)
		if n := b.forget(now); n != 0 {
			t.Errorf("%d checkpoints of a run that waits for an answer were deleted", n)
		}
		_, err = b.States.At(b.ctx, asking.Run.ThreadID, first)
		b.ok(err)
	})
}
