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
	data      func(w *writer)
}

// channel is the channel that an event is on.
func (ev *event) channel() string {
	switch ev.method {
	case methodRequested, methodAnswered:
		return channelInput
	default:
		return ev.method
	}
}

// Methods of events that are not called as their channel.
const (
	methodRequested = "input.requested"
	methodAnswered  = "input.answered"
)

// place is where an event stands in a thread's log: the k-th that the entry seq is told as.
// Entries have fewer events than framesPerEntry.
type place struct {
	seq int64
	k   int
	at  time.Time
}

const framesPerEntry = 4096

// number is the event's sequence number.
func (p place) number() int64 { return p.seq*framesPerEntry + int64(min(p.k, framesPerEntry-1)) }

// through is the sequence number of the last event that an entry may have.
func through(seq int64) int64 {
	if seq <= 0 {
		return 0
	}
	return seq*framesPerEntry + framesPerEntry - 1
}

func (p place) id() string { return strconv.FormatInt(p.seq, 10) + "." + strconv.Itoa(p.k) }

// encode writes an event (CDDL, Event).
func (ev *event) encode(at place, spelling Spelling) []byte {
	w := &writer{spelling: spelling}
	w.open().text("type", "event").text("event_id", at.id()).int("seq", at.number()).text("method", ev.method)
	w.object("params", func() {
		w.texts("namespace", ev.namespace).int("timestamp", at.at.UnixMilli())
		ev.body(w)
	})
	return w.close().Bytes
}

// body writes what an event holds. The SDKs read an update's node beside its values, the
// document has both within data.
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
