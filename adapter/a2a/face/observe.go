package face

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// observer derives the frames of a task's stream from the events of its runs.
type observer struct {
	run  mapping.Run
	view *view
}

// Observe returns an observer of the frames that clients of version 1.0 would get from a run, without files.
func Observe(o adapter.Observed) adapter.Observer {
	v := newView(o.Run.TaskID, o.Run.ThreadID, maxFiles)
	v.begin(&o.Run)
	return &observer{o.Run, v}
}

// Observe implements adapter.Observer.
func (o *observer) Observe(e *state.Entry) (seen []adapter.Frame) {
	for k, update := range o.view.add(&o.run, e) {
		if update == nil {
			continue
		}
		name := "artifactUpdate"
		if update.StatusUpdate != nil {
			name = "statusUpdate"
		}
		raw, err := wire.Append(nil, wire.V1, update)
		if err != nil {
			continue // the face does not send it, either
		}
		seen = append(seen, adapter.Frame{Name: name, ID: strconv.FormatInt(e.Seq, 10) + "." + strconv.Itoa(k), Type: "application/json", Bytes: func() []byte { return raw }})
	}
	return seen
}

// Fork implements adapter.Observer.
func (o *observer) Fork() adapter.Observer {
	other := *o.view
	other.text = strings.Builder{}
	other.text.WriteString(o.view.text.String())
	other.begun, other.shows = maps.Clone(o.view.begun), maps.Clone(o.view.shows)
	other.answers = slices.Clone(o.view.answers)
	other.made, other.from = slices.Clone(o.view.made), maps.Clone(o.view.from)
	return &observer{o.run, &other}
}
