package face

import (
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// An event renders to a fixed set of frames, each in a slot of its own: a
// frame's id is `<seq>.<slot>`, the same for every reader and on every replay,
// whatever modes a reader asked for. Slots are counted by kind of event, in
// the order in which frames are sent. They are part of the wire: ids that
// clients hold must keep their meaning, so slots are added, never renumbered.
const (
	startedMetadata = 0
	startedEvent    = 1

	inputCheckpoint = 0
	inputDebug      = 1
	inputValues     = 2

	deltaMetadata = 0
	deltaPartial  = 1
	deltaTuple    = 2

	updateTask       = 0
	updateDebugTask  = 1
	updateEvent      = 2
	updateMetadata   = 3
	updateComplete   = 4
	updateTuple      = 5
	updateEventEnd   = 6
	updateUpdates    = 7
	updateResult     = 8
	updateDebugDone  = 9
	updateDebugState = 10
	updateCheckpoint = 11
	updateValues     = 12
	updateAsk        = 13
	updateAskValues  = 14
	updateMoreTuples = 64 // second and further messages of one update

	askUpdates = 0
	askValues  = 1

	chunkFrame = 0 // chunk and custom events

	stateCheckpoint = 0
	stateValues     = 1
	stateComplete   = 2
	stateChanged    = 3

	endEvent = 0
	endError = 1
	endDone  = 2
	endState = 3
)

// modeMask is a set of stream modes.
type modeMask uint16

const (
	modeValues modeMask = 1 << iota
	modeUpdates
	modeMessages
	modeTuple
	modeCustom
	modeEvents
	modeDebug
	modeTasks
	modeCheckpoints
	modeTools
	modeAlways // metadata and errors
)

var modeOf = map[string]modeMask{
	"values": modeValues, "updates": modeUpdates, "messages": modeMessages, "messages-tuple": modeTuple,
	"custom": modeCustom, "events": modeEvents, "debug": modeDebug, "tasks": modeTasks,
	"checkpoints": modeCheckpoints, "tools": modeTools,
}

// modeSet reads names that were checked; none means values.
func modeSet(names []string) modeMask {
	set := modeAlways
	for _, n := range names {
		set |= modeOf[n]
	}
	if set == modeAlways {
		set |= modeValues
	}
	return set
}

// view is how one reader looks at one run. Not for concurrent use.
type view struct {
	run       mapping.Run
	modes     modeMask
	subgraphs bool
	opaque    bool // a task/step agent: frames of its inner life are made here
	after     adapter.Cursor
	partials  *partials // set with modeMessages

	emit func(frame []byte)
	e    *state.Entry
}

func newView(run *mapping.Run, set modeMask, after adapter.Cursor) *view {
	v := &view{run: *run, modes: set, subgraphs: run.Options.Subgraphs, after: after}
	if set&modeMessages != 0 {
		v.partials = newPartials()
	}
	return v
}

// frames hands emit the frames of an event that this reader wants, in order.
// The bytes are shared between readers and must not be changed.
func (v *view) frames(e *state.Entry, emit func(frame []byte)) {
	v.e, v.emit = e, emit
	switch e.Kind {
	case mapping.KindStarted:
		v.started()
	case mapping.KindInput:
		v.input()
	case mapping.KindDelta:
		v.delta()
	case mapping.KindUpdate:
		v.update()
	case mapping.KindInterrupt:
		v.interrupt(askUpdates, askValues)
	case mapping.KindCustom:
		v.frame(chunkFrame, modeCustom, "custom", v.data)
	case mapping.KindChunk:
		v.chunk()
	case mapping.KindState:
		v.state()
	case mapping.KindEnd:
		v.end()
	}
}

func (v *view) data() []byte { return v.e.Data }

// frame sends the frame of one slot, unless the reader does not want it or has
// it already. The first reader's encoding is kept for the others.
func (v *view) frame(slot int, mode modeMask, name string, data func() []byte) {
	if v.wants(slot, mode) {
		v.emit(v.e.Encoded(slotKey(slot), func() []byte { return v.encode(slot, name, data) }))
	}
}

// passing is frame for what is not worth keeping.
func (v *view) passing(slot int, mode modeMask, name string, data func() []byte) {
	if v.wants(slot, mode) {
		v.emit(v.encode(slot, name, data))
	}
}

func (v *view) wants(slot int, mode modeMask) bool {
	seen := v.e.Seq == v.after.Seq && slot <= v.after.K
	return v.modes&mode != 0 && !seen && (v.subgraphs || len(v.e.Head.NS) == 0)
}

func (v *view) encode(slot int, name string, data func() []byte) []byte {
	return sse.AppendFrame(nil, nameWithin(name, v.e.Head.NS), data(), v.id(slot))
}

func (v *view) id(slot int) string {
	return strconv.FormatInt(v.e.Seq, 10) + "." + strconv.Itoa(slot)
}

// valuesFrame is frame with the state, which is not joined for it.
func (v *view) valuesFrame(slot int) {
	if v.wants(slot, modeValues) {
		v.emit(v.e.Encoded(slotKey(slot), func() []byte {
			return sse.AppendPieces(nil, nameWithin("values", v.e.Head.NS), v.e.After.Size(), v.e.After.Pieces(), v.id(slot))
		}))
	}
}

// nameWithin is how a nested graph's frames are called: mode|outer|inner. Those
// of the mode messages keep their name: servers tell messages by id alone, and
// clients look for these names as they are.
func nameWithin(name string, ns []string) string {
	if len(ns) == 0 || strings.HasPrefix(name, "messages/") {
		return name
	}
	return name + "|" + strings.Join(ns, "|")
}

// slotKeys saves an allocation per frame.
var slotKeys = func() (keys [16]string) {
	for i := range keys {
		keys[i] = "threadrun/" + strconv.Itoa(i)
	}
	return keys
}()

func slotKey(slot int) string {
	if slot < len(slotKeys) {
		return slotKeys[slot]
	}
	return "threadrun/" + strconv.Itoa(slot)
}

// started: what begins a run begins its stream; a further attempt of a run that
// failed is not a second beginning.
func (v *view) started() {
	if v.e.Head.Attempt > 1 {
		return
	}
	v.frame(startedMetadata, modeAlways, "metadata", func() []byte {
		var e rawjson.Writer
		e.Open('{').Key("run_id").Text(v.e.RunID).Key("attempt").Int(1).Close('}')
		return e.Bytes
	})
	if v.opaque {
		v.frame(startedEvent, modeEvents, "events", func() []byte { return v.chainEvent("on_chain_start", v.run.Agent, "", nil) })
	}
}

// input: the bridge merged a run's input itself, which it does before
// task/step agents only.
func (v *view) input() {
	v.frame(inputCheckpoint, modeCheckpoints, "checkpoints", v.checkpoint)
	v.frame(inputDebug, modeDebug, "debug", v.debugCheckpoint)
	v.valuesFrame(inputValues)
}

func (v *view) values() []byte { return v.e.After.JSON() }

// update: one node's output. An agent with a state of its own tells messages
// and values in events of their own; for one without, they are made here.
func (v *view) update() {
	if !v.e.Head.Reduce {
		v.frame(updateUpdates, modeUpdates, "updates", v.updates)
		v.askWithin()
		return
	}
	v.beforeUpdate()
	v.updateMessages()
	v.frame(updateEventEnd, modeEvents, "events", func() []byte { return v.chainEvent("on_chain_end", v.e.Head.Node, "output", v.e.Data) })
	v.frame(updateUpdates, modeUpdates, "updates", v.updates)
	v.afterUpdate()
	v.askWithin()
}

func (v *view) beforeUpdate() {
	v.frame(updateTask, modeTasks, "tasks", v.task)
	v.frame(updateDebugTask, modeDebug, "debug", func() []byte { return v.debug("task", v.task()) })
	v.frame(updateEvent, modeEvents, "events", func() []byte {
		return v.chainEvent("on_chain_start", v.e.Head.Node, "input", v.e.Before.JSON())
	})
}

func (v *view) afterUpdate() {
	v.frame(updateResult, modeTasks, "tasks", v.taskResult)
	v.frame(updateDebugDone, modeDebug, "debug", func() []byte { return v.debug("task_result", v.taskResult()) })
	v.frame(updateDebugState, modeDebug, "debug", v.debugCheckpoint)
	v.frame(updateCheckpoint, modeCheckpoints, "checkpoints", v.checkpoint)
	v.valuesFrame(updateValues)
}

// askWithin: an update that asks renders its question behind itself.
func (v *view) askWithin() {
	if len(v.e.Head.Interrupts) > 0 {
		v.interrupt(updateAsk, updateAskValues)
	}
}

// updates is {node: delta}. Data of several nodes that ran in one step is that
// object already; their names are joined by "+".
func (v *view) updates() []byte {
	node := v.e.Head.Node
	if strings.Contains(node, "+") && joinedKeys(v.e.Data) == node {
		return v.e.Data
	}
	var e rawjson.Writer
	e.Open('{').Name(node).Raw(v.e.Data, "null").Close('}')
	return e.Bytes
}

func joinedKeys(data []byte) string {
	members, err := rawjson.Members(data)
	if err != nil {
		return ""
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return strings.Join(names, "+")
}

func (v *view) interrupt(updates, values int) {
	ask := func() []byte { return interruptObject(v.e.Head.Interrupts) }
	v.frame(updates, modeUpdates, "updates", ask)
	v.frame(values, modeValues, "values", ask)
}

// chunk passes an upstream frame on. messages/* are made from the tokens here,
// for every reader alike; the agent's own would double the text.
func (v *view) chunk() {
	name := v.e.Head.Name
	base, _, _ := strings.Cut(name, "/")
	if mode, ok := modeOf[base]; ok && mode != modeMessages {
		v.frame(chunkFrame, mode, name, v.data)
	}
}

// state: a thread/run agent told its state.
func (v *view) state() {
	switch v.e.Head.Name {
	case "checkpoints":
		v.frame(stateCheckpoint, modeCheckpoints, "checkpoints", v.checkpoint)
	case "values":
		v.valuesFrame(stateValues)
	default:
		if v.e.Data != nil {
			v.valuesFrame(stateValues)
		}
	}
	v.stateMessages()
}

func (v *view) end() {
	if v.opaque {
		v.frame(endEvent, modeEvents, "events", func() []byte { return v.chainEvent("on_chain_end", v.run.Agent, "output", v.values()) })
	}
	if out := v.e.Head.Outcome; out != nil && out.Fault != nil {
		v.frame(endError, modeAlways, "error", func() []byte { return faultObject(out.Fault) })
	}
}

// faultObject is {error, message}: the data of an error frame, and of
// __error__ in the answer of a wait.
func faultObject(f *mapping.Fault) []byte {
	var e rawjson.Writer
	e.Open('{').Key("error").Text(f.Code).Key("message").Text(f.Message).Close('}')
	return e.Bytes
}
