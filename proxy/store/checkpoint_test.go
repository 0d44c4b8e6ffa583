package store_test

import (
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/google/go-cmp/cmp"
)

// state returns the numbers (members "n") that a state consists of.
func (b *harness) state(thread, checkpoint string) (list []string) {
	b.t.Helper()
	st, err := b.States.At(b.ctx, thread, checkpoint)
	b.ok(err)
	return folded(nil, st)
}

func folded(before []string, st store.State) (list []string) {
	switch {
	case st.Continues:
		list = append(list, before...)
	case st.Snapshot != nil:
		list = append(list, "snap:"+string(st.Snapshot))
	}
	for _, e := range st.Events {
		list = append(list, string(e.Data))
	}
	return list
}

func (b *harness) push(c *store.CreateRunResult, n int, snapshot string) string {
	b.t.Helper()
	ev := update(fmt.Sprint(n))
	a := store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{token(`0`), ev}}
	if snapshot != "" {
		a.Snapshots = map[string][]byte{ev.Head.Checkpoint.ID: []byte(snapshot)}
	}
	_, _, err := b.Events.Append(b.ctx, a)
	b.ok(err)
	return ev.Head.Checkpoint.ID
}

func TestStateIsASnapshotAndLaterDifferences(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		var at []string
		for n := 1; n <= 5; n++ {
			snapshot := ""
			if n == 3 {
				snapshot = "three"
			}
			at = append(at, b.push(c, n, snapshot))
		}
		for i, want := range [][]string{{"1"}, {"1", "2"}, {"snap:three"}, {"snap:three", "4"}, {"snap:three", "4", "5"}} {
			if d := cmp.Diff(want, b.state(c.Run.ThreadID, at[i])); d != "" {
				t.Errorf("checkpoint %d: %s", i+1, d)
			}
			st, err := b.States.At(b.ctx, c.Run.ThreadID, at[i])
			b.ok(err)
			if st.Checkpoint.ID != at[i] || st.Checkpoint.Seq == 0 || st.Checkpoint.RunID != c.Run.ID || i > 0 && st.Checkpoint.Parent != at[i-1] {
				t.Errorf("checkpoint %+v", st.Checkpoint)
			}
		}
		states, err := b.States.List(b.ctx, c.Run.ThreadID, []string{at[1], at[2], at[4], at[0]})
		b.ok(err)
		var cont []bool
		for _, st := range states {
			cont = append(cont, st.Continues)
		}
		if d := cmp.Diff([]bool{false, true, true, false}, cont); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"1", "2", "3", "4", "5"}, folded(folded(folded(nil, states[0]), states[1]), states[2])); d != "" {
			t.Error(d)
		}
		_, err = b.States.At(b.ctx, c.Run.ThreadID, id())
		wantClass(t, err, mapping.NotFound, mapping.CodeCheckpointNotFound)
		if st, err := b.States.At(b.ctx, b.thread().ID, ""); err != nil || st.Checkpoint.ID != "" || st.Events != nil {
			t.Errorf("empty thread: %+v %v", st, err)
		}
	})
}

func TestForksHaveSeparateLines(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		one, two := b.push(c, 1, ""), b.push(c, 2, "")
		b.end(c, mapping.RunSuccess)

		n := newRun(c.Run.ThreadID, mapping.StrategyReject)
		n.Run.Options.Checkpoint = one
		f := b.create(n)
		if f.Run.Base != one || f.Claimed.Thread.Head != one {
			t.Fatalf("got %+v", f.Run)
		}
		three, four := b.push(f, 3, ""), b.push(f, 4, "")
		b.end(f, mapping.RunSuccess)

		up := update("5")
		_, err := b.States.Append(b.ctx, c.Run.ThreadID, four, []mapping.Event{up}, store.StateOptions{ForkFrom: three})
		b.ok(err)
		five := up.Head.Checkpoint.ID
		snap := update("6")
		got, err := b.States.Append(b.ctx, c.Run.ThreadID, five, []mapping.Event{snap}, store.StateOptions{ForkFrom: two, Snapshot: []byte("126")})
		b.ok(err)
		if got[0].Head.Checkpoint.Parent != two {
			t.Fatalf("parent %s", got[0].Head.Checkpoint.Parent)
		}
		next := b.create(newRun(c.Run.ThreadID, mapping.StrategyReject))
		if next.Run.Base != snap.Head.Checkpoint.ID {
			t.Fatalf("base %s", next.Run.Base)
		}
		seven := b.push(next, 7, "")
		for name, w := range map[string]struct {
			id   string
			want []string
		}{
			"two": {two, []string{"1", "2"}}, "three": {three, []string{"1", "3"}}, "four": {four, []string{"1", "3", "4"}},
			"five": {five, []string{"1", "3", "5"}}, "six": {snap.Head.Checkpoint.ID, []string{"snap:126"}}, "seven": {seven, []string{"snap:126", "7"}},
		} {
			if d := cmp.Diff(w.want, b.state(c.Run.ThreadID, w.id)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		line, err := b.States.Checkpoints(b.ctx, c.Run.ThreadID, store.CheckpointQuery{At: five})
		b.ok(err)
		if d := cmp.Diff([]string{five}, ids(line)); d != "" {
			t.Error("one checkpoint:", d)
		}
		line, err = b.States.Checkpoints(b.ctx, c.Run.ThreadID, store.CheckpointQuery{At: five, Before: three})
		b.ok(err)
		if len(line) != 0 {
			t.Error("one checkpoint before an earlier one:", ids(line))
		}
		all, err := b.States.Checkpoints(b.ctx, c.Run.ThreadID, store.CheckpointQuery{Limit: 2, Before: five, Metadata: []byte(`{"source":"loop"}`)})
		b.ok(err)
		if d := cmp.Diff([]string{four, three}, ids(all)); d != "" {
			t.Error("page:", d)
		}
		_, err = b.States.Checkpoints(b.ctx, c.Run.ThreadID, store.CheckpointQuery{Before: "nope"})
		wantClass(t, err, mapping.NotFound, mapping.CodeCheckpointNotFound)
	})
}

// A queued run with an older checkpoint forks when it is claimed.
func TestQueuedRunForksAtItsClaim(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		one, two := b.push(c, 1, ""), b.push(c, 2, "")
		queued := newRun(c.Run.ThreadID, mapping.StrategyEnqueue)
		queued.Run.Base = one
		plain := newRun(c.Run.ThreadID, mapping.StrategyEnqueue)
		b.create(queued)
		b.create(plain)
		bad := newRun(c.Run.ThreadID, mapping.StrategyEnqueue)
		bad.Run.Base = "nope"
		_, err := b.Runs.Create(b.ctx, bad)
		wantClass(t, err, mapping.NotFound, mapping.CodeCheckpointNotFound)
		b.end(c, mapping.RunSuccess)
		_, first, _ := b.claims()
		if first.Run.Base != one || first.Thread.Head != one {
			t.Fatalf("got %+v", first.Run)
		}
		three := b.push(created(first), 3, "")
		b.end(created(first), mapping.RunSuccess)
		_, second, _ := b.claims()
		if second.Run.Base != three {
			t.Fatalf("base %s", second.Run.Base)
		}
		four := b.push(created(second), 4, "")
		if d := cmp.Diff([]string{"1", "3", "4"}, b.state(c.Run.ThreadID, four)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"1", "2"}, b.state(c.Run.ThreadID, two)); d != "" {
			t.Error(d)
		}
	})
}

func ids(list []mapping.Checkpoint) (out []string) {
	for _, c := range list {
		out = append(out, c.ID)
	}
	return out
}

func TestAppendStateGuardsTheHead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread()
		up := update("1")
		_, err := b.States.Append(b.ctx, th.ID, "", []mapping.Event{up}, store.StateOptions{Links: []mapping.Link{{Agent: "a", Remote: "r"}}})
		b.ok(err)
		_, err = b.States.Append(b.ctx, th.ID, "", []mapping.Event{update("2")}, store.StateOptions{})
		wantClass(t, err, mapping.Conflict, "head_moved")
		_, err = b.States.Append(b.ctx, th.ID, up.Head.Checkpoint.ID, []mapping.Event{update("2")}, store.StateOptions{ForkFrom: "nope"})
		wantClass(t, err, mapping.NotFound, mapping.CodeCheckpointNotFound)
		if l, err := b.Links.Get(b.ctx, th.ID, "a", ""); err != nil || l.Remote != "r" {
			t.Fatal(l, err)
		}
		b.create(newRun(th.ID, mapping.StrategyReject))
		_, err = b.States.Append(b.ctx, th.ID, up.Head.Checkpoint.ID, []mapping.Event{update("2")}, store.StateOptions{})
		wantClass(t, err, mapping.Conflict, mapping.CodeThreadBusy)
		_, err = b.States.Append(b.ctx, id(), "", nil, store.StateOptions{})
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
	})
}

func TestDeletedRunRewindsTheHead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		one := b.push(c, 1, "")
		wantClass(t, b.Runs.Delete(b.ctx, c.Run.ThreadID, c.Run.ID), mapping.Conflict, "")
		b.end(c, mapping.RunSuccess)
		second := b.create(newRun(c.Run.ThreadID, mapping.StrategyReject))
		b.push(second, 2, "")
		b.push(second, 3, "snap")
		b.end(second, mapping.RunSuccess)
		last, err := b.Events.LastSeq(b.ctx, c.Run.ThreadID)
		b.ok(err)
		b.ok(b.Runs.Delete(b.ctx, "", second.Run.ID))
		th, err := b.Threads.Get(b.ctx, c.Run.ThreadID)
		b.ok(err)
		if th.Head != one {
			t.Fatalf("head %s", th.Head)
		}
		_, err = b.Runs.Get(b.ctx, "", second.Run.ID)
		wantClass(t, err, mapping.NotFound, mapping.CodeRunNotFound)
		_, err = b.Events.List(b.ctx, c.Run.ThreadID, second.Run.ID, 0, 0)
		wantClass(t, err, mapping.NotFound, mapping.CodeRunNotFound)
		_, err = b.Tasks.Get(b.ctx, second.Run.TaskID)
		wantClass(t, err, mapping.NotFound, mapping.CodeTaskNotFound)

		third := b.create(newRun(c.Run.ThreadID, mapping.StrategyReject))
		if third.Claimed.Logged[0].Seq != last+1 {
			t.Fatalf("number %d after %d: a number was reused", third.Claimed.Logged[0].Seq, last)
		}
		four := b.push(third, 4, "")
		if d := cmp.Diff([]string{"1", "4"}, b.state(c.Run.ThreadID, four)); d != "" {
			t.Error(d)
		}
		b.end(third, mapping.RunSuccess)
		// Later history depends on the first run, so its states remain readable.
		b.ok(b.Runs.Delete(b.ctx, "", c.Run.ID))
		if d := cmp.Diff([]string{"1", "4"}, b.state(c.Run.ThreadID, "")); d != "" {
			t.Error(d)
		}
		b.ok(b.Runs.Delete(b.ctx, "", third.Run.ID))
		if d := cmp.Diff([]string{"1"}, b.state(c.Run.ThreadID, "")); d != "" {
			t.Error(d)
		}
	})
}

// A run that creates no state still began on one, and is replayed from it.
func TestDeletedRunKeepsTheStateFromWhichOthersBegan(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		one := b.push(first, 1, "")
		b.end(first, mapping.RunSuccess)
		second := b.create(newRun(first.Run.ThreadID, mapping.StrategyReject))
		b.end(second, mapping.RunInterrupted)
		b.ok(b.Runs.Delete(b.ctx, "", first.Run.ID))
		left, err := b.Runs.Get(b.ctx, "", second.Run.ID)
		b.ok(err)
		if left.Base != one {
			t.Fatalf("the run began at %q, want %q", left.Base, one)
		}
		if d := cmp.Diff([]string{"1"}, b.state(first.Run.ThreadID, left.Base)); d != "" {
			t.Error(d)
		}
	})
}

func TestCopiedThreadIsIndependent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		b.push(c, 1, "")
		two := b.push(c, 2, "snap")
		three := b.push(c, 3, "")
		_, files, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence,
			Files: []artifact.FileWrite{{Artifact: mapping.Artifact{Path: "a.txt"}, Content: []byte("hello")}}})
		b.ok(err)
		b.end(c, mapping.RunSuccess)
		copied, err := b.Threads.Copy(b.ctx, c.Run.ThreadID, id(), store.IdempotencyKey{})
		b.ok(err)
		b.ok(b.Threads.Delete(b.ctx, c.Run.ThreadID))
		if copied.Head != three || copied.Status != mapping.ThreadIdle {
			t.Fatalf("got %+v", copied)
		}
		if d := cmp.Diff([]string{"snap:snap", "3"}, b.state(copied.ID, "")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"snap:snap"}, b.state(copied.ID, two)); d != "" {
			t.Error(d)
		}
		if got := b.file(copied.ID, files[0].ID); got != "hello" {
			t.Errorf("file %q", got)
		}
		d := b.create(newRun(copied.ID, mapping.StrategyReject))
		four := b.push(d, 4, "")
		if d := cmp.Diff([]string{"snap:snap", "3", "4"}, b.state(copied.ID, four)); d != "" {
			t.Error(d)
		}
		_, err = b.Threads.Copy(b.ctx, c.Run.ThreadID, id(), store.IdempotencyKey{})
		wantClass(t, err, mapping.NotFound, mapping.CodeThreadNotFound)
	})
}
