package backend

import (
	"github.com/apbridge/apbridge/mapping"
)

// progress is the state of the current upstream run according to its frames.
type progress struct {
	lastID      string // newest SSE id
	resumed     resumed
	frames      int  // new frames since the stream was opened
	over        bool // the server announced the end of the stream
	worked      bool // frames that must not be logged twice have been read
	ending      ending
	checkpoints int  // state events of the root that made a checkpoint
	step        int  // the step of the newest checkpoint
	next        int  // the number of state tasks after it
	outputs     int  // root updates that were not empty
	paused      bool // the graph stopped before or after a node, as requested
	asked       []mapping.Interrupt
	held        []mapping.Event // yielded with the end
	failed      *errorWire      // the error in the stream; nil if there was none or the run continued after it
}

// ending grades how well the frames show the end of their run.
type ending int

const (
	endNotSeen ending = iota
	endLikely         // the newest frames look like an end: no next tasks, or a question
	endProven         // in addition, the newest root state has no further tasks and no frame followed it
)

// forget discards the progress of the previous upstream run. Debug frames may still name its last step.
func (p *progress) forget() { *p = progress{step: p.step} }

// checkpoint records the newest checkpoint of the root, with the number of next tasks. byGraph means that the graph
// itself created it.
func (p *progress) checkpoint(step, next int, byGraph bool) {
	p.checkpoints++
	p.step, p.next = step, next
	switch {
	case next > 0:
		p.ending = endNotSeen
	case byGraph:
		p.ending = endProven
	default:
		p.ending = endLikely
	}
}

// tellEnd records a frame that is sent at the end of a run.
func (p *progress) tellEnd() { p.ending = max(p.ending, endLikely) }

// fail records an error frame, which shows an end even if the newest state has next tasks.
func (p *progress) fail(said errorWire) { p.failed, p.ending = &said, endLikely }

// wentOn records a frame after an error frame, which means that the server retries the attempt.
func (p *progress) wentOn() {
	if p.failed != nil {
		p.failed, p.ending = nil, endNotSeen
	}
}

// goOn records a frame after the newest state.
func (p *progress) goOn() { p.ending = min(p.ending, endLikely) }

// cut reports whether the stream may be incomplete, although it closed properly.
func (p *progress) cut() bool {
	return p.ending == endNotSeen && p.frames > 0 && p.lastID != "" && !p.over
}

// resumable reports whether the stream can be reopened without logging frames twice. A server that does not number its
// frames cannot resume.
func (p *progress) resumable() bool { return p.lastID != "" || !p.worked }

// open records that a stream is read after the frame with this id, or from the start if it is "".
func (p *progress) open(after string) {
	p.frames, p.over = 0, false
	p.resumed.begin(after)
}

// read records the id of a new frame.
func (p *progress) read(id string) {
	p.frames++
	if id != "" {
		p.lastID = id
		p.resumed.note(id)
	}
}

// complete reports whether the frames prove the end: the newest state has no next tasks, and there is no question.
func (p *progress) complete() bool {
	return p.ending == endProven && !p.paused && len(p.asked) == 0 && p.failed == nil
}

// note records the information in a logged event that the end of the run needs.
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
