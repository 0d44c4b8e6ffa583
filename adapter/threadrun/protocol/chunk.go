package protocol

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// chunk passes on what a thread/run agent told in a mode whose meaning the bridge does not need.
func (t *translator) chunk(v *runView, e *state.Entry) {
	name, ns := e.Head.Name, e.Head.NS
	switch {
	case name == channelTasks:
		t.task(v, ns, e.Data)
	case name == channelTools:
		v.tree.reach(t, ns)
		t.tool(ns, e)
	case name == channelValues || name == channelUpdates || name == channelCheckpoints:
		if len(ns) > 0 { // those of the root are events of other kinds
			v.tree.reach(t, ns)
			t.send(name, ns, func(w *writer) { w.Raw(withoutQuestions(e.Data), "{}") })
		}
	case strings.HasPrefix(name, namedCustom):
		t.custom(v, ns, name[len(namedCustom):], e.Data)
	}
}

// questionsKey is the member under which LangGraph puts questions into values and updates.
const questionsKey = "__interrupt__"

// withoutQuestions is a state without the questions in it, which are events of their own.
func withoutQuestions(data json.RawMessage) json.RawMessage {
	if rawjson.Get(data, questionsKey) == nil {
		return data
	}
	values, err := rawjson.Without(data, questionsKey)
	if err != nil {
		return data
	}
	return values
}

// task is a task of the graph that begins or is done.
func (t *translator) task(v *runView, ns []string, data json.RawMessage) {
	v.tree.reach(t, ns)
	t.send(channelTasks, ns, func(w *writer) { w.Raw(data, "null") })
	if member(data, "triggers") != nil {
		return
	}
	if segment := textOf(member(data, "name")) + ":" + textOf(member(data, "id")); len(segment) > 1 {
		v.messages.closeWithin(t, append(append([]string{}, ns...), segment))
		v.tree.leaveBelow(t, ns, segment, statusCompleted)
	}
}

// taskBegins and taskEnds tell of a step of a task/step agent, which the bridge is the graph of.
func (t *translator) taskBegins(e *state.Entry) {
	t.send(channelTasks, e.Head.NS, func(w *writer) {
		w.open().text("id", taskID(e)).text("name", e.Head.Node).Key("input")
		w.state(e.Before)
		w.texts("triggers", []string{"branch:to:" + e.Head.Node})
		w.raw("interrupts", json.RawMessage("[]")).close()
	})
}

func (t *translator) taskEnds(e *state.Entry) {
	t.send(channelTasks, e.Head.NS, func(w *writer) {
		w.open().text("id", taskID(e)).text("name", e.Head.Node).raw("result", e.Data)
		w.Key("interrupts").Open('[')
		for _, q := range e.Head.Interrupts {
			w.open().text("id", q.ID).raw("value", q.Value).close()
		}
		w.Close(']')
		w.close()
	})
}

// taskID is the id of the task that ran: it stood in the checkpoint before this one.
func taskID(e *state.Entry) string {
	if e.Head.Checkpoint == nil {
		return mapping.StateTaskID("")
	}
	return mapping.StateTaskID(e.Head.Checkpoint.Parent)
}
