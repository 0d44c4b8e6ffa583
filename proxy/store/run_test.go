package store_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

func TestRunFromFirstToLastEvent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		n := newThreadRun()
		n.ThreadMeta = []byte(`{"graph_id":"echo"}`)
		n.Events = append(n.Events, mapping.Event{Kind: mapping.KindInput, Data: []byte(`{"messages":["hi"]}`),
			Head: mapping.Head{Checkpoint: &mapping.Checkpoint{ID: id(), Source: "input"}}})
		c := b.create(n)
		if c.Claimed == nil || c.Claimed.Fence != 1 || c.Run.Status != mapping.RunRunning || c.Claimed.Thread.Status != mapping.ThreadBusy {
			t.Fatalf("created %+v", c)
		}
		first := update(`{"messages":["one"]}`)
		b.append(c, token(`"t"`), first)
		b.end(c, mapping.RunSuccess)

		events, err := b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
		b.ok(err)
		var seqs []int64
		var kinds []mapping.Kind
		for _, e := range events {
			seqs, kinds = append(seqs, e.Seq), append(kinds, e.Kind)
		}
		want := []mapping.Kind{mapping.KindStarted, mapping.KindInput, mapping.KindDelta, mapping.KindUpdate, mapping.KindEnd}
		if d := cmp.Diff(want, kinds); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]int64{1, 2, 3, 4, 5}, seqs); d != "" {
			t.Error(d)
		}
		if parent := events[3].Head.Checkpoint.Parent; parent != events[1].Head.Checkpoint.ID {
			t.Errorf("parent %q", parent)
		}
		th, err := b.Threads.Get(b.ctx, c.Run.ThreadID)
		b.ok(err)
		if th.Status != mapping.ThreadIdle || th.Head != first.Head.Checkpoint.ID || string(th.Metadata) != `{"graph_id":"echo"}` {
			t.Errorf("thread %+v", th)
		}
		r, err := b.Runs.Get(b.ctx, "", c.Run.ID)
		b.ok(err)
		if r.Status != mapping.RunSuccess || r.EndedAt.IsZero() {
			t.Errorf("run %+v", r)
		}
		st, err := b.States.At(b.ctx, c.Run.ThreadID, "")
		b.ok(err)
		if len(st.Events) != 2 || st.Snapshot != nil || st.Checkpoint.ID != th.Head || st.DiffBytes == 0 {
			t.Errorf("state %+v", st)
		}
	})
}

func TestRunReadsBackAsCreated(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t).as("acme")
		n := newThreadRun()
		n.Run.Metadata, n.Run.Kwargs = []byte(`{"a":1.0}`), []byte(`{ "input" : "<b>" }`)
		n.Run.Flavour = "agentprotocol"
		n.Run.Options = mapping.RunOptions{Input: []byte(`"<x>"`), MaxSteps: 3, StreamModes: []string{"values"}}
		c := b.create(n)
		got, err := b.Runs.Get(b.ctx, c.Run.ThreadID, c.Run.ID)
		b.ok(err)
		if d := cmp.Diff(&c.Run, got); d != "" {
			t.Error(d)
		}
		th, err := b.Threads.Get(b.ctx, c.Run.ThreadID)
		b.ok(err)
		if d := cmp.Diff(c.Claimed.Thread, th); d != "" {
			t.Error(d)
		}
		k, err := b.Tasks.Get(b.ctx, c.Run.TaskID)
		b.ok(err)
		if k.Input != "hi" || !k.HasInput || k.ThreadID != c.Run.ThreadID || k.Owner != "key-acme" {
			t.Errorf("task %+v", k)
		}
	})
}

func TestEventsReadBackAsReturned(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		var many []mapping.Event
		for range 40 {
			many = append(many, token(`[{"content":"é<>&"},{}]`))
		}
		many = append(many, update(`{"x":1}`), mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: []mapping.Interrupt{{ID: "q", Value: []byte(`"why?"`)}}}})
		got := b.append(c, many...)
		read, err := b.Events.List(b.ctx, c.Run.ThreadID, "", c.Claimed.Logged[len(c.Claimed.Logged)-1].Seq, 0)
		b.ok(err)
		if d := cmp.Diff(got, read); d != "" {
			t.Error(d)
		}
	})
}

func TestFenceKeepsOthersOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence + 1, Events: []mapping.Event{token(`1`)}})
		if !errors.Is(err, store.ErrFenced) {
			t.Fatalf("append under a wrong fence: %v", err)
		}
		b.ok(b.Claims.Release(b.ctx, c.Run.ID, c.Claimed.Fence))
		again, _, err := b.Claims.ClaimNext(b.ctx, nil)
		b.ok(err)
		if again == nil || !again.Taken || again.Fence != c.Claimed.Fence+1 || len(again.Logged) != 1 {
			t.Fatalf("claim %+v", again)
		}
		if _, _, err = b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{token(`1`)}}); !errors.Is(err, store.ErrFenced) {
			t.Fatalf("append under an old fence: %v", err)
		}
		c.Claimed.Fence = again.Fence
		b.end(c, mapping.RunSuccess)
		if _, _, err = b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence}); !errors.Is(err, store.ErrFenced) {
			t.Fatalf("append to an ended run: %v", err)
		}
		if seq, err := b.Events.LastSeq(b.ctx, c.Run.ThreadID); err != nil || seq != 2 {
			t.Fatalf("last %d %v: a fenced append consumed numbers", seq, err)
		}
	})
}

// Runs that are read, stopped and deleted by others while they execute lose and duplicate nothing.
func TestRunsReadAndStoppedWhileTheyExecute(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := range 12 {
					liveAmongOthers(b, 12*w+i)
				}
			})
		}
		all.Wait()
	})
}

// liveAmongOthers executes one run until it ends or is lost. The actions of the others depend on its number.
func liveAmongOthers(b *harness, n int) {
	b.t.Helper()
	c := b.create(newThreadRun())
	var others sync.WaitGroup
	others.Go(func() {
		switch n % 4 {
		case 0:
			_, _ = b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
		case 1:
			_ = b.Claims.RequestStop(b.ctx, c.Run.ID, "cancel")
		case 2:
			_ = b.Claims.Release(b.ctx, c.Run.ID, c.Claimed.Fence)
		}
	})
	logged, fenced := len(c.Claimed.Logged), false
	for p := 0; p < 3 && !fenced; p++ {
		a := store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence, Events: []mapping.Event{token(`1`)}}
		if p == 2 {
			e := ending(mapping.RunSuccess)
			a.Events, a.End = append(a.Events, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}}), &e
		}
		events, _, err := b.Events.Append(b.ctx, a)
		if fenced = errors.Is(err, store.ErrFenced); !fenced && (err != nil || events[0].Seq != int64(logged+1)) {
			b.t.Errorf("append %d: %v %v", p, events, err)
		}
		logged += len(events)
	}
	others.Wait()
	got, err := b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
	if err != nil || len(got) != logged || fenced && n%4 != 2 {
		b.t.Errorf("%d events, %d logged, fenced %v, %v", len(got), logged, fenced, err)
	}
	if n%3 == 0 && !fenced {
		if err := b.Threads.Delete(b.ctx, c.Run.ThreadID); err != nil {
			b.t.Errorf("delete returned %v", err)
		}
		_, err := b.Runs.Get(b.ctx, "", c.Run.ID)
		if mapping.Classify(err).Class != mapping.NotFound {
			b.t.Errorf("the deleted run still exists: %v", err)
		}
	}
}

// A run that repeats a checkpoint id gets an error and is unchanged.
func TestCheckpointIsMadeOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		point := update(`{}`)
		a := store.Append{ThreadID: c.Run.ThreadID, RunID: c.Run.ID, Fence: c.Claimed.Fence}
		send := func(events ...mapping.Event) error {
			a.Events = events
			_, _, err := b.Events.Append(b.ctx, a)
			return err
		}
		if err := send(point, point); err == nil {
			t.Error("a checkpoint that is twice in one append was accepted")
		}
		b.ok(send(point))
		if err := send(point); err == nil {
			t.Error("a checkpoint that is in two appends was accepted")
		}
		if got, err := b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0); err != nil || len(got) != len(c.Claimed.Logged)+1 {
			t.Errorf("%d events, %v", len(got), err)
		}
	})
}
