package backend

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestQuestionsOfInnerGraphsKeepTheirNamespace checks that a question has the namespace from the frames of the
// innermost graph or, without such frames, the namespace of the outermost graph in the state.
func TestQuestionsOfInnerGraphsKeepTheirNamespace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		subgraphs bool
		want      string
	}{{true, adaptertest.BottomNS}, {false, adaptertest.MiddleNS}} {
		a := playing(adaptertest.InnerPlay(c.subgraphs))
		task := adaptertest.NewTask(nil)
		task.Run.Options.Subgraphs = c.subgraphs
		tr := run(t, a, task)
		if tr.Err != nil {
			t.Fatal(tr.Err)
		}
		for _, ev := range tr.Events {
			asked := ev.Head.Interrupts
			if ev.Kind == mapping.KindEnd {
				asked = ev.Head.Outcome.Interrupts
			}
			for _, q := range asked {
				if q.Within != c.want {
					t.Errorf("subgraphs %v: the %s event's question is within %q", c.subgraphs, ev.Kind, q.Within)
				}
			}
		}
		if out := tr.End(); len(out.Interrupts) != 1 {
			t.Errorf("outcome %+v", out)
		}
	}
}
