package threadrun

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// A graph continues after the node that a client named as the author of the thread's state. Without one, or with a node
// that the graph does not have, it is at its end.
func TestGraphContinuesAfterTheAuthorOfItsState(t *testing.T) {
	t.Parallel()
	const values = `{"messages":[{"type":"human","content":"hi","id":"h1"}]}`
	for name, c := range map[string]struct {
		thread, update string
		nodes          []any
	}{
		"supersteps":            {`{"supersteps":[{"updates":[{"values":{},"as_node":"__input__"}]},{"updates":[{"values":` + values + `,"as_node":"plan"}]}]}`, "", []any{"plan"}},
		"supersteps of no node": {`{"supersteps":[{"updates":[{"values":` + values + `}]}]}`, "", []any{"answer"}},
		"an unknown node":       {`{"supersteps":[{"updates":[{"values":` + values + `,"as_node":"` + adaptertest.NoNode + `"}]}]}`, "", []any{adaptertest.NoNode, "answer"}},
		"a state update":        {`{}`, `{"values":` + values + `,"as_node":"plan"}`, []any{"plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			b := rig.InFront(t, agent, rig.AsThreads)
			at := "/threads/" + b.Post("/threads", c.thread).OK().Text("thread_id")
			if c.update != "" {
				b.Post(at+"/state", c.update).OK()
			}
			b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":null}`).OK()
			var nodes []any
			for _, body := range agent.Bodies("POST /threads/{t}/state") {
				var update any
				if err := json.Unmarshal(body, &update); err != nil {
					t.Fatal(err)
				}
				nodes = append(nodes, rig.Dig(update, "as_node"))
			}
			if diff := cmp.Diff(c.nodes, nodes); diff != "" {
				t.Errorf("updates of the agent's state (-want +got):\n%s", diff)
			}
		})
	}
}
