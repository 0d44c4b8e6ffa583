package fault

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestGraphThroughTwoBridges puts a bridge in front of another one that presents a graph as tasks and steps. The result
// has the same texts from the same nodes in the same order, once, and each complete update under additional_kwargs. A
// task/step agent has one node, "step", so the names of its messages show the nodes.
func TestGraphThroughTwoBridges(t *testing.T) {
	t.Parallel()
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	near := rig.InFront(t, graph)
	far := rig.InFrontOf(t, near.URL, func(a *config.Agent) { a.Dialect = "taskstep" })
	_, straight := near.Stream("POST", "/runs/stream", `{"assistant_id":"agent","stream_mode":["updates"],`+rig.SaysHi+`}`, 0)
	_, around := far.Stream("POST", "/runs/stream", `{"assistant_id":"agent","stream_mode":["updates"],`+rig.SaysHi+`}`, 0)
	want, got := saidBy(straight, ""), saidBy(around, "messages.0.additional_kwargs.apbridge.")
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 3 {
		t.Errorf("%d outputs; straight and around (-want +got):\n%s", len(want), diff)
	}
	if n := graph.Work(); n != 2 {
		t.Errorf("the graph ran %d times for two runs", n)
	}
}

// turned is the output of one node: its text, and the whole update in held.
type turned struct{ Node, Text, Whole any }

func saidBy(frames []rig.Frame, held string) (list []turned) {
	for _, f := range frames {
		for _, node := range []string{"plan", "think", "answer"} {
			if text := f.At(node + ".messages.0.content"); held == "" && text != nil {
				list = append(list, turned{node, text, f.At(node)})
			} else if held != "" && f.At("step.messages.0.name") == node {
				list = append(list, turned{node, f.At("step.messages.0.content"), f.At("step." + held + node)})
			}
		}
	}
	return list
}
