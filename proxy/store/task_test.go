package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

func TestStepIsHandedOutOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		clock := &later{at: time.UnixMicro(1_700_000_000_000_000).UTC()}
		b := open(t, store.Options{Now: clock.now})
		task := b.create(newThreadRun()).Run.TaskID
		reserve := func(n int) bool {
			t.Helper()
			ok, err := b.Reserve(b.ctx, task, n, clock.at.Add(time.Minute))
			b.ok(err)
			return ok
		}
		if reserve(2) || !reserve(1) || reserve(1) {
			t.Fatal("reserved out of turn")
		}
		b.ok(b.Unreserve(b.ctx, task, 1))
		if !reserve(1) {
			t.Fatal("a step given back is not free")
		}
		clock.at = clock.at.Add(2 * time.Minute)
		if !reserve(1) {
			t.Fatal("an expired reservation holds")
		}
		text, other := "hi", "ho"
		b.ok(b.Confirm(b.ctx, task, 1, store.StepRequest{Input: &text, AdditionalInput: []byte(`{"a":1}`)}))
		b.ok(b.Confirm(b.ctx, task, 1, store.StepRequest{Input: &other}))
		empty := ""
		b.ok(b.Confirm(b.ctx, task, 2, store.StepRequest{Input: &empty}))
		b.ok(b.Confirm(b.ctx, task, 3, store.StepRequest{}))
		k, err := b.Task(b.ctx, task)
		b.ok(err)
		if k.Cursor != 3 || reserve(3) || !reserve(4) {
			t.Fatalf("cursor %d", k.Cursor)
		}
		got, err := b.Requests(b.ctx, task)
		b.ok(err)
		want := map[int]store.StepRequest{1: {Input: &text, AdditionalInput: []byte(`{"a":1}`)}, 2: {Input: &empty}, 3: {}}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestReservationsRaceToOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		task := b.create(newThreadRun()).Run.TaskID
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if ok, err := b.Reserve(b.ctx, task, 1, time.Now().Add(time.Hour)); ok && err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d won", won.Load())
		}
	})
}

func TestTaskList(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread()
		var made []string
		for i := range 4 {
			n := newRun(th.ID, mapping.StrategyEnqueue)
			if i == 3 {
				n.Run.Agent, n.Task.Agent = "other", "other"
			}
			made = append(made, b.create(n).Run.TaskID)
		}
		b.create(newThreadRun())
		for name, c := range map[string]struct {
			q     store.TaskQuery
			want  []string
			total int
		}{
			"of a thread": {store.TaskQuery{ThreadID: th.ID}, made, 4},
			"of an agent": {store.TaskQuery{Agent: "other"}, made[3:], 1},
			"page":        {store.TaskQuery{ThreadID: th.ID, Agent: "echo", Limit: 1, Offset: 1}, made[1:2], 3},
			"past":        {store.TaskQuery{Offset: 9}, nil, 5},
		} {
			list, total, err := b.Tasks(b.ctx, c.q)
			b.ok(err)
			var got []string
			for _, k := range list {
				got = append(got, k.ID)
			}
			if d := cmp.Diff(c.want, got); d != "" || total != c.total {
				t.Errorf("%s: total %d %s", name, total, d)
			}
		}
	})
}

func TestRunList(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		th := b.thread()
		var made []string
		for i := range 4 {
			n := newRun(th.ID, mapping.StrategyEnqueue)
			n.Run.Metadata = []byte(`{"odd":` + []string{"false", "true"}[i%2] + `}`)
			made = append(made, b.create(n).Run.ID)
		}
		other := b.create(newThreadRun())
		for name, c := range map[string]struct {
			q    store.RunQuery
			want []string
		}{
			"newest first": {store.RunQuery{ThreadID: th.ID, Limit: 2}, []string{made[3], made[2]}},
			"oldest first": {store.RunQuery{ThreadID: th.ID, OldestFirst: true, Offset: 3}, []string{made[3]}},
			"status":       {store.RunQuery{Status: []mapping.RunStatus{mapping.RunRunning}}, []string{other.Run.ID, made[0]}},
			"two statuses": {store.RunQuery{ThreadID: th.ID, Status: []mapping.RunStatus{mapping.RunRunning, mapping.RunPending}, Limit: 1}, []string{made[3]}},
			"metadata":     {store.RunQuery{Metadata: []byte(`{"odd":true}`), Limit: 1, Offset: 1}, []string{made[1]}},
			"task":         {store.RunQuery{TaskID: made[2]}, []string{made[2]}},
			"agent":        {store.RunQuery{Agent: "nobody"}, nil},
		} {
			list, err := b.Runs(b.ctx, c.q)
			b.ok(err)
			var got []string
			for _, r := range list {
				got = append(got, r.ID)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	})
}

func TestLinksAndAgents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		c := b.create(newThreadRun())
		put := func(l mapping.Link) {
			t.Helper()
			_, _, err := b.AppendRun(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Fence, Links: []mapping.Link{l}})
			b.ok(err)
		}
		whole := mapping.Link{Agent: "a", Remote: "t1", RemoteCheckpoint: "x"}
		task := mapping.Link{Agent: "a", TaskID: "k", Remote: "r1", Steps: []string{"1", "2"}}
		put(mapping.Link{Agent: "a", Remote: "t0"})
		put(whole)
		put(task)
		all, err := b.Links(b.ctx, c.Thread.ID)
		b.ok(err)
		if d := cmp.Diff([]mapping.Link{whole, task}, all); d != "" {
			t.Fatal(d)
		}
		one, err := b.Link(b.ctx, c.Thread.ID, "a", "k")
		b.ok(err)
		none, err := b.Link(b.ctx, c.Thread.ID, "b", "")
		b.ok(err)
		if d := cmp.Diff([]mapping.Link{task, {}}, []mapping.Link{one, none}); d != "" {
			t.Fatal(d)
		}
		first, err := b.AgentSeen(b.ctx, "a")
		b.ok(err)
		again, err := b.AgentSeen(b.ctx, "a")
		b.ok(err)
		if !first.Equal(again) {
			t.Fatal(first, again)
		}
	})
}

func TestConfirmedLaterInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		task := b.create(newThreadRun()).Run.TaskID
		told := make(chan error, 5)
		for n := 1; n <= 3; n++ {
			b.ok(b.ConfirmLater(b.ctx, task, n, store.StepRequest{}, func(err error) { told <- err }))
		}
		b.ok(b.ConfirmLater(b.ctx, "nothing", 1, store.StepRequest{}, func(err error) { told <- err }))
		for range 3 {
			b.ok(<-told)
		}
		if err := <-told; mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("a task that is not there: %v", err)
		}
		k, err := b.Task(b.ctx, task)
		b.ok(err)
		if k.Cursor != 3 {
			t.Errorf("cursor %d", k.Cursor)
		}
		b.ok(b.Close())
		if err := b.ConfirmLater(b.ctx, task, 4, store.StepRequest{}, func(error) { t.Error("told of what was not taken") }); err == nil {
			t.Error("taken by a closed store")
		}
	})
}
