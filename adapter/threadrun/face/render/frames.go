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

// An event renders to a fixed set of frames, each in its own slot. The id of a frame is `<seq>.<slot>`. It is the same
// for every reader, for all modes and on every replay. Slots are numbered for each kind of event, in the order in which
// frames are sent. They are part of the protocol: clients hold ids, so slots may be added but never renumbered.
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
	updateMoreTuples = 64  // further chunks of the messages of one update; messages of inner graphs
	updateBehind     = 128 // added to the slots after the messages if the bridge creates the chunks

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
	// Always marks frames that every reader gets: metadata and errors.
	Always
)

var modeOf = map[string]Modes{
	"values": modeValues, "updates": modeUpdates, "messages": modeMessages, "messages-tuple": modeTuple,
	"custom": modeCustom, "events": modeEvents, "debug": modeDebug, "tasks": modeTasks,
	"checkpoints": modeCheckpoints, "tools": modeTools,
}

// ModesOf converts names, which must be valid, to a set. Without names, the set is values.
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

// View is one reader's view of one run. It holds no reference to the run, whose request may be large. Not safe for
// concurrent use.
type View struct {
	content
	Agent     string
	Exposes   mapping.Exposure // of the agent; frames that an opaque agent does not report are created here
	After     adapter.Cursor   // the reader has everything up to here
	modes     Modes
	subgraphs bool
	within    map[string]bool // the requested namespaces, with parts joined by "|"; nil: all
	partials  *partials       // set with modeMessages
	deep      bool            // frames of inner graphs were only requested for their tokens (rule.InnerTokens)
	inner     innerMessages   // set with modeTuple if deep; nil: nothing needs to be completed
	events    bool            // the mode events contains tokens of inner graphs (rule.EventTokens)
	streamed  map[string]bool // ids of streamed messages of an opaque agent

	outline outline // replaces emit; nil: none
	emit    func(frame []byte)
}

// NewView returns a view of a run with the frames of the modes in set after a position.
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

// Within limits the reader to frames of these namespaces, not including nested ones. "" is the root. Without
// namespaces, the reader gets all frames.
func (v *View) Within(namespaces []string) {
	if len(namespaces) == 0 {
		return
	}
	v.within, v.subgraphs, v.inner = map[string]bool{}, true, nil
	for _, ns := range namespaces {
		v.within[ns] = true
	}
}

// AsksForEvents reports whether the reader wants frames whose form depends on Exposes.
func (v *View) AsksForEvents() bool { return v.modes&modeEvents != 0 }

// AsksForTokens reports whether Recall must be called with the tokens before the reader's first event.
func (v *View) AsksForTokens() bool { return v.partials != nil || v.inner != nil }

// Recall processes an event before the reader's first one, because it may be a token. It sends no frame.
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

// Frames calls emit, in order, with each frame of an event that this reader wants. The bytes are shared between readers
// and must not be changed.
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

// frame sends the frame of one slot, unless the reader does not want it or already has it. The first reader's encoding
// is reused for the others.
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

// passing is like frame but does not keep the encoding.
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

// inside reports whether the reader wants frames of the event's namespace.
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

// valuesFrame is like frame for the state, which is written in pieces.
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

// nameWithin returns the name of a frame of a nested graph: mode|outer|inner. Frames of the mode messages keep their
// name: servers distinguish messages only by id, and clients look for the plain names.
func nameWithin(name string, ns []string) string {
	if len(ns) == 0 || strings.HasPrefix(name, "messages/") {
		return name
	}
	return name + "|" + strings.Join(ns, "|")
}

// slotKeys is computed in advance to save an allocation per frame.
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

// started handles the first event of a run, which begins its stream. A retry of a failed attempt does not begin it
// again.
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

// input handles a run's input that the bridge merged itself, which it only does for opaque agents.
func (v *View) input() {
	v.frame(inputCheckpoint, modeCheckpoints, "checkpoints", v.checkpoint)
	v.frame(inputDebug, modeDebug, "debug", v.debugCheckpoint)
	v.valuesFrame(inputValues)
}

// update handles one node's output. For an opaque agent, frames of messages and values are created here. An agent that
// reports its state has separate events for them.
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

// behind returns the slot of a frame that follows the messages of an update.
func (v *View) behind(slot int) int {
	if v.e.Head.Reduce {
		return slot + updateBehind
	}
	return slot
}

// custom handles output written by a graph. Like LangGraph's servers, it sends output of an inner graph at the root to
// readers without subgraphs.
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

// askWithin renders the question of an update after the update itself.
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

// chunk passes on an upstream frame. The agent's own messages/* frames are dropped, because these frames are created
// from the tokens for every reader. A frame whose name is not a mode is sent to every reader, as LangGraph's servers
// do.
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

// state handles a state reported by a thread/run agent.
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

// FaultObject returns {error, message, code}, which is the data of an error frame and of __error__ in the response to a
// wait. error is the agent's name for the error, as on LangGraph's servers, or the code if the agent gave no name.
func FaultObject(f *mapping.Fault) []byte {
	var e rawjson.Writer
	e.Open('{').Key("error").Text(cmp.Or(f.Name, f.Code)).Key("message").Text(f.Message).Key("code").Text(f.Code).Close('}')
	return e.Bytes
}
