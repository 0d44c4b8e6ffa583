package mapping

import "encoding/json"

// StateTasks are the state tasks of an opaque agent at a checkpoint, as
// LangGraph's thread state has them: [] where nothing comes next, else the one
// task of the one node, with the fault that ended its run and the questions it
// asks. fault and open may be nil.
func StateTasks(checkpointID string, next []string, fault *Fault, open []Interrupt) json.RawMessage {
	if len(next) == 0 {
		return json.RawMessage("[]")
	}
	node := next[0]
	var w objectWriter
	w.text("id", StateTaskID(checkpointID))
	w.text("name", node)
	if fault == nil {
		w.raw("error", json.RawMessage("null"))
	} else {
		w.text("error", fault.Message)
	}
	w.raw("interrupts", InterruptList(open))
	w.raw("path", joinArray([]json.RawMessage{quoted("__pregel_pull"), quoted(node)}))
	for _, key := range [...]string{"checkpoint", "state", "result"} {
		w.raw(key, json.RawMessage("null"))
	}
	return joinArray([]json.RawMessage{w.done()})
}

// InterruptList is open questions as clients see them: [{id, value}, …], [] for
// none. It is also the value of "__interrupt__".
func InterruptList(open []Interrupt) json.RawMessage {
	list := make([]json.RawMessage, len(open))
	for i, in := range open {
		if len(in.Value) == 0 {
			in.Value = json.RawMessage("null")
		}
		var w objectWriter
		w.text("id", in.ID)
		w.raw("value", in.Value)
		list[i] = w.done()
	}
	return joinArray(list)
}
