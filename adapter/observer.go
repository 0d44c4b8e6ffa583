package adapter

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Observer shows how clients of a dialect see the events of a task's runs. It is not safe for concurrent use.
type Observer interface {
	// Observe takes the next event, in order from the start of the first run, and returns the frames that clients get
	// for it, in their order.
	Observe(e *state.Entry) []Frame
	// Fork is another Observer that has seen the same, and goes on by itself.
	Fork() Observer
}

// Observed is the run that an Observer looks at. It may be at work: of what can still change, such as its status,
// nothing is to follow but by the events.
type Observed struct {
	Run     mapping.Run
	Exposes mapping.Exposure // of its agent
}

// Frame is what clients get of an event: a frame of a stream or the answer to a call.
type Frame struct {
	Name string // what the dialect calls it
	ID   string // by which clients know it; "": by none
	Note string // what else is to be said of it, as the beginning of a sentence; "": nothing
	Type string // the media type of Bytes
	// Bytes are made when they are asked for, which is once and before the next event is seen.
	Bytes func() []byte
}
