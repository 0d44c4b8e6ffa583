package render

import (
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/state"
)

// observedModes are the modes whose frames an observer sees even if the run did not request them. The frames of other
// modes repeat the same information.
const observedModes = modeValues | modeUpdates | modeTuple | modeCustom | Always

// outline receives frames instead of a reader. The bytes of a frame are created when data is called.
type outline func(slot int, mode Modes, name string, data func() []byte)

// observer sees the frames of a run's stream.
type observer struct {
	v     *View
	asked Modes
}

// Observe returns an observer that shows a run's events as a reader of its stream receives them.
func Observe(o adapter.Observed) adapter.Observer {
	asked := ModesOf(o.Run.Options.StreamModes)
	v := NewView(&o.Run, (asked|observedModes)&^modeMessages, adapter.Cursor{Start: true, K: -1})
	v.Exposes, v.subgraphs, v.inner = o.Exposes, true, nil
	return &observer{v, asked}
}

func (o *observer) Observe(e *state.Entry) (seen []adapter.Frame) {
	o.v.outline = func(slot int, mode Modes, name string, data func() []byte) {
		s := adapter.Frame{Name: nameWithin(name, e.Head.NS), ID: o.v.id(slot), Type: "text/event-stream", Bytes: data}
		if mode&o.asked == 0 {
			s.Note = "only with stream mode " + modeName(mode)
		}
		seen = append(seen, s)
	}
	o.v.Frames(e, nil)
	return seen
}

// Fork implements adapter.Observer. The rest of the view's fields belong to a single event.
func (o *observer) Fork() adapter.Observer {
	v := *o.v
	v.e, v.emit, v.outline = nil, nil, nil // they belong to one event and keep its state in memory
	return &observer{&v, o.asked}
}

func modeName(mode Modes) string {
	var names []string
	for name, m := range modeOf {
		if m == mode {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Concat(names, []string{""})[0]
}
