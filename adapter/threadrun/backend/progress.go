package backend

import (
	"github.com/apbridge/apbridge/mapping"
)

// progress is what the frames of the present upstream run have told.
type progress struct {
	lastID      string // newest SSE id
	resumed     resumed
	frames      int  // new ones since the stream was opened
	over        bool // the server said that the stream is over
	worked      bool // frames were read that must not be logged twice
	ending      ending
	checkpoints int  // state events of the root that made a checkpoint
	step        int  // of the newest of them
	next        int  // state tasks that come after it
	outputs     int  // root updates that were not empty
	paused      bool // the graph was stopped before or after a node, as asked
	asked       []mapping.Interrupt
	held        []mapping.Event // told with the end
	failed      *errorWire      // what the stream says of a failure; nil: none, or the run went on after it
}

// ending is how far frames have told the end of their run.
type ending int

const (
	endUntold ending = iota
	endTold          // the newest frames are those of an end: nothing comes next, or a question
	endProven        // moreover the newest state of the root has no further tasks, and no frame came after it
)

// forget drops what belongs to the upstream run before. Frames of debug may still name its last step.
func (p *progress) forget() { *p = progress{step: p.step} }

// checkpoint notes the newest checkpoint of the root, with how many tasks come next. byGraph: the graph itself made it.
func (p *progress) checkpoint(step, next int, byGraph bool) {
	p.checkpoints++
	p.step, p.next = step, next
	switch {
	case next > 0:
		p.ending = endUntold
	case byGraph:
		p.ending = endProven
	default:
		p.ending = endTold
	}
}

// tellEnd notes a frame that comes at the end of a run.
func (p *progress) tellEnd() { p.ending = max(p.ending, endTold) }

// fail notes an error frame. It tells an end, whatever the newest state has after it.
func (p *progress) fail(said errorWire) { p.failed, p.ending = &said, endTold }

// wentOn notes a frame that came after an error frame: the server tries the attempt again.
func (p *progress) wentOn() {
	if p.failed != nil {
		p.failed, p.ending = nil, endUntold
	}
}

// goOn notes a frame that came after the newest state.
func (p *progress) goOn() { p.ending = min(p.ending, endTold) }

// cut reports whether the server may have more of the stream, although it closed properly.
func (p *progress) cut() bool {
	return p.ending == endUntold && p.frames > 0 && p.lastID != "" && !p.over
}

// resumable reports whether the stream can be gone back to without logging its frames twice. A server that numbers no
// frames cannot be told where to go on.
func (p *progress) resumable() bool { return p.lastID != "" || !p.worked }

// open notes that a stream is read, after the frame with the id that was asked for; "" for none.
func (p *progress) open(after string) {
	p.frames, p.over = 0, false
	p.resumed.begin(after)
}

// read notes the id of a new frame.
func (p *progress) read(id string) {
	p.frames++
	if id != "" {
		p.lastID = id
		p.resumed.note(id)
	}
}

// complete reports whether the frames leave nothing open about the end: the newest state has nothing after it, and
// there is no question.
func (p *progress) complete() bool {
	return p.ending == endProven && !p.paused && len(p.asked) == 0 && p.failed == nil
}

// note keeps what the end of the run will need of a logged event.
func (p *progress) note(ev mapping.Event) {
	if id := ev.Head.UpstreamID; id != "" {
		p.lastID = id
		p.resumed.note(id)
	}
	switch ev.Kind {
	case mapping.KindUpdate, mapping.KindDelta, mapping.KindCustom, mapping.KindChunk:
		p.worked = true
	}
	switch {
	case ev.Kind == mapping.KindUpdate && ev.Head.NS == nil && !emptyDelta(ev.Data):
		p.outputs++
	case ev.Kind == mapping.KindState && ev.Head.Point() != nil && ev.Head.Point().Source != "upstream":
		p.checkpoint(ev.Head.Point().Step, len(ev.Head.Point().Next), false)
	case ev.Kind == mapping.KindInterrupt:
		p.tellEnd()
		p.asked = append(p.asked, ev.Head.Interrupts...)
	}
}
