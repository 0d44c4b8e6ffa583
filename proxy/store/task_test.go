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
		text, other, empty := "hi", "ho", ""
		until := func() time.Time { return clock.at.Add(time.Minute) }
		take := func(n int, r store.StepRequest, until time.Time) bool {
			t.Helper()
			ok, err := b.Tasks.HandOut(b.ctx, task, n, r, store.Reservation{Until: until})
			b.ok(err)
			return ok
		}
		first := store.StepRequest{Input: &text, AdditionalInput: []byte(`{"a":1}`)}
		if take(2, first, until()) || !take(1, store.StepRequest{Input: &other}, until()) || take(1, first, until()) || take(2, first, until()) {
			t.Fatal("a step was handed out in the wrong order")
		}
		b.ok(b.Tasks.TakeBack(b.ctx, task, 1))
		b.ok(b.Tasks.TakeBack(b.ctx, task, 1)) // there is nothing to take back
		if !take(1, first, until()) {
			t.Fatal("a step that was taken back is not handed out again")
		}
		b.ok(b.Tasks.HandedOut(b.ctx, task, 1))
		if !take(2, store.StepRequest{Input: &empty}, until()) {
			t.Fatal("a finished hand-out blocks the next one")
		}
		b.ok(b.Tasks.TakeBack(b.ctx, task, 1)) // too late
		clock.at = clock.at.Add(2 * time.Minute)
		if !take(3, store.StepRequest{}, time.Time{}) {
			t.Fatal("an abandoned hand-out blocks the next one forever")
		}
		k, err := b.Tasks.Get(b.ctx, task)
		b.ok(err)
		if k.HandOuts != 3 || take(3, first, until()) || take(5, first, until()) {
			t.Fatalf("%d steps handed out", k.HandOuts)
		}
		if _, err := b.Tasks.HandOut(b.ctx, "nothing", 1, first, store.Reservation{}); mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("missing task: %v", err)
		}
		got, err := b.Tasks.Requests(b.ctx, task)
		b.ok(err)
		want := map[int]store.StepRequest{1: {Input: &text, AdditionalInput: []byte(`{"a":1}`)}, 2: {Input: &empty}}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestConcurrentHandOutsSucceedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		task := b.create(newThreadRun()).Run.TaskID
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if ok, err := b.Tasks.HandOut(b.ctx, task, 1, store.StepRequest{}, store.Reservation{Until: time.Now().Add(time.Hour)}); ok && err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d calls got the step, want 1", won.Load())
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
			list, total, err := b.Tasks.List(b.ctx, c.q)
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
			q    mapping.RunQuery
			want []string
		}{
			"newest first": {mapping.RunQuery{ThreadID: th.ID, Limit: 2}, []string{made[3], made[2]}},
			"oldest first": {mapping.RunQuery{ThreadID: th.ID, OldestFirst: true, Offset: 3}, []string{made[3]}},
			"status":       {mapping.RunQuery{Status: []mapping.RunStatus{mapping.RunRunning}}, []string{other.Run.ID, made[0]}},
			"two statuses": {mapping.RunQuery{ThreadID: th.ID, Status: []mapping.RunStatus{mapping.RunRunning, mapping.RunPending}, Limit: 1}, []string{made[3]}},
			"metadata":     {mapping.RunQuery{Metadata: []byte(`{"odd":true}`), Limit: 1, Offset: 1}, []string{made[1]}},
			"task":         {mapping.RunQuery{TaskID: made[2]}, []string{made[2]}},
			"agent":        {mapping.RunQuery{Agent: "nobody"}, nil},
		} {
			list, err := b.Runs.List(b.ctx, c.q)
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
			_, _, err := b.Events.Append(b.ctx, store.Append{RunID: c.Run.ID, Fence: c.Claimed.Fence, Links: []mapping.Link{l}})
			b.ok(err)
		}
		whole := mapping.Link{Agent: "a", Remote: "t1", RemoteCheckpoint: "x"}
		task := mapping.Link{Agent: "a", TaskID: "k", Remote: "r1", Steps: []string{"1", "2"}}
		put(mapping.Link{Agent: "a", Remote: "t0"})
		put(whole)
		put(task)
		all, err := b.Links.List(b.ctx, c.Run.ThreadID)
		b.ok(err)
		if d := cmp.Diff([]mapping.Link{whole, task}, all); d != "" {
			t.Fatal(d)
		}
		one, err := b.Links.Get(b.ctx, c.Run.ThreadID, "a", "k")
		b.ok(err)
		none, err := b.Links.Get(b.ctx, c.Run.ThreadID, "b", "")
		b.ok(err)
		if d := cmp.Diff([]mapping.Link{task, {}}, []mapping.Link{one, none}); d != "" {
			t.Fatal(d)
		}
		first, err := b.Agents.Seen(b.ctx, "a")
		b.ok(err)
		again, err := b.Agents.Seen(b.ctx, "a")
		b.ok(err)
		if !first.Equal(again) {
			t.Fatal(first, again)
		}
	})
}

// C3: if several processes that each see a task without runs create one, only one succeeds. The same holds for runs
// after the same newest run.
func TestConcurrentRunsOfATaskCreateOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		task := mapping.Task{ID: id(), Agent: "echo"}
		_, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Thread: mapping.Thread{ID: task.ID}, Task: &task})
		b.ok(err)
		newest := ""
		for range 2 {
			var wg sync.WaitGroup
			var made atomic.Int32
			for range 8 {
				wg.Go(func() {
					n := newRun(task.ID, mapping.StrategyEnqueue)
					n.Task, n.Run.TaskID, n.Newest = nil, task.ID, &newest
					if _, err := b.Runs.Create(b.ctx, n); err == nil {
						made.Add(1)
					} else if mapping.Classify(err).Code != store.CodeTaskMoved {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if made.Load() != 1 {
				t.Fatalf("%d runs were created after %q, want 1", made.Load(), newest)
			}
			tip, err := b.Tasks.Head(b.ctx, task.ID)
			b.ok(err)
			newest = tip.Newest
		}
		if tip, err := b.Tasks.Head(b.ctx, task.ID); err != nil || tip.Runs != 2 {
			t.Fatal(tip, err)
		}
	})
}

// C4: a step is handed out as the last one, or a run is created after it. The later of the two takes the earlier into
// account.
func TestLastStepOrFollowUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		b.end(first, mapping.RunSuccess)
		task, newest := first.Run.TaskID, first.Run.ID
		followUp := func() (*store.CreateRunResult, error) {
			n := newRun(first.Run.ThreadID, mapping.StrategyEnqueue)
			n.Task, n.Run.TaskID, n.Newest = nil, task, &newest
			n.Run.Options.FollowUp, n.Run.Options.Due = true, 1
			return b.Runs.Create(b.ctx, n)
		}
		last := store.Reservation{Until: time.Now().Add(time.Hour), Newest: newest}
		ok, err := b.Tasks.HandOut(b.ctx, task, 1, store.StepRequest{}, last)
		if b.ok(err); !ok {
			t.Fatal("the last step is not handed out")
		}
		_, err = followUp()
		wantClass(t, err, mapping.Conflict, store.CodeTaskMoved) // the step may be taken back
		b.ok(b.Tasks.HandedOut(b.ctx, task, 1))
		second, err := followUp()
		if b.ok(err); second.Run.Options.Due != 2 {
			t.Fatalf("a step that was marked as the last is due: %d", second.Run.Options.Due)
		}
		if ok, err := b.Tasks.HandOut(b.ctx, task, 2, store.StepRequest{}, last); ok || err != nil {
			t.Fatal("a step is marked as the last although there is a newer run:", err)
		}
		last.Newest = second.Run.ID
		if ok, err := b.Tasks.HandOut(b.ctx, task, 2, store.StepRequest{}, last); !ok || err != nil {
			t.Fatal("the last step is not handed out:", err)
		}
	})
}
