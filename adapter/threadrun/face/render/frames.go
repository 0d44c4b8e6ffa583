package render

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// An event renders to a fixed set of frames, each in a slot of its own: a frame's id is `<seq>.<slot>`, the same for
// every reader and on every replay, whatever modes a reader asked for. Slots are counted by kind of event, in the order
// in which frames are sent. They are part of the wire: ids that clients hold must keep their meaning, so slots are
// added, never renumbered. (Earlier versions made one frame of a step's message, and had the frames after it at
// updateEventEnd … updateAskValues: a reader that comes back with such an id gets those frames once more.)
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
	updateMoreTuples = 64  // second and further chunks of the messages of one update; messages of inner graphs
	updateBehind     = 128 // added to the slots after the messages that the bridge makes itself

	askUpdates = 0
	askValues  = 1

	chunkFrame    = 0 // chunk and custom events
	chunkMetadata = 1
	chunkPartial  = 2

	stateCheckpoint = 0
	stateValues     = 1
	stateComplete   = 2
	stateChanged    = 3

	endEvent = 0
	endError = 1
	endDone  = 2
	endState = 3
)

// Modes is a set of stream modes.
type Modes uint16

const (
	modeValues Modes = 1 << iota
	modeUpdates
	modeMessages
	modeTuple
	modeCustom
	modeEvents
	modeDebug
	modeTasks
	modeCheckpoints
	modeTools
	// Always is of the frames that every reader gets: metadata and errors.
	Always
)

var modeOf = map[string]Modes{
	"values": modeValues, "updates": modeUpdates, "messages": modeMessages, "messages-tuple": modeTuple,
	"custom": modeCustom, "events": modeEvents, "debug": modeDebug, "tasks": modeTasks,
	"checkpoints": modeCheckpoints, "tools": modeTools,
}

// ModesOf reads names that were checked; none means values.
func ModesOf(names []string) Modes {
	set := Always
	for _, n := range names {
		set |= modeOf[n]
	}
	if set == Always {
		set |= modeValues
	}
	return set
}

// View is how one reader looks at one run. It does not hold the run, whose request may be long. Not for concurrent use.
type View struct {
	content
	Agent     string
	Exposes   mapping.Exposure // of the agent: frames of the inner life of one without a state are made here
	After     adapter.Cursor   // the reader has what comes up to here
	modes     Modes
	subgraphs bool
	within    map[string]bool // the namespaces that are wanted, their parts joined by "|"; nil: all
	partials  *partials       // set with modeMessages
	deep      bool            // the run has frames of inner graphs for their tokens alone (rule.InnerTokens)
	inner     innerMessages   // set with modeTuple in such a run; nil: there is nothing to complete
	events    bool            // frames of the mode events have tokens of inner graphs (rule.EventTokens)

	outline outline // in the place of emit; nil: none
	emit    func(frame []byte)
}

// NewView returns a reader's view of a run: the frames of set, of what comes after a position.
func NewView(run *mapping.Run, set Modes, after adapter.Cursor) *View {
	v := &View{content: content{Ref: adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}}, Agent: run.Agent, modes: set, subgraphs: run.Options.Subgraphs, After: after}
	if set&modeMessages != 0 {
		v.partials = newPartials()
	}
	v.events = rule.EventTokens(&run.Options)
	if v.deep = rule.InnerTokens(&run.Options); v.deep && set&modeTuple != 0 {
		v.inner = innerMessages{}
	}
	return v
}

// Within limits the reader to the frames of these namespaces, each without what is nested in it; "" is the root.
// Without namespaces it gets all frames.
func (v *View) Within(namespaces []string) {
	if len(namespaces) == 0 {
		return
	}
	v.within, v.subgraphs, v.inner = map[string]bool{}, true, nil
	for _, ns := range namespaces {
		v.within[ns] = true
	}
}

// AsksForEvents reports whether the reader wants frames whose look depends on Exposes.
func (v *View) AsksForEvents() bool { return v.modes&modeEvents != 0 }

// AsksForTokens reports whether the reader has to be told the tokens before its first event.
func (v *View) AsksForTokens() bool { return v.partials != nil || v.inner != nil }

// Recall takes in an event that came before the reader's first one, and may be a token. The reader gets no frame of it.
func (v *View) Recall(e *state.Entry) {
	switch {
	case e.Kind == mapping.KindDelta:
		if v.partials != nil {
			v.partials.add(e)
		}
		v.inner.add(e)
	case v.hasInnerToken(e):
		chunk, _ := rule.InnerToken(e.Data)
		v.partials.addChunk(chunk, e.Seq, true)
	}
}

// Frames hands emit the frames of an event that this reader wants, in order. The bytes are shared between readers and
// must not be changed.
func (v *View) Frames(e *state.Entry, emit func(frame []byte)) {
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
		v.custom()
	case mapping.KindChunk:
		v.chunk()
	case mapping.KindState:
		v.state()
	case mapping.KindEnd:
		v.end()
	}
}

// frame sends the frame of one slot, unless the reader does not want it or has it already. The first reader's encoding
// is kept for the others.
func (v *View) frame(slot int, mode Modes, name string, data func() []byte) {
	if !v.wants(slot, mode) {
		return
	}
	if v.outline != nil {
		v.outline(slot, mode, name, func() []byte { return v.encode(slot, name, data) })
		return
	}
	v.emit(v.e.Encoded(slotKey(slot), func() []byte { return v.encode(slot, name, data) }))
}

// passing is frame for what is not worth keeping.
func (v *View) passing(slot int, mode Modes, name string, data func() []byte) {
	if v.wants(slot, mode) {
		v.emit(v.encode(slot, name, data))
	}
}

func (v *View) wants(slot int, mode Modes) bool {
	seen := v.e.Seq == v.After.Seq && slot <= v.After.K
	shown := v.subgraphs || len(v.e.Head.NS) == 0 || v.deep && mode&(modeMessages|modeCustom) != 0
	return v.modes&mode != 0 && !seen && shown && (mode == Always || v.inside())
}

// inside reports whether the reader wants what happens in the event's namespace.
func (v *View) inside() bool { return v.within == nil || v.within[strings.Join(v.e.Head.NS, "|")] }

func (v *View) encode(slot int, name string, data func() []byte) []byte {
	if v.subgraphs {
		name = nameWithin(name, v.e.Head.NS)
	}
	return sse.AppendFrame(nil, name, data(), v.id(slot))
}

func (v *View) id(slot int) string {
	return strconv.FormatInt(v.e.Seq, 10) + "." + strconv.Itoa(slot)
}

// valuesFrame is frame with the state, which is not joined for it.
func (v *View) valuesFrame(slot int) {
	if !v.wants(slot, modeValues) {
		return
	}
	encode := func() []byte {
		return sse.AppendPieces(nil, nameWithin("values", v.e.Head.NS), v.e.After.Size(), v.e.After.Pieces(), v.id(slot))
	}
	if v.outline != nil {
		v.outline(slot, modeValues, "values", encode)
		return
	}
	v.emit(v.e.Encoded(slotKey(slot), encode))
}

// nameWithin is how a nested graph's frames are called: mode|outer|inner. Those of the mode messages keep their name:
// servers tell messages by id alone, and clients look for these names as they are.
func nameWithin(name string, ns []string) string {
	if len(ns) == 0 || strings.HasPrefix(name, "messages/") {
		return name
	}
	return name + "|" + strings.Join(ns, "|")
}

// slotKeys saves an allocation per frame.
var slotKeys = func() (keys [updateBehind + 16]string) {
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

// started: what begins a run begins its stream; a further attempt of a run that failed is not a second beginning.
func (v *View) started() {
	if v.e.Head.Attempt > 1 {
		return
	}
	v.frame(startedMetadata, Always, "metadata", func() []byte {
		var e rawjson.Writer
		e.Open('{').Key("run_id").Text(v.e.RunID).Key("attempt").Int(1).Close('}')
		return e.Bytes
	})
	if !v.Exposes.ReportsState() {
		v.frame(startedEvent, modeEvents, "events", func() []byte { return v.chainEvent("on_chain_start", v.Agent, "", nil) })
	}
}

// input: the bridge merged a run's input itself, which it does in front of task/step agents only.
func (v *View) input() {
	v.frame(inputCheckpoint, modeCheckpoints, "checkpoints", v.checkpoint)
	v.frame(inputDebug, modeDebug, "debug", v.debugCheckpoint)
	v.valuesFrame(inputValues)
}

// update: one node's output. An agent with a state of its own tells messages and values in events of their own; for one
// without, they are made here.
func (v *View) update() {
	if !v.e.Head.Reduce {
		v.frame(updateUpdates, modeUpdates, "updates", v.updates)
		v.askWithin()
		v.innerMessages()
		return
	}
	v.beforeUpdate()
	v.updateMessages()
	v.frame(v.behind(updateEventEnd), modeEvents, "events", func() []byte { return v.chainEvent("on_chain_end", v.e.Head.Node, "output", v.e.Data) })
	v.frame(v.behind(updateUpdates), modeUpdates, "updates", v.updates)
	v.afterUpdate()
	v.askWithin()
}

// behind is the slot of a frame that follows the messages of an update.
func (v *View) behind(slot int) int {
	if v.e.Head.Reduce {
		return slot + updateBehind
	}
	return slot
}

// custom: a graph wrote something. Servers have what an inner graph writes at the root for readers without subgraphs.
func (v *View) custom() {
	if v.subgraphs || len(v.e.Head.NS) == 0 {
		v.frame(chunkFrame, modeCustom, "custom", v.data)
	} else {
		v.passing(chunkFrame, modeCustom, "custom", v.data)
	}
}

func (v *View) beforeUpdate() {
	v.frame(updateTask, modeTasks, "tasks", v.task)
	v.frame(updateDebugTask, modeDebug, "debug", func() []byte { return v.debug("task", v.task()) })
	v.frame(updateEvent, modeEvents, "events", func() []byte {
		return v.chainEvent("on_chain_start", v.e.Head.Node, "input", v.e.Before.JSON())
	})
}

func (v *View) afterUpdate() {
	v.frame(v.behind(updateResult), modeTasks, "tasks", v.taskResult)
	v.frame(v.behind(updateDebugDone), modeDebug, "debug", func() []byte { return v.debug("task_result", v.taskResult()) })
	v.frame(v.behind(updateDebugState), modeDebug, "debug", v.debugCheckpoint)
	v.frame(v.behind(updateCheckpoint), modeCheckpoints, "checkpoints", v.checkpoint)
	v.valuesFrame(v.behind(updateValues))
}

// askWithin: an update that asks renders its question after itself.
func (v *View) askWithin() {
	if len(v.e.Head.Interrupts) > 0 {
		v.interrupt(v.behind(updateAsk), v.behind(updateAskValues))
	}
}

func (v *View) interrupt(updates, values int) {
	ask := func() []byte { return InterruptObject(v.e.Head.Interrupts) }
	v.frame(updates, modeUpdates, "updates", ask)
	v.frame(values, modeValues, "values", ask)
}

// chunk passes an upstream frame on. messages/* are made from the tokens here, for every reader alike; the agent's own
// would double the text. A frame whose name is no mode comes to every reader, as from the agent's server.
func (v *View) chunk() {
	name := v.e.Head.Name
	base, _, _ := strings.Cut(name, "/")
	switch mode, known := modeOf[base]; {
	case mode == modeMessages:
	case known:
		v.frame(chunkFrame, mode, name, v.data)
		v.innerToken()
	case strings.HasPrefix(name, "custom:"):
		v.frame(chunkFrame, modeCustom, name, v.data)
	case v.inside():
		v.frame(chunkFrame, Always, name, v.data)
	}
}

// state: a thread/run agent told its state.
func (v *View) state() {
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

func (v *View) end() {
	if !v.Exposes.ReportsState() {
		v.frame(endEvent, modeEvents, "events", func() []byte { return v.chainEvent("on_chain_end", v.Agent, "output", v.values()) })
	}
	if out := v.e.Head.Outcome; out != nil && out.Fault != nil {
		v.frame(endError, Always, "error", func() []byte { return FaultObject(out.Fault) })
	}
}

// FaultObject returns {error, message, code}: the data of an error frame, and of __error__ in the answer of a wait.
// error is the agent's own name of the error, as LangGraph's servers have it. If the agent gave none, it is the code.
func FaultObject(f *mapping.Fault) []byte {
	var e rawjson.Writer
	e.Open('{').Key("error").Text(cmp.Or(f.Name, f.Code)).Key("message").Text(f.Message).Key("code").Text(f.Code).Close('}')
	return e.Bytes
}
