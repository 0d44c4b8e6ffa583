package service_test

import (
	"context"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// stateMaker is a graph that makes the states of a new thread, or fails to.
type stateMaker struct {
	*servicetest.Agent
	states []adapter.State
	err    error
}

func (m *stateMaker) MakeStates(_ context.Context, c adapter.Copy, _ []adapter.Superstep) (mapping.Link, []adapter.State, error) {
	if m.err != nil {
		return mapping.Link{}, nil, m.err
	}
	last := m.states[len(m.states)-1].Checkpoint
	return mapping.Link{Agent: c.Agent, Remote: "upstream", RemoteCheckpoint: last}, m.states, nil
}

// TestSuperstepsAreMadeByTheGraph: the graph that the thread is for makes the states, so that the thread goes on where
// they lead. If it cannot, the bridge makes them, unless they jump.
func TestSuperstepsAreMadeByTheGraph(t *testing.T) {
	t.Parallel()
	jump := []adapter.Superstep{
		{Updates: []adapter.StateUpdate{{Values: raw(`{"n":1}`), AsNode: "a"}}},
		{Updates: []adapter.StateUpdate{{Values: raw(`{"n":2}`), Command: raw(`{"update":{"n":2},"goto":"c"}`), AsNode: "a"}}},
	}
	made := []adapter.State{
		{Values: raw(`{"n":1}`), Checkpoint: "1", Next: []string{"b"}, Source: "update", Step: 0},
		{Values: raw(`{"n":2}`), Checkpoint: "2", Next: []string{"c"}, Tasks: raw(`[{"id":"t","name":"c"}]`), Source: "update", Step: 1},
	}
	failed := mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamUnreachable, "It is away.")
	for name, c := range map[string]struct {
		graph  string
		list   []adapter.Superstep
		err    error
		next   []string
		values string
		code   string
	}{
		"made by the graph":              {graph: "graph", list: jump, next: []string{"c"}, values: `{"n":2}`},
		"made by the bridge":             {graph: "graph", list: jump[:1], err: failed, values: `{"n":1}`},
		"a jump, and the graph is away":  {graph: "graph", list: jump, err: failed, code: mapping.CodeUpstreamUnreachable},
		"a jump, and no graph is named":  {list: jump, code: mapping.CodeNotSupported},
		"a jump for a task/step agent":   {graph: "legacy", list: jump, code: mapping.CodeNotSupported},
		"no jump, for a task/step agent": {graph: "legacy", list: jump[:1], values: `{"n":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.At(t, blank.DSN(t))
			b.Taker = &stateMaker{b.Graph, made, c.err}
			b.Close()
			b.Open(t)
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
					t.Errorf("the thread was made: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			st, err := b.GetState(t.Context(), th.ID, "")
			if err != nil || !slices.Equal(st.Next, c.next) || !rawjson.Equal(st.Values, raw(c.values)) {
				t.Errorf("next %q, values %s, %v", st.Next, st.Values, err)
			}
		})
	}
}
