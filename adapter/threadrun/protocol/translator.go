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

// translator turns the entries of one thread's log, from its beginning and in order, into
// events. The k-th event of an entry is the same for every reader, whatever it filters. Not
// for concurrent use.
type translator struct {
	runs  map[string]*runView // of runs that have not ended
	steps map[string]int      // of checkpoints, as they are told
	emit  func(ev *event, at place)
	at    place
}

func newTranslator(emit func(ev *event, at place)) *translator {
	return &translator{runs: map[string]*runView{}, steps: map[string]int{}, emit: emit}
}

// runView is what the events of a run depend on beside the entry at hand.
type runView struct {
	run      mapping.Run
	began    bool
	brought  bool            // the checkpoint with the run's input was told
	points   bool            // the agent tells checkpoints, with the state at each
	untold   bool            // the state has changed since it was told
	asked    map[string]bool // questions, by id
	messages transcript
	tree     tree
}

// knows reports whether the run was seen before.
func (t *translator) knows(runID string) bool { return runID == "" || t.runs[runID] != nil }

// begin makes a run known, before its first entry.
func (t *translator) begin(run mapping.Run) {
	t.runs[run.ID] = &runView{run: run, asked: map[string]bool{}, messages: newTranscript(), tree: newTree(run.Agent)}
}

// send emits the next event of the entry.
func (t *translator) send(method string, ns []string, data func(w *writer)) {
	t.sendEvent(&event{method: method, namespace: ns, data: data})
}

func (t *translator) sendEvent(ev *event) {
	t.emit(ev, t.at)
	t.at.k++
}

// entry emits the events of an entry. Its run must be known.
func (t *translator) entry(e *state.Entry) {
	t.at = place{seq: e.Seq, at: e.At}
	if cp := e.Head.Checkpoint; cp != nil {
		t.steps[cp.ID] = t.stepOf(cp)
	}
	v := t.runs[e.RunID]
	if v == nil {
		if e.RunID == "" {
			t.changed(e)
		}
		return
	}
	switch e.Kind {
	case mapping.KindStarted:
		t.started(v, e)
	case mapping.KindInput:
		t.point(v, e)
	case mapping.KindDelta:
		t.delta(v, e)
	case mapping.KindUpdate:
		t.update(v, e)
	case mapping.KindInterrupt:
		t.ask(v, e.Head.NS, e.Head.Interrupts)
	case mapping.KindCustom:
		t.custom(v, e.Head.NS, "", e.Data)
	case mapping.KindChunk:
		t.chunk(v, e)
	case mapping.KindState:
		t.state(v, e)
	case mapping.KindEnd:
		t.end(v, e)
		delete(t.runs, e.RunID)
	}
}

// stepOf is the step that a checkpoint is told as: one that comes after that of its parent. A
// thread/run agent counts anew where the bridge made it a new thread to go on from an earlier
// state, and clients take the values of a lower step for old ones.
func (t *translator) stepOf(cp *mapping.Checkpoint) int {
	if before, ok := t.steps[cp.Parent]; ok {
		return max(cp.Step, before+1)
	}
	return cp.Step
}

// changed is an entry between runs: a client changed the state.
func (t *translator) changed(e *state.Entry) {
	if e.Head.Checkpoint != nil {
		t.checkpoint(e.Head.Checkpoint, true)
		t.values(e)
	}
}

// started begins a run. A further attempt of one that failed is no second beginning, but what
// it had begun to say is over.
func (t *translator) started(v *runView, e *state.Entry) {
	if v.began {
		v.messages.closeAll(t)
		return
	}
	v.began = true
	t.lifecycle(nil, statusRunning, v.run.Agent, "")
	if ids := answered(v.run.Options); len(ids) > 0 {
		t.send(methodAnswered, nil, func(w *writer) { w.open().texts("interrupt_ids", ids).close() })
	}
}

// answered are the ids of the questions that a run answers.
func answered(o mapping.RunOptions) []string {
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

func (t *translator) lifecycle(ns []string, status, graph, fault string) {
	t.send(channelLifecycle, ns, func(w *writer) {
		w.open().text("event", status).some("graph_name", graph).some("error", fault).close()
	})
}

// point is an entry that makes a checkpoint, with the state there.
func (t *translator) point(v *runView, e *state.Entry) {
	if cp := e.Head.Checkpoint; cp != nil {
		t.checkpoint(cp, !v.brought)
		v.brought = true
	}
	t.values(e)
	v.untold = false
}

// checkpoint tells a checkpoint, which clients pair with the values behind it. brings says
// that it is the one that brings what a person said. To the SDKs only that one names its
// parent: they take the newest parent they are told for that of all messages in the values,
// and fork there when a message is edited.
func (t *translator) checkpoint(cp *mapping.Checkpoint, brings bool) {
	t.send(channelCheckpoints, nil, func(w *writer) {
		w.open().text("id", cp.ID)
		if brings || w.spelling == Camel {
			w.some("parent_id", cp.Parent)
		}
		w.int("step", int64(t.steps[cp.ID])).text("source", sourceOf(cp.Source)).close()
	})
}

// sourceOf is where a checkpoint comes from, in the protocol's words.
func sourceOf(source string) string {
	switch source {
	case "input", "update", "fork":
		return source
	default:
		return "loop"
	}
}

func (t *translator) values(e *state.Entry) {
	t.send(channelValues, nil, func(w *writer) { w.state(e.After) })
}

// update is one node's output.
func (t *translator) update(v *runView, e *state.Entry) {
	nodes := nodesOf(e)
	v.tree.reach(t, e.Head.NS)
	if e.Head.Reduce {
		t.taskBegins(e)
	} else {
		v.messages.close(t, e.Head.NS, nodes)
	}
	for _, n := range nodes {
		v.messages.say(t, e.Head.NS, n.data, e.Head.Reduce)
	}
	for _, n := range nodes {
		t.sendEvent(&event{method: channelUpdates, namespace: e.Head.NS, node: n.name, data: func(w *writer) { w.Raw(n.data, "null") }})
	}
	if e.Head.Reduce {
		t.taskEnds(e)
		t.point(v, e)
	} else {
		v.tree.leave(t, e.Head.NS, nodes)
	}
	t.ask(v, e.Head.NS, e.Head.Interrupts)
}

// output is what one node put out.
type output struct {
	name string
	data json.RawMessage
}

// nodesOf takes an update apart: data of several nodes that ran in one step is an object of
// their names, which the head joins by "+".
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

// ask tells questions, each once. They stand in the log together with the end of their run, so
// that an answer that comes at once finds the thread waiting.
func (t *translator) ask(v *runView, ns []string, list []mapping.Interrupt) {
	for _, q := range list {
		if v.asked[q.ID] {
			continue
		}
		v.asked[q.ID] = true
		t.send(methodRequested, ns, func(w *writer) {
			w.open().text("interrupt_id", q.ID).raw("payload", q.Value).close()
		})
	}
}

func (t *translator) custom(v *runView, ns []string, name string, data json.RawMessage) {
	v.tree.reach(t, ns)
	t.sendEvent(&event{method: channelCustom, namespace: ns, name: name, data: func(w *writer) {
		w.open().some("name", name).raw("payload", data).close()
	}})
}

// state is what a thread/run agent tells of its state. It tells each state twice, as values and
// at a checkpoint; the second is taken, since clients pair a checkpoint with the values behind
// it. The checkpoint before a run's input is left out, as servers do: its state lacks what the
// client shows already.
func (t *translator) state(v *runView, e *state.Entry) {
	if e.Head.Checkpoint != nil {
		v.points = true
		if e.Head.Checkpoint.Source != "input" {
			t.point(v, e)
		}
		return
	}
	v.untold = v.untold || e.Data != nil
	if !v.points && v.untold {
		t.values(e)
		v.untold = false
	}
}

// end ends a run. One that never began is not the thread's: another may be at work there.
func (t *translator) end(v *runView, e *state.Entry) {
	out := e.Head.Outcome
	if out == nil || !v.began {
		return
	}
	if v.untold {
		t.values(e)
	}
	status, fault := endOf(out)
	v.messages.closeAll(t)
	v.tree.leaveAll(t, status)
	t.ask(v, nil, out.Interrupts)
	t.lifecycle(nil, status, v.run.Agent, fault)
}

// endOf is how a run has ended, in the protocol's words.
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
