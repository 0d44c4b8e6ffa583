package service_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// stateMaker is a graph that creates the states of a new thread and applies updates, or fails to. It is not safe for
// concurrent use.
type stateMaker struct {
	*servicetest.Agent
	states []adapter.State // of a new thread
	after  adapter.State   // of an update
	err    error

	made, forgotten int
	updated         *adapter.Fork // the checkpoint of the last update
}

func (m *stateMaker) MakeStates(_ context.Context, c adapter.Copy, _ []adapter.Superstep) (mapping.Link, []adapter.State, error) {
	m.made++
	if m.err != nil {
		return mapping.Link{}, nil, m.err
	}
	return mapping.Link{Agent: c.Agent, Remote: "upstream", RemoteCheckpoint: m.states[len(m.states)-1].Checkpoint}, m.states, nil
}

func (m *stateMaker) UpdateState(_ context.Context, _ adapter.Copy, at *adapter.Fork, _ json.RawMessage, _ string) (adapter.State, error) {
	m.updated = at
	return m.after, m.err
}

func (m *stateMaker) Forget(context.Context, mapping.Link) error {
	m.forgotten++
	return nil
}

func newStateMaker(t *testing.T) (*servicetest.Bench, *stateMaker) {
	t.Helper()
	b := servicetest.At(t, blank.DSN(t))
	m := &stateMaker{Agent: b.Graph, states: []adapter.State{
		{Values: raw(`{"n":1}`), Checkpoint: "1", Next: []string{"b"}, Source: "update", Step: 0},
		{Values: raw(`{"n":2}`), Checkpoint: "2", Next: []string{"c"}, Tasks: raw(`[{"id":"t","name":"c"}]`), Source: "update", Step: 1, Metadata: raw(`{"graph_id":"graph"}`)},
	}}
	b.Taker = m
	b.Close()
	b.Open(t)
	return b, m
}

func jumps() []adapter.Superstep {
	return []adapter.Superstep{
		{Updates: []adapter.StateUpdate{{Values: raw(`{"n":1}`), AsNode: "a"}}},
		{Updates: []adapter.StateUpdate{{Values: raw(`{"n":2}`), Command: raw(`{"update":{"n":2},"goto":"c"}`), AsNode: "a"}}},
	}
}

var (
	errAway    = mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable, "It is away.")
	errRefused = mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamError, "It has no such node.")
)

// TestGraphCreatesSupersteps checks that the thread's graph creates the states, so that runs continue where they
// lead. If the graph is unavailable, the bridge creates them, unless they contain jumps. If the graph refuses them, so
// does the bridge.
func TestGraphCreatesSupersteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		graph  string
		list   []adapter.Superstep
		err    error
		next   []string
		values string
		code   string
	}{
		"created by the graph":                 {graph: "graph", list: jumps(), next: []string{"c"}, values: `{"n":2}`},
		"created by the bridge":                {graph: "graph", list: jumps()[:1], err: errAway, values: `{"n":1}`},
		"refused by the graph":                 {graph: "graph", list: jumps()[:1], err: errRefused, code: mapping.CodeUpstreamError},
		"a jump, and the graph is unreachable": {graph: "graph", list: jumps(), err: errAway, code: mapping.CodeUpstreamUnreachable},
		"a jump, and no graph is named":        {list: jumps(), code: mapping.CodeNotSupported},
		"a jump for a task/step agent":         {graph: "legacy", list: jumps(), code: mapping.CodeNotSupported},
		"no jump, for a task/step agent":       {graph: "legacy", list: jumps()[:1], values: `{"n":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := newStateMaker(t)
			m.err = c.err
			n := adapter.ThreadRequest{ID: mapping.NewID(), Supersteps: c.list}
			if c.graph != "" {
				n.Metadata = raw(`{"graph_id":"` + c.graph + `"}`)
			}
			th, err := b.CreateThread(t.Context(), n)
			if c.code != "" {
				if mapping.Classify(err).Code != c.code {
					t.Fatalf("got %v, want %s", err, c.code)
				}
				if _, err := b.GetThread(t.Context(), n.ID); mapping.Classify(err).Class != mapping.NotFound {
					t.Errorf("the thread was created: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, b, th.ID, c.values, c.next)
		})
	}
}

func wantState(t *testing.T, b *servicetest.Bench, thread, values string, next []string) {
	t.Helper()
	st, err := b.GetState(t.Context(), thread, "")
	if err != nil || !slices.Equal(st.Next, next) || !rawjson.Equal(st.Values, raw(values)) {
		t.Errorf("next %q, values %s, %v; want %q, %s", st.Next, st.Values, err, next, values)
	}
}

// TestARepeatedThreadLeavesNoSecondCopy checks that the agent is not called for a repeated request or for a thread that
// exists. Its copy is deleted if the thread turns out to be another caller's.
func TestARepeatedThreadLeavesNoSecondCopy(t *testing.T) {
	t.Parallel()
	b, m := newStateMaker(t)
	n := adapter.ThreadRequest{ID: mapping.NewID(), Supersteps: jumps(), Metadata: raw(`{"graph_id":"graph"}`), IdempotencyKey: "k"}
	for range 2 {
		th, err := b.CreateThread(t.Context(), n)
		if err != nil || th.ID != n.ID {
			t.Fatalf("got %s, %v", th.ID, err)
		}
	}
	if m.made != 1 || m.forgotten != 0 {
		t.Errorf("with its key: %d copies made, %d deleted; want 1, 0", m.made, m.forgotten)
	}
	n.IdempotencyKey = ""
	if _, err := b.CreateThread(t.Context(), n); mapping.Classify(err).Class != mapping.Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
	n.OrGet = true
	if _, err := b.CreateThread(t.Context(), n); err != nil {
		t.Error(err)
	}
	if m.made != 1 || m.forgotten != 0 {
		t.Errorf("without a key: %d copies made, %d deleted; want 1, 0", m.made, m.forgotten)
	}
	other := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "k", Own: true})
	if _, err := b.CreateThread(other, n); mapping.Classify(err).Class != mapping.Conflict {
		t.Errorf("another caller: got %v, want a conflict", err)
	}
	if m.made != 2 || m.forgotten != 1 {
		t.Errorf("another caller: %d copies made, %d deleted; want 2, 1", m.made, m.forgotten)
	}
}

// TestGraphAppliesTheFirstUpdateAsANode checks that the graph creates the first state of a thread or refuses it. If the
// graph is unavailable, the bridge creates the state.
func TestGraphAppliesTheFirstUpdateAsANode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		code   string
		values string
		next   []string
	}{
		"made by the graph":    {values: `{"n":2}`, next: []string{"c"}},
		"made by the bridge":   {err: errAway, values: `{"n":7}`},
		"refused by the graph": {err: errRefused, code: mapping.CodeUpstreamError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := newStateMaker(t)
			m.err = c.err
			th, err := b.CreateThread(t.Context(), adapter.ThreadRequest{Metadata: raw(`{"graph_id":"graph"}`)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.UpdateState(t.Context(), th.ID, adapter.StateUpdate{Values: raw(`{"n":7}`), AsNode: "a"})
			if c.code != "" {
				if mapping.Classify(err).Code != c.code {
					t.Errorf("got %v, want %s", err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, b, th.ID, c.values, c.next)
		})
	}
}

// TestAFirstUpdateCallsNoForbiddenAgent checks that the metadata of a thread, which its owner may change, does not make
// the bridge call an agent that the owner's key may not use.
func TestAFirstUpdateCallsNoForbiddenAgent(t *testing.T) {
	t.Parallel()
	b, m := newStateMaker(t)
	ctx := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "k", Agents: []string{"legacy"}})
	th, err := b.CreateThread(ctx, adapter.ThreadRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.PatchThread(ctx, th.ID, adapter.ThreadPatch{Metadata: raw(`{"graph_id":"graph"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateState(ctx, th.ID, adapter.StateUpdate{Values: raw(`{"n":7}`), AsNode: "a"}); err != nil {
		t.Fatal(err)
	}
	if st, err := b.GetState(ctx, th.ID, ""); err != nil || m.made != 0 || !rawjson.Equal(st.Values, raw(`{"n":7}`)) {
		t.Errorf("the graph was called %d times, and the state is %s, %v", m.made, st.Values, err)
	}
}

// TestAFirstUpdateShowsTheThreadToKeysOfItsAgent checks that a thread belongs to the agent that created its first state,
// as it does after a run.
func TestAFirstUpdateShowsTheThreadToKeysOfItsAgent(t *testing.T) {
	t.Parallel()
	b, _ := newStateMaker(t)
	th, err := b.CreateThread(t.Context(), adapter.ThreadRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.PatchThread(t.Context(), th.ID, adapter.ThreadPatch{Metadata: raw(`{"graph_id":"graph"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateState(t.Context(), th.ID, adapter.StateUpdate{Values: raw(`{"n":7}`), AsNode: "a"}); err != nil {
		t.Fatal(err)
	}
	for agent, visible := range map[string]bool{"graph": true, "legacy": false} {
		ctx := mapping.WithPrincipal(t.Context(), mapping.Principal{ID: "k", Agents: []string{agent}})
		if _, err := b.GetThread(ctx, th.ID); (err == nil) != visible {
			t.Errorf("a key of %s gets %v", agent, err)
		}
	}
}

// TestAnUpdateOfAnEarlierStateIsTheGraphs checks that the graph applies the update at that checkpoint of its copy.
func TestAnUpdateOfAnEarlierStateIsTheGraphs(t *testing.T) {
	t.Parallel()
	b, m := newStateMaker(t)
	th, err := b.CreateThread(t.Context(), adapter.ThreadRequest{Supersteps: jumps(), Metadata: raw(`{"graph_id":"graph"}`)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := gathered(b.StateHistory(t.Context(), th.ID, adapter.HistoryQuery{}))
	if err != nil || len(list) != 2 {
		t.Fatalf("%d states, %v", len(list), err)
	}
	if got := rawjson.GetText(list[0].Metadata, "graph_id"); got != "graph" {
		t.Errorf("the graph's metadata is not kept: graph_id %q", got)
	}
	m.after = adapter.State{Values: raw(`{"n":3}`), Checkpoint: "3", Next: []string{"b"}, Source: "update", Step: 1}
	made, err := b.UpdateState(t.Context(), th.ID, adapter.StateUpdate{Values: raw(`{"n":3}`), AsNode: "a", CheckpointID: list[1].Checkpoint})
	if err != nil || made.Parent != list[1].Checkpoint || made.Source != "update" {
		t.Errorf("made %+v, %v; want it after %s", made, err, list[1].Checkpoint)
	}
	if m.updated == nil || m.updated.Checkpoint != "1" {
		t.Errorf("updated at %+v, want 1", m.updated)
	}
	wantState(t, b, th.ID, `{"n":3}`, []string{"b"})
}

// TestUpdateAsTheAskingNodeClosesItsQuestion checks that the question is closed unless the node comes next again.
func TestUpdateAsTheAskingNodeClosesItsQuestion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next []string
		open int
	}{
		"the node is done":     {[]string{"b"}, 0},
		"the node comes again": {[]string{"ask"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := newStateMaker(t)
			m.Does(func(_ context.Context, _ adapter.Assignment, yield servicetest.Yielder) {
				ask := []mapping.Interrupt{{ID: "q1", Value: raw(`"which colour?"`)}}
				cp := &mapping.Checkpoint{Source: "loop", Step: 0, Next: []string{"ask"}, Remote: "1"}
				linked := mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: "up", RemoteMark: "mark"}}}
				_ = yield(linked, nil) &&
					yield(mapping.Event{Kind: mapping.KindState, Data: raw(`{"n":1}`), Head: mapping.Head{Full: true, Name: "values", Checkpoint: cp}}, nil) &&
					yield(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: ask}}, nil) &&
					yield(servicetest.End(mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: ask}), nil)
			})
			r, out := b.Start(t, t.Context(), servicetest.NewRun(mapping.NewID(), "graph", "hi"))
			if len(out.Interrupts) != 1 {
				t.Fatalf("got %+v", out)
			}
			m.after = adapter.State{Values: raw(`{"n":2}`), Checkpoint: "2", Next: c.next, Source: "update", Step: 1}
			if _, err := b.UpdateState(t.Context(), r.ThreadID, adapter.StateUpdate{Values: raw(`{"n":2}`), AsNode: "ask"}); err != nil {
				t.Fatal(err)
			}
			wantState(t, b, r.ThreadID, `{"n":2}`, c.next)
			th, err := b.GetThread(t.Context(), r.ThreadID)
			if err != nil || len(th.Interrupts) != c.open {
				t.Errorf("%d questions are open, %v; want %d", len(th.Interrupts), err, c.open)
			}
		})
	}
}
