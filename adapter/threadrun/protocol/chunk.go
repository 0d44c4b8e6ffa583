package protocol

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// chunk passes on a frame of a thread/run agent in a mode that the bridge does not interpret. A frame whose name is not
// a mode is a custom event with that name.
func (v *runView) chunk(e *state.Entry) {
	name, ns := e.Head.Name, e.Head.NS
	switch {
	case name == channelTasks:
		v.task(ns, e.Data)
	case name == channelTools:
		v.tree.reachNode(v.out, ns)
		v.out.toolFrame(ns, e)
	case name == channelValues || name == channelUpdates || name == channelCheckpoints:
		if len(ns) > 0 { // at the root, they are other kinds of events
			v.tree.reach(v.out, ns)
			if data := withoutQuestions(e.Data); len(data) == len(e.Data) || rawjson.CountMembers(data) > 0 {
				v.out.send(name, ns, func(w *writer) { w.Raw(data, "{}") })
			}
		}
	case name == "debug" || name == "events" || strings.HasPrefix(name, channelMessages): // modes without a channel
	default:
		v.custom(ns, strings.TrimPrefix(name, namedCustom), e.Data)
	}
}

// questionsKey is LangGraph's member for questions in values and updates.
const questionsKey = "__interrupt__"

// withoutQuestions removes the questions from a state, because they are separate events.
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

// task handles a task of the graph that begins or ends.
func (v *runView) task(ns []string, data json.RawMessage) {
	v.tree.reach(v.out, ns)
	v.out.send(channelTasks, ns, func(w *writer) { w.Raw(data, "null") })
	if member(data, "triggers") != nil {
		return
	}
	if segment := rawjson.GetText(data, "name") + ":" + rawjson.GetText(data, "id"); len(segment) > 1 {
		v.messages.end(v.out, member(data, "result"))
		v.messages.closeWithin(v.out, append(append([]string{}, ns...), segment))
		v.tree.endBelow(v.out, ns, segment, statusCompleted)
	}
}

// taskBegins and taskEnds handle a step of a task/step agent, which is a node of the bridge's graph.
func (v *runView) taskBegins(e *state.Entry) {
	v.out.send(channelTasks, e.Head.NS, func(w *writer) {
		w.open().text("id", taskID(e)).text("name", e.Head.Node).Key("input")
		w.state(e.Before)
		w.texts("triggers", []string{"branch:to:" + e.Head.Node})
		w.raw("interrupts", json.RawMessage("[]")).close()
	})
}

func (v *runView) taskEnds(e *state.Entry) {
	v.out.send(channelTasks, e.Head.NS, func(w *writer) {
		w.open().text("id", taskID(e)).text("name", e.Head.Node).raw("result", e.Data)
		w.Key("interrupts").Open('[')
		for _, q := range e.Head.Interrupts {
			rule.WriteInterrupt(&w.Writer, q)
		}
		w.Close(']')
		w.close()
	})
}

// taskID returns the id of the task that ran, which the previous checkpoint announced.
func taskID(e *state.Entry) string {
	if e.Head.Checkpoint == nil {
		return mapping.StateTaskID("")
	}
	return mapping.StateTaskID(e.Head.Checkpoint.Parent)
}
