package toy

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// observer shows a run as the lines of a response.
type observer struct{ steps *rule.StepFolder }

func observe(o adapter.Observed) adapter.Observer {
	return observer{rule.NewStepFolder(o.Run.TaskID, o.Run.Options.Stepping)}
}

// Observe implements adapter.Observer. It returns a line for each step, as face.say writes it.
func (o observer) Observe(e *state.Entry) (seen []adapter.Frame) {
	for _, s := range o.steps.Add(e) {
		if s.Output == nil {
			continue
		}
		quoted, _ := json.Marshal(*s.Output)
		line := fmt.Appendf(nil, "- %s\n", quoted)
		seen = append(seen, adapter.Frame{Name: "line", Type: "text/plain", Bytes: func() []byte { return line }})
	}
	return seen
}

// Fork implements adapter.Observer.
func (o observer) Fork() adapter.Observer { return observer{o.steps.Fork()} }
