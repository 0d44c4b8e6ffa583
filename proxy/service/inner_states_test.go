package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// mover is a graph that gets a new copy of its thread with each run, and cannot return inner states.
type mover struct {
	*servicetest.Agent
	adapter.CopyReader
	err   error
	runs  int
	asked int
}

func (m *mover) run(_ context.Context, t adapter.Assignment, yield servicetest.Yielder) {
	m.runs++
	cp := &mapping.Checkpoint{Source: "loop", Step: m.runs, Next: []string{}, RunID: t.Run.ID}
	link := mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &mapping.Link{Remote: fmt.Sprint("up", m.runs), RemoteRun: fmt.Sprint("run", m.runs)}}}
	_ = yield(link, nil) &&
		yield(mapping.Event{Kind: mapping.KindState, Data: raw(`{}`), Head: mapping.Head{Full: true, Name: "checkpoints", Next: cp.Next, Checkpoint: cp}}, nil) &&
		yield(servicetest.End(mapping.Outcome{Status: mapping.RunSuccess}), nil)
}

func (m *mover) Inner(context.Context, adapter.Copy, adapter.InnerPoint, bool) (json.RawMessage, error) {
	m.asked++
	return nil, m.err
}

// TestAnAgentThatIsAwayIsAskedForOneCopy checks that a request for an inner state does not wait for every copy of the
// thread at an agent that does not answer. The number of copies that are queried is limited.
func TestAnAgentThatIsAwayIsAskedForOneCopy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		asked int
	}{
		"it is away":              {errAway, 1},
		"it has lost its copies":  {mapping.Errorf(mapping.Upstream, mapping.CodeUpstreamLost, "It is gone."), 8},
		"it has no such subgraph": {nil, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.At(t, blank.DSN(t))
			m := &mover{Agent: b.Graph, err: c.err}
			b.Taker = m
			b.Close()
			b.Open(t)
			m.Does(m.run)
			thread := ""
			for range 12 {
				run, _ := b.Start(t, t.Context(), adapter.RunRequest{ThreadID: thread, Agent: "graph", Input: raw(`{"messages":[]}`)})
				thread = run.ThreadID
			}
			_, err := b.GetInnerState(t.Context(), thread, adapter.InnerPoint{NS: "a:1"}, false)
			if got := mapping.Classify(err).Code; c.err != nil && got != mapping.Classify(c.err).Code || c.err == nil && err != nil {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if m.asked != c.asked {
				t.Errorf("%d requests, want %d", m.asked, c.asked)
			}
		})
	}
}
