package protocol

import (
	"strconv"
	"time"
)

// event is one event of the protocol, before it is written.
type event struct {
	method    string
	namespace []string
	node      string // of an update
	name      string // of a custom event
	run       string // of a lifecycle event of the root
	ends      bool   // the run has ended and has no further events
	plain     bool   // a lifecycle event of a node without a known graph
	data      func(w *writer)
}

// channel returns the channel of an event.
func (ev *event) channel() string {
	switch ev.method {
	case methodRequested, methodAnswered:
		return channelInput
	default:
		return ev.method
	}
}

// Methods of events that differ from their channels.
const (
	methodRequested = "input.requested"
	methodAnswered  = "input.answered"
)

// position is the position of an event in a thread's log: the k-th event of the entry seq.
type position struct {
	seq int64
	k   int
	at  time.Time
}

// framesPerEntry is the distance between the numbers of two entries. JavaScript distinguishes whole numbers up to 2^53,
// so a thread may have 2^33 entries. An entry of tens of megabytes may have more events than that. Those from lastFrame
// on share a number, and a reader that continues after it receives all of them again.
const (
	framesPerEntry = 1 << 20
	lastFrame      = framesPerEntry - 2
)

// number returns the event's sequence number.
func (p position) number() int64 { return p.seq*framesPerEntry + int64(min(p.k, lastFrame)) }

// isPast reports whether a reader that has received everything up to since may lack the event.
func (p position) isPast(since int64) bool {
	return p.number() > since || p.k >= lastFrame && p.number() == since
}

// isBehind reports whether the event follows the other one.
func (p position) isBehind(other position) bool {
	return p.seq > other.seq || p.seq == other.seq && p.k > other.k
}

// lastNumber returns the highest sequence number of an entry.
func lastNumber(seq int64) int64 {
	if seq <= 0 {
		return 0
	}
	return seq*framesPerEntry + framesPerEntry - 1
}

// id returns the event's id. SDKs read the run of a root lifecycle from it (@langchain/langgraph-sdk from 1.15).
func (ev *event) id(at position) string {
	if ev.run != "" {
		return ofRun + ev.run + ":" + at.id()
	}
	return at.id()
}

// ofRun is the prefix of an id that names the event's run.
const ofRun = "synth:"

func (p position) id() string { return strconv.FormatInt(p.seq, 10) + "." + strconv.Itoa(p.k) }

// encode writes an event (CDDL, Event).
func (ev *event) encode(at position, spelling Spelling) []byte {
	w := &writer{spelling: spelling}
	w.open().text("type", "event").text("event_id", ev.id(at)).int("seq", at.number()).text("method", ev.method)
	w.object("params", func() {
		w.texts("namespace", ev.namespace).int("timestamp", at.at.UnixMilli())
		ev.body(w)
	})
	return w.close().Bytes
}

// body writes the event's data. The SDKs expect the node of an update next to its values; the CDDL has both within
// data.
func (ev *event) body(w *writer) {
	if ev.method == channelUpdates && w.spelling == Camel {
		w.object("data", func() {
			w.some("node", ev.node).Key("values")
			ev.data(w)
		})
		return
	}
	w.some("node", ev.node).Key("data")
	ev.data(w)
}
