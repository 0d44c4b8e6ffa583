package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// StateTasks returns the state tasks at a checkpoint in the form of LangGraph's thread state. If there is no next node,
// the list is empty. Otherwise it has one entry for each state task of a graph that asks, or the single task of an
// opaque agent's node. Each has its questions and the fault that ended the run. If a question was asked within an inner
// graph, its task names that graph's checkpoints. fault and open may be nil.
func StateTasks(threadID, checkpointID string, next []string, fault *mapping.Fault, open []mapping.Interrupt) json.RawMessage {
	if len(next) == 0 {
		return json.RawMessage("[]")
	}
	w := new(rawjson.Writer).Open('[')
	for i, asks := range byTask(open) {
		id, node := mapping.StateTaskID(checkpointID), next[min(i, len(next)-1)]
		if len(asks) > 0 && asks[0].Task != "" {
			id = asks[0].Task
		}
		writeTask(w, threadID, id, node, fault, asks)
	}
	return w.Close(']').Bytes
}

// byTask groups questions by the state tasks that ask them. It returns at least one list.
func byTask(open []mapping.Interrupt) [][]mapping.Interrupt {
	if len(open) == 0 {
		return [][]mapping.Interrupt{nil}
	}
	var lists [][]mapping.Interrupt
	for _, q := range open {
		i := slices.IndexFunc(lists, func(l []mapping.Interrupt) bool { return l[0].Task == q.Task })
		if i < 0 {
			lists = append(lists, []mapping.Interrupt{q})
		} else {
			lists[i] = append(lists[i], q)
		}
	}
	return lists
}

func writeTask(w *rawjson.Writer, threadID, id, node string, fault *mapping.Fault, asks []mapping.Interrupt) {
	w.Open('{').Key("id").Text(id).Key("name").Text(node).Key("error")
	if fault == nil {
		w.Literal("null")
	} else {
		w.Text(fault.Text())
	}
	w.Key("interrupts")
	WriteInterrupts(w, asks)
	w.Key("path").Texts([]string{"__pregel_pull", node})
	w.Key("checkpoint")
	if graph := graphOf(asks); graph == "" {
		w.Literal("null")
	} else {
		w.Open('{').Key("thread_id").Text(threadID).Key("checkpoint_ns").Text(graph).Close('}')
	}
	w.Key("state").Literal("null").Key("result").Literal("null").Close('}')
}

// graphOf returns the namespace of the outermost graph of a state task, according to its questions.
func graphOf(asks []mapping.Interrupt) string {
	for _, q := range asks {
		if outermost, _, _ := strings.Cut(q.Within, "|"); outermost != "" {
			return outermost
		}
	}
	return ""
}

// AgentTasks returns an agent's state tasks with the data that only the bridge has: the run's failure and, at the head
// of a thread, the open questions.
func AgentTasks(ours, theirs json.RawMessage, head bool) json.RawMessage {
	list := rawjson.ElementsOf(theirs)
	if len(list) == 0 {
		return ours
	}
	id := func(task json.RawMessage) string { return rawjson.GetText(task, "id") }
	failed := slices.ContainsFunc(list, func(task json.RawMessage) bool { return !rawjson.IsNull(rawjson.Get(task, "error")) })
	open := map[string]bool{}
	for _, task := range rawjson.ElementsOf(ours) {
		name, fault, asks := rawjson.GetText(task, "name"), rawjson.Get(task, "error"), rawjson.Get(task, "interrupts")
		same := slices.IndexFunc(list, func(t json.RawMessage) bool { return id(t) == id(task) })
		if i := slices.IndexFunc(list, func(t json.RawMessage) bool { return rawjson.GetText(t, "name") == name }); i >= 0 && !rawjson.IsNull(fault) && !failed {
			list[i] = withMember(list[i], "error", fault)
		}
		switch {
		case same >= 0 && head:
			list[same] = withMember(list[same], "interrupts", asks)
		case same < 0 && len(rawjson.ElementsOf(asks)) > 0: // another agent asks
			list = append(list, task)
		}
		open[id(task)] = true
	}
	for i := range list {
		if head && !open[id(list[i])] {
			list[i] = withMember(list[i], "interrupts", json.RawMessage("[]"))
		}
	}
	return rawjson.Array(list...)
}

// withMember returns an object with a value for a member. Anything else is returned unchanged.
func withMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	changed, err := rawjson.WithMember(object, name, value)
	if err != nil {
		return object
	}
	return changed
}

// EndNode is the target of a goto to the end of a graph.
const EndNode = "__end__"

// IsEnd reports whether the only target of a goto is the end of the graph.
func IsEnd(to json.RawMessage) bool {
	if list, err := rawjson.Elements(to); err == nil && len(list) == 1 {
		to = list[0]
	}
	node := rawjson.TextOf(to)
	return node == EndNode
}

// InterruptList returns open questions in the form for clients, [{id, value, …}, …], which is also the value of
// "__interrupt__".
func InterruptList(open []mapping.Interrupt) json.RawMessage {
	var w rawjson.Writer
	WriteInterrupts(&w, open)
	return w.Bytes
}

// WriteInterrupts writes an InterruptList.
func WriteInterrupts(w *rawjson.Writer, open []mapping.Interrupt) {
	w.Open('[')
	for _, in := range open {
		WriteInterrupt(w, in)
	}
	w.Close(']')
}

// WriteInterrupt writes one question with the other members that its graph sent.
func WriteInterrupt(w *rawjson.Writer, in mapping.Interrupt) {
	w.Open('{').Key("id").Text(in.ID).Key("value").Raw(in.Value, "null")
	if in.When != "" {
		w.Key("when").Text(in.When)
	}
	if len(in.NS) > 0 {
		w.Key("ns").Texts(in.NS)
	}
	if len(in.Schema) > 0 {
		w.Key("response_schema").Raw(in.Schema, "null")
	}
	w.Close('}')
}
