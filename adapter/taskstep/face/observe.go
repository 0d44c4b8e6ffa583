package face

import (
	"cmp"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// stepObserver derives the steps of a task from the events of its runs.
type stepObserver struct {
	steps *rule.StepFolder
	made  int // the number of the newest step
	layout
}

// Observe returns an observer that shows the steps that a client of the task would get.
func Observe(o adapter.Observed) adapter.Observer {
	mode := cmp.Or(o.Run.Options.Stepping, mapping.SteppingFree)
	l := layout{}
	if o.Run.Flavour == FlavourTopic {
		l.topic = o.Run.ThreadID
	}
	return &stepObserver{steps: rule.NewStepFolder(o.Run.TaskID, mode), layout: l}
}

// Observe implements adapter.Observer. It returns a step when its content is complete. If it is only later known
// whether the step is the last, it returns the step again then.
func (o *stepObserver) Observe(e *state.Entry) (seen []adapter.Frame) {
	for _, s := range o.steps.Add(e) {
		note := "handed out from here on"
		if s.N > o.made {
			o.made, note = s.N, ""
		}
		if s.IsLast {
			note = "the last step"
		}
		seen = append(seen, o.frame(s, note))
	}
	if s := o.steps.Held(); s != nil && s.N > o.made {
		o.made = s.N
		seen = append(seen, o.frame(*s, "held back until it is known whether it is the last"))
	}
	return seen
}

// Fork implements adapter.Observer.
func (o *stepObserver) Fork() adapter.Observer {
	return &stepObserver{steps: o.steps.Fork(), made: o.made, layout: o.layout}
}

func (o *stepObserver) frame(s mapping.Step, note string) adapter.Frame {
	return adapter.Frame{Name: "step " + strconv.Itoa(s.N), ID: s.ID, Note: note, Type: "application/json", Bytes: func() []byte { return written(o.step, &s) }}
}
