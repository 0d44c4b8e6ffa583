package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

func sharing(a *config.Agent) { a.AllowConcurrent = true }

// nexts holds, by run id, the next events of a run; a closed channel means no more.
type nexts struct{ byRun sync.Map }

// of returns the channel of a run. It creates the channel at the first call.
func (n *nexts) of(run string) chan mapping.Event {
	ch, _ := n.byRun.LoadOrStore(run, make(chan mapping.Event))
	return ch.(chan mapping.Event)
}

// turns makes each run yield one event whenever the test releases it.
type turns struct {
	next nexts
	seen chan adapter.Assignment
}

func (s *turns) run(ctx context.Context, t adapter.Assignment, yield func(mapping.Event, error) bool) {
	s.seen <- t
	for {
		select {
		case ev, ok := <-s.next.of(t.Run.ID):
			if !ok || !yield(ev, nil) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// table is a thread with concurrent runs.
type table struct {
	*bench
	*turns
	thread string
}

func newTable(t *testing.T, exposes mapping.Exposure) *table {
	t.Helper()
	s := &turns{seen: make(chan adapter.Assignment, 8)}
	b := setup(t, &script{exposes: exposes, run: s.run}, sharing)
	return &table{b, s, mapping.NewID()}
}

// start begins a run with a message and returns once its agent is called.
func (b *table) start(t *testing.T, s mapping.Strategy, says string) (mapping.Run, adapter.Assignment) {
	t.Helper()
	o := order(b.thread, s)
	o.New.Run.Options.MayOverlap = true
	o.New.Run.Kwargs, _ = json.Marshal(map[string]any{"input": map[string]any{"messages": []any{map[string]string{"type": "human", "id": says, "content": says}}}})
	r := b.begin(t, o)
	return r, <-b.seen
}

// does makes a run yield an event and returns when that is durable.
func (b *table) does(t *testing.T, r mapping.Run, ev mapping.Event) {
	t.Helper()
	last, err := b.st.Events.LastSeq(t.Context(), b.thread)
	if err != nil {
		t.Fatal(err)
	}
	b.next.of(r.ID) <- ev
	for e, err := range b.log.Follow(t.Context(), &r, last, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == ev.Kind {
			return
		}
	}
}

func (b *table) says(t *testing.T, r mapping.Run, text string) {
	t.Helper()
	msg := `{"messages":[{"type":"ai","id":"` + text + `","content":"` + text + `"}]}`
	b.does(t, r, mapping.Event{Kind: mapping.KindUpdate, Data: json.RawMessage(msg), Head: mapping.Head{Node: "step", Reduce: true}})
}

func (b *table) tells(t *testing.T, r mapping.Run, state string) {
	t.Helper()
	b.does(t, r, mapping.Event{
		Kind: mapping.KindState, Data: json.RawMessage(state),
		Head: mapping.Head{Full: true, Checkpoint: &mapping.Checkpoint{Source: "loop", Remote: mapping.NewID()}},
	})
}

func (b *table) ends(t *testing.T, r mapping.Run, s mapping.RunStatus) { b.does(t, r, ended(s)) }

// texts returns the contents of the messages of a state.
func texts(t *testing.T, f *state.Fold) (list []string) {
	t.Helper()
	for _, raw := range f.Messages() {
		var m struct{ Content string }
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m.Content)
	}
	return list
}

// head returns the thread's state, read from the database.
func (b *table) head(t *testing.T) *state.Fold {
	t.Helper()
	f, _, err := b.cold(t).State(t.Context(), b.thread, "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (b *table) status(t *testing.T, want mapping.ThreadStatus) {
	t.Helper()
	if th, err := b.st.Threads.Get(t.Context(), b.thread); err != nil || th.Status != want {
		t.Fatalf("thread %v, %v; want %s", th.Status, err, want)
	}
}

func (b *table) wants(t *testing.T, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, texts(t, b.head(t))); d != "" {
		t.Fatal(d)
	}
}

func TestConcurrentRunsMergeIntoTheHead(t *testing.T) {
	t.Parallel()
	b := newTable(t, mapping.ExposesNothing)
	first, _ := b.start(t, mapping.StrategyReject, "q1")
	second, task := b.start(t, mapping.StrategyConcurrent, "q2")
	if d := cmp.Diff([]string{"q1", "q2"}, texts(t, task.State)); d != "" {
		t.Fatalf("the second run begins with the existing state: %s", d)
	}
	b.says(t, second, "b1")
	b.says(t, first, "a1")
	b.wants(t, "q1", "q2", "b1", "a1")
	b.ends(t, first, mapping.RunSuccess)
	b.status(t, mapping.ThreadBusy)
	b.says(t, second, "b2")
	b.ends(t, second, mapping.RunSuccess)
	b.status(t, mapping.ThreadIdle)
	b.wants(t, "q1", "q2", "b1", "a1", "b2")
	live, cold := b.read(t, second), []*state.Entry{}
	for e, err := range b.cold(t).Follow(t.Context(), &second, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		cold = append(cold, e)
	}
	for i, e := range live {
		if string(e.After.JSON()) != string(cold[i].After.JSON()) {
			t.Errorf("event %d: live %s, read again %s", e.Seq, e.After.JSON(), cold[i].After.JSON())
		}
	}
	list, err := b.st.States.Checkpoints(t.Context(), b.thread, store.CheckpointQuery{})
	if err != nil || len(list) != 6 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	for i := range list[:5] {
		if list[i].Parent != list[i+1].ID {
			t.Errorf("checkpoint %d is not based on the previous one", i)
		}
	}
}

func TestConcurrentGraphRunsMergeIntoTheHead(t *testing.T) {
	t.Parallel()
	const q = `{"id":"q","content":"q"}`
	b := newTable(t, mapping.ExposesValues)
	base, _ := b.start(t, mapping.StrategyReject, "q")
	b.tells(t, base, `{"messages":[`+q+`],"n":0,"log":[1],"by":{"x":1}}`)
	b.ends(t, base, mapping.RunSuccess)
	first, one := b.start(t, mapping.StrategyConcurrent, "")
	second, two := b.start(t, mapping.StrategyConcurrent, "")
	for _, task := range []adapter.Assignment{one, two} {
		if task.Link.Remote != "" || len(task.Graph.Values) == 0 {
			t.Errorf("a concurrent run needs its own upstream thread: %+v, %s", task.Link, task.Graph.Values)
		}
	}
	b.tells(t, first, `{"messages":[`+q+`,{"id":"a","content":"a"}],"n":1,"log":[1,2],"by":{"x":1,"a":1}}`)
	b.tells(t, second, `{"messages":[{"id":"q","content":"q!"},{"id":"b","content":"b"}],"n":0,"log":[1,3],"by":{"x":1,"b":1},"more":true}`)
	b.tells(t, first, `{"messages":[`+q+`,{"id":"a","content":"a"},{"id":"a2","content":"a2"}],"n":2,"log":[1,2],"by":{"a":2}}`)
	b.ends(t, first, mapping.RunSuccess)
	b.ends(t, second, mapping.RunSuccess)
	want := `{"messages":[{"id":"q","content":"q!"},{"id":"a","content":"a"},{"id":"b","content":"b"},{"id":"a2","content":"a2"}],` +
		`"n":2,"log":[1,2,3],"by":{"a":2,"b":1},"more":true}`
	if d := cmp.Diff(want, string(b.head(t).JSON())); d != "" {
		t.Fatal(d)
	}
	_, after := b.start(t, mapping.StrategyReject, "")
	if after.Link.Remote != "" || string(after.Graph.Values) != want {
		t.Errorf("neither upstream thread has the whole state, so the next run should send it: %+v, %s", after.Link, after.Graph.Values)
	}
}

// The state of a thread with concurrent runs is also stored in snapshots.
func TestSnapshotsOfConcurrentRunsHaveTheThreadsState(t *testing.T) {
	t.Parallel()
	b := newTable(t, mapping.ExposesNothing)
	first, _ := b.start(t, mapping.StrategyConcurrent, "q1")
	second, _ := b.start(t, mapping.StrategyConcurrent, "q2")
	want := []string{"q1", "q2"}
	for i := range 24 {
		r, text := []mapping.Run{first, second}[i%2], strings.Repeat(string(rune('a'+i)), 600)
		b.says(t, r, text)
		want = append(want, text)
		b.wants(t, want...)
	}
	s, err := b.st.States.At(t.Context(), b.thread, "")
	if err != nil || s.Snapshot == nil {
		t.Fatalf("no snapshot after %d bytes of changes, %v", s.DiffBytes, err)
	}
	for _, r := range []mapping.Run{first, second} {
		b.ends(t, r, mapping.RunSuccess)
	}
	b.wants(t, want...)
}

func TestConcurrentRunsAreStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rollback bool
		left     []string
	}{
		"cancel":   {false, []string{"q1", "q2", "a1", "b1", "b2"}},
		"rollback": {true, []string{"q2", "b1", "b2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTable(t, mapping.ExposesNothing)
			first, _ := b.start(t, mapping.StrategyConcurrent, "q1")
			second, _ := b.start(t, mapping.StrategyConcurrent, "q2")
			b.says(t, first, "a1")
			b.says(t, second, "b1")
			if err := b.Cancel(t.Context(), &first, engine.Cancellation{Rollback: c.rollback}); err != nil {
				t.Fatal(err)
			}
			b.status(t, mapping.ThreadBusy)
			b.says(t, second, "b2")
			b.ends(t, second, mapping.RunSuccess)
			b.wants(t, c.left...)
			b.status(t, mapping.ThreadIdle)
			if _, err := b.st.Runs.Get(t.Context(), b.thread, first.ID); c.rollback != (err != nil) {
				t.Errorf("the stopped run: %v", err)
			}
		})
	}
}

// A run with interrupt or rollback replaces all running runs of the thread.
func TestAllConcurrentRunsAreDisplaced(t *testing.T) {
	t.Parallel()
	for _, s := range []mapping.Strategy{mapping.StrategyInterrupt, mapping.StrategyRollback} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			b := newTable(t, mapping.ExposesNothing)
			first, _ := b.start(t, mapping.StrategyConcurrent, "q1")
			second, _ := b.start(t, mapping.StrategyConcurrent, "q2")
			b.says(t, first, "a1")
			b.says(t, second, "b1")
			b.says(t, first, "a2")
			left := map[mapping.Strategy][]string{mapping.StrategyInterrupt: {"q1", "q2", "a1", "b1", "a2", "q3"}, mapping.StrategyRollback: {"q3"}}[s]
			third, _ := b.start(t, s, "q3")
			for _, r := range []mapping.Run{first, second} {
				got, err := b.st.Runs.Get(t.Context(), b.thread, r.ID)
				if s == mapping.StrategyRollback && err == nil || s == mapping.StrategyInterrupt && (err != nil || got.Status != mapping.RunInterrupted) {
					t.Errorf("a displaced run: %s, %v", got.Status, err)
				}
			}
			b.ends(t, third, mapping.RunSuccess)
			b.wants(t, left...)
			b.status(t, mapping.ThreadIdle)
		})
	}
}

// The end of one run does not close the question of another.
func TestQuestionOfAConcurrentRunStaysOpen(t *testing.T) {
	t.Parallel()
	b := newTable(t, mapping.ExposesNothing)
	first, _ := b.start(t, mapping.StrategyConcurrent, "q1")
	second, _ := b.start(t, mapping.StrategyConcurrent, "q2")
	asks := []mapping.Interrupt{{ID: "i1", Value: json.RawMessage(`"really?"`)}}
	b.does(t, first, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asks}}})
	b.status(t, mapping.ThreadBusy)
	b.ends(t, second, mapping.RunSuccess)
	b.status(t, mapping.ThreadInterrupted)
	th, err := b.st.Threads.Get(t.Context(), b.thread)
	if err != nil || len(th.Interrupts) != 1 || th.Interrupts[0].ID != "i1" {
		t.Errorf("open: %+v, %v", th.Interrupts, err)
	}
}

// An agent that does not allow concurrent runs has its thread to itself.
func TestRunsOfAnAgentWithoutConcurrencyWait(t *testing.T) {
	t.Parallel()
	b := newTable(t, mapping.ExposesNothing)
	o := order(b.thread, mapping.StrategyReject)
	alone := b.begin(t, o)
	<-b.seen
	later := order(b.thread, mapping.StrategyConcurrent)
	c, err := b.Begin(t.Context(), later)
	if err != nil || c.Claimed != nil || c.Run.Status != mapping.RunPending {
		t.Fatalf("got %+v, %v", c, err)
	}
	b.ends(t, alone, mapping.RunSuccess)
	if task := <-b.seen; task.Run.ID != c.Run.ID {
		t.Errorf("run %s began", task.Run.ID)
	}
	b.ends(t, c.Run, mapping.RunSuccess)
}
