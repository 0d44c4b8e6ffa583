package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// say appends a checkpoint that sets one key of the state.
func (b *harness) say(c *store.CreateRunResult, n int) string {
	b.t.Helper()
	ev := update(fmt.Sprintf(`{"k%d":%d}`, n, n))
	b.append(c, token("0"), ev)
	return ev.Head.Checkpoint.ID
}

// whole returns a folded state.
func (b *harness) whole(thread, checkpoint string) string {
	b.t.Helper()
	st, err := b.States.At(b.ctx, thread, checkpoint)
	b.ok(err)
	f, err := state.NewFold(st.Snapshot)
	for _, e := range st.Events {
		b.ok(err)
		f, err = f.Apply(&e)
	}
	b.ok(err)
	return string(f.JSON())
}

func (b *harness) history(thread string) (ids []string) {
	b.t.Helper()
	list, err := b.States.Checkpoints(b.ctx, thread, store.CheckpointQuery{})
	b.ok(err)
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

func (b *harness) forget(before time.Time) (n int64) {
	b.t.Helper()
	list, err := b.Retention.OldHistories(b.ctx, before, store.Overdue{}, 100)
	b.ok(err)
	for _, o := range list {
		k, err := b.Retention.ForgetHistory(b.ctx, o, before)
		b.ok(err)
		n += k
	}
	return n
}

func TestOldHistoryIsForgottenAndTheRestRemains(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b, clock := clocked(t, open)
		start := clock.at
		c := b.create(newThreadRun())
		th := c.Run.ThreadID
		var at []string
		states := map[string]string{}
		for n := range 6 {
			at = append(at, b.say(c, n))
			states[at[n]] = b.whole(th, at[n])
			clock.at = clock.at.Add(time.Hour)
		}
		if n := b.forget(start.Add(2 * time.Hour)); n != 0 {
			t.Fatalf("%d checkpoints forgotten during a run", n)
		}
		b.end(c, mapping.RunSuccess)
		// Another run forks from an old state and continues there.
		f := newRun(th, mapping.StrategyReject)
		f.Run.Options.Checkpoint = at[1]
		fork := b.create(f)
		forked := b.say(fork, 7)
		states[forked] = b.whole(th, forked)
		b.end(fork, mapping.RunSuccess)

		if n := b.forget(start.Add(2 * time.Hour)); n != 3 {
			t.Errorf("%d checkpoints forgotten, want 3", n)
		}
		want := []string{forked, at[5], at[4], at[3]}
		if d := cmp.Diff(want, b.history(th)); d != "" {
			t.Error(d)
		}
		for _, id := range want {
			if d := cmp.Diff(states[id], b.whole(th, id)); d != "" {
				t.Errorf("state of %s changed: %s", id, d)
			}
		}
		_, err := b.States.At(b.ctx, th, at[0])
		wantClass(t, err, mapping.NotFound, mapping.CodeCheckpointNotFound)
		if evs, err := b.Events.List(b.ctx, th, c.Run.ID, 0, 0); err != nil || len(evs) != 14 {
			t.Errorf("%d events of the first run left, %v", len(evs), err)
		}
		if n := b.forget(start.Add(2 * time.Hour)); n != 0 {
			t.Errorf("%d checkpoints forgotten the second time", n)
		}
		// Later changes build on what remains.
		next := b.create(newRun(th, mapping.StrategyReject))
		last := b.say(next, 8)
		b.end(next, mapping.RunSuccess)
		if got := b.whole(th, last); got != `{"k0":0,"k1":1,"k7":7,"k8":8}` {
			t.Errorf("state %s", got)
		}
		if n := b.forget(clock.at.Add(time.Hour)); n != 4 {
			t.Errorf("%d checkpoints forgotten, want all but the head", n)
		}
		if got := b.whole(th, ""); got != `{"k0":0,"k1":1,"k7":7,"k8":8}` {
			t.Errorf("state of the head %s", got)
		}
		if d := cmp.Diff([]string{last}, b.history(th)); d != "" {
			t.Error(d)
		}
	})
}
