package adapter

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Observer shows the events of a task's runs as clients of a dialect see them. Not safe for concurrent use.
type Observer interface {
	// Observe adds the next event, in order from the start of the first run, and returns the frames that clients get
	// for it, in order.
	Observe(e *state.Entry) []Frame
	// Fork returns another Observer with the same events so far, which is then independent.
	Fork() Observer
}

// Observed is the run that an Observer looks at. It may be active: observers must take values that can change, such as
// its status, from the events only.
type Observed struct {
	Run     mapping.Run
	Exposes mapping.Exposure // of its agent
}

// Frame is what clients get for an event: a frame of a stream or the response to a call.
type Frame struct {
	Name string // its name in the dialect
	ID   string // for clients; may be empty
	Note string // further information as the beginning of a sentence; may be empty
	Type string // the media type of Bytes
	// Bytes returns the contents. It is called once, and before the next event is observed.
	Bytes func() []byte
}
