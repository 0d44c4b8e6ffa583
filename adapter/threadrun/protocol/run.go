package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// runView is the state of a run that determines its events together with the current entry.
type runView struct {
	out         *emitter
	checkpoints *checkpoints
	id          string
	agent       string
	answers     []string // ids of the questions that the run answers
	began       bool
	states      stateMode
	asked       map[string]bool // questions that were emitted, by id
	messages    transcript
	tree        tree
}

// stateMode is the way in which states of a thread/run agent are reported.
type stateMode int

const (
	unpaired stateMode = iota // the agent reports no checkpoints; each state is emitted
	paired                    // the agent reports a checkpoint for each state, and all states are emitted
	untold                    // like paired, but the state has changed since the last emitted one
)

// started begins a run. A retry of a failed attempt does not begin the run again, but it ends unfinished messages of
// that attempt.
func (v *runView) started(e *state.Entry) {
	if v.began {
		v.messages.closeAll(v.out)
		return
	}
	v.began = true
	v.out.lifecycle(v.id, statusRunning, v.agent, "")
	if len(v.answers) > 0 {
		v.out.send(methodAnswered, nil, func(w *writer) { w.open().texts("interrupt_ids", v.answers).close() })
	}
}

// answered returns the ids of the questions that a run answers.
func answered(o *mapping.RunOptions) []string {
	if !o.Resuming {
		return nil
	}
	list := rule.Named(o.Resume, o.Asked)
	if len(list) == 0 {
		list = o.Asked
	}
	ids := make([]string, len(list))
	for i, q := range list {
		ids[i] = q.ID
	}
	return ids
}

// noteCheckpoint handles an entry with a checkpoint, and the state there.
func (v *runView) noteCheckpoint(e *state.Entry) {
	if cp := e.Head.Checkpoint; cp != nil {
		v.checkpoints.emit(cp)
	}
	v.out.values(e)
	if v.states == untold {
		v.states = paired
	}
}

// update handles one node's output.
func (v *runView) update(e *state.Entry) {
	nodes := nodesOf(e)
	v.tree.reach(v.out, e.Head.NS)
	if e.Head.Reduce {
		v.taskBegins(e)
	} else {
		for _, n := range nodes {
			v.messages.end(v.out, n.data)
		}
		v.messages.close(v.out, e.Head.NS, nodes)
	}
	for _, n := range nodes {
		v.messages.say(v.out, e.Head.NS, n.data, e.Head.Reduce)
	}
	for _, n := range nodes {
		v.out.sendEvent(&event{method: channelUpdates, namespace: e.Head.NS, node: n.name, data: func(w *writer) { w.Raw(n.data, "null") }})
	}
	if e.Head.Reduce {
		v.taskEnds(e)
		v.noteCheckpoint(e)
	} else {
		v.tree.complete(v.out, e.Head.NS, nodes)
	}
	v.emitQuestions(e.Head.NS, e.Head.Interrupts)
}

// output is the output of one node.
type output struct {
	name string
	data json.RawMessage
}

// nodesOf splits an update by node. If several nodes ran in one step, the data is an object by node name, and the head
// has the names joined with "+".
func nodesOf(e *state.Entry) []output {
	node := e.Head.Node
	if !strings.Contains(node, "+") {
		return []output{{node, e.Data}}
	}
	var list []output
	var names []string
	_ = rawjson.EachMember(e.Data, func(quoted rawjson.Quoted, value json.RawMessage) {
		name := quoted.Text()
		list, names = append(list, output{name, slices.Clip(value)}), append(names, name)
	})
	if strings.Join(names, "+") != node {
		return []output{{node, e.Data}}
	}
	return list
}

// emitQuestions emits each question once, in the namespace of the graph that asks. Questions are logged together with
// the end of their run, so the thread is already waiting when a client answers at once.
func (v *runView) emitQuestions(ns []string, list []mapping.Interrupt) {
	for _, q := range list {
		if v.asked[q.ID] {
			continue
		}
		v.asked[q.ID] = true
		at := ns
		if q.Within != "" {
			at = strings.Split(q.Within, "|")
		}
		v.out.send(methodRequested, at, func(w *writer) {
			w.open().text("interrupt_id", q.ID).raw("payload", q.Value)
			if len(q.Schema) > 0 {
				w.raw("response_schema", q.Schema)
			}
			w.close()
		})
	}
}

// custom emits the output of a graph's stream writer. An object {name, payload} becomes the event's data unchanged, so
// the event is in the channel custom:name. Any other value becomes the payload of an event.
func (v *runView) custom(ns []string, name string, data json.RawMessage) {
	v.tree.reach(v.out, ns)
	write := func(w *writer) { w.open().some("name", name).raw("payload", data).close() }
	if own := rawjson.GetText(data, "name"); name == "" && own != "" && rawjson.Get(data, "payload") != nil {
		name, write = own, func(w *writer) { w.Raw(data, "null") }
	}
	v.out.sendEvent(&event{method: channelCustom, namespace: ns, name: name, data: write})
}

// state handles a state of a thread/run agent. The agent reports each state twice, as values and at a checkpoint. The
// second report is used, because clients pair a checkpoint with the values after it. The checkpoint before the run's
// input is skipped, as LangGraph's servers do, because its state lacks messages that the client already shows.
func (v *runView) state(e *state.Entry) {
	if e.Head.Checkpoint != nil {
		if v.states == unpaired {
			v.states = paired
		}
		if e.Head.Checkpoint.Source != sourceInput {
			v.noteCheckpoint(e)
		}
		return
	}
	switch {
	case e.Data == nil:
	case v.states == unpaired:
		v.out.values(e)
	default:
		v.states = untold
	}
}

// endRun ends a run. It ignores a run that never began, because another one may be active on the thread.
func (v *runView) endRun(e *state.Entry) {
	out := e.Head.Outcome
	if out == nil || !v.began {
		return
	}
	if v.states == untold {
		v.out.values(e)
	}
	status, fault := endOf(out)
	v.messages.closeAll(v.out)
	v.tree.endAll(v.out, status)
	v.emitQuestions(nil, out.Interrupts)
	v.out.lifecycle(v.id, status, v.agent, fault)
}

// endOf returns the protocol's status and error of a run's outcome.
func endOf(out *mapping.Outcome) (status, fault string) {
	if out.Fault != nil {
		fault = out.Fault.Message
	}
	switch out.Status {
	case mapping.RunSuccess:
		return statusCompleted, ""
	case mapping.RunInterrupted:
		return statusInterrupted, ""
	default:
		return statusFailed, fault
	}
}
