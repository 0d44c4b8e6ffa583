package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// taskTeller is a graph that stops before its node c and reports a finished task for every checkpoint.
type taskTeller struct {
	*servicetest.Agent
	adapter.CopyReader
	run string // the bridge's
}

const doneTask = `[{"id":"t","name":"b","error":null,"interrupts":[],"result":{"n":2}}]`

func (g *taskTeller) stops(_ context.Context, t adapter.Assignment, yield servicetest.Yielder) {
	g.run = t.Run.ID
	link := mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up", RemoteRun: "theirs"}}}
	at := func(step int, values, next string) mapping.Event {
		cp := &mapping.Checkpoint{Source: "loop", Step: step, Next: []string{next}, RunID: t.Run.ID}
		return mapping.Event{Kind: mapping.KindState, Data: raw(values), Head: mapping.Head{Full: true, Name: "checkpoints", Next: cp.Next, Checkpoint: cp}}
	}
	_ = yield(link, nil) && yield(at(0, `{"n":1}`, "b"), nil) && yield(at(1, `{"n":2}`, "c"), nil) && yield(servicetest.End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
}

func (g *taskTeller) Tasks(_ context.Context, c adapter.Copy, _ adapter.Fork, _ bool) (json.RawMessage, error) {
	if c.Link.Remote != "up" {
		return nil, errAway
	}
	return raw(doneTask), nil
}

func (g *taskTeller) TaskHistory(_ context.Context, c adapter.Copy, _ *adapter.Fork, run string, _ int) ([]adapter.TasksAt, error) {
	if c.Link.Remote != "up" || run != "" && run != "theirs" {
		return nil, errAway
	}
	var list []adapter.TasksAt
	for step := 1; step >= 0; step-- {
		list = append(list, adapter.TasksAt{Run: g.run, Step: step, Source: "loop", Tasks: raw(doneTask)})
	}
	return list, nil
}

// TestCopiedStatesHaveTheResultsOfTheirTasks checks that the earlier states of a copied thread have the tasks of the
// agent's original thread, as long as that exists. The newest state of the copy has not continued.
func TestCopiedStatesHaveTheResultsOfTheirTasks(t *testing.T) {
	t.Parallel()
	b := servicetest.At(t, blank.DSN(t))
	g := &taskTeller{Agent: b.Graph}
	b.Taker = g
	b.Close()
	b.Open(t)
	g.Does(g.stops)
	run, _ := b.Start(t, t.Context(), adapter.RunRequest{Agent: "graph", Input: raw(`{"messages":[]}`)})
	thread := run.ThreadID
	twin, err := b.CopyThread(t.Context(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, want ...string) {
		t.Helper()
		list, err := gathered(b.StateHistory(t.Context(), twin.ID, adapter.HistoryQuery{Tasks: true}))
		if err != nil || len(list) != 2 {
			t.Fatalf("%s: %d states, %v", name, len(list), err)
		}
		for i, st := range list {
			if got := rawjson.Get(rawjson.ElementsOf(st.Tasks)[0], "result"); string(got) != want[i] {
				t.Errorf("%s: state %d has the result %s, want %s", name, i, got, want[i])
			}
			alone, err := b.GetStateWithTasks(t.Context(), twin.ID, st.Checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			if got := rawjson.Get(rawjson.ElementsOf(alone.Tasks)[0], "result"); string(got) != want[i] {
				t.Errorf("%s: state %d read by itself has the result %s, want %s", name, i, got, want[i])
			}
		}
	}
	check("a copy", `null`, `{"n":2}`)
	if err := b.DeleteThread(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	check("its original is deleted", `null`, `null`)
}

// stuckTeller is a graph with twenty steps whose server does not answer requests for tasks.
type stuckTeller struct {
	*servicetest.Agent
	adapter.CopyReader
	asked int
}

func (g *stuckTeller) runs(_ context.Context, t adapter.Assignment, yield servicetest.Yielder) {
	link := mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up", RemoteRun: "of " + t.Run.ID}}}
	if !yield(link, nil) {
		return
	}
	for step := range 20 {
		cp := &mapping.Checkpoint{Source: "loop", Step: step, Next: []string{"b"}, RunID: t.Run.ID}
		values := raw(fmt.Sprintf(`{"n":%d}`, step))
		if !yield(mapping.Event{Kind: mapping.KindState, Data: values, Head: mapping.Head{Full: true, Name: "checkpoints", Next: cp.Next, Checkpoint: cp}}, nil) {
			return
		}
	}
	yield(servicetest.End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
}

func (g *stuckTeller) TaskHistory(ctx context.Context, _ adapter.Copy, _ *adapter.Fork, _ string, _ int) ([]adapter.TasksAt, error) {
	g.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestALongHistoryWaitsOnceForAStuckAgent checks that the pages of a history share one time limit. The states of a
// copied thread are read run by run.
func TestALongHistoryWaitsOnceForAStuckAgent(t *testing.T) {
	path := blank.File(t) // a bubble's clock stops while a server is connected
	synctest.Test(t, func(t *testing.T) {
		b := servicetest.At(t, path)
		g := &stuckTeller{Agent: b.Graph}
		b.Taker = g
		b.Close()
		b.Open(t)
		defer b.Close()
		g.Does(g.runs)
		thread := ""
		for range 10 {
			run, _ := b.Start(t, t.Context(), adapter.RunRequest{ThreadID: thread, Agent: "graph", Input: raw(`{"messages":[]}`)})
			thread = run.ThreadID
		}
		twin, err := b.CopyThread(t.Context(), thread, "")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		list, err := gathered(b.StateHistory(t.Context(), twin.ID, adapter.HistoryQuery{Tasks: true}))
		if waited := time.Since(began); err != nil || len(list) < 200 || waited > 6*time.Second || g.asked == 0 {
			t.Errorf("%d states after %v and %d requests, %v", len(list), waited, g.asked, err)
		}
	})
}

// endlessTeller is a stuckTeller whose server answers at once, with as many other checkpoints as requested.
type endlessTeller struct {
	stuckTeller
	reads map[string]int // by the agent's run
}

func (g *endlessTeller) TaskHistory(_ context.Context, _ adapter.Copy, _ *adapter.Fork, run string, limit int) ([]adapter.TasksAt, error) {
	g.reads[run]++
	list := make([]adapter.TasksAt, limit)
	for i := range list {
		list[i] = adapter.TasksAt{Checkpoint: fmt.Sprint(i), Step: i, Source: "loop", Tasks: raw(doneTask)}
	}
	return list, nil
}

// TestALongHistoryReadsEachOriginalRunWithItsPages checks that a run of the original is only read with the pages that
// have its checkpoints, and that checkpoints of unnamed runs do not count as its own.
func TestALongHistoryReadsEachOriginalRunWithItsPages(t *testing.T) {
	t.Parallel()
	b := servicetest.At(t, blank.DSN(t))
	g := &endlessTeller{stuckTeller: stuckTeller{Agent: b.Graph}, reads: map[string]int{}}
	b.Taker = g
	b.Close()
	b.Open(t)
	g.Does(g.runs)
	thread := ""
	for range 20 {
		run, _ := b.Start(t, t.Context(), adapter.RunRequest{ThreadID: thread, Agent: "graph", Input: raw(`{"messages":[]}`)})
		thread = run.ThreadID
	}
	twin, err := b.CopyThread(t.Context(), thread, "")
	if err != nil {
		t.Fatal(err)
	}
	list, err := gathered(b.StateHistory(t.Context(), twin.ID, adapter.HistoryQuery{Tasks: true}))
	if err != nil || len(list) < 400 || len(g.reads) < 20 {
		t.Fatalf("%d states and %d runs, %v", len(list), len(g.reads), err)
	}
	for run, n := range g.reads {
		if n > 4 { // twice for each of two pages
			t.Errorf("%s was read %d times", run, n)
		}
	}
	for _, st := range list {
		if tasks := rawjson.ElementsOf(st.Tasks); len(tasks) > 0 && !rawjson.IsNull(rawjson.Get(tasks[0], "result")) {
			t.Fatalf("the state %s has the result of another run", st.Values)
		}
	}
}
