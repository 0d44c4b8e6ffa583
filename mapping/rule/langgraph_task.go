package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// StateTasks are the state tasks of an opaque agent at a checkpoint, as
// LangGraph's thread state has them: [] where nothing comes next, else the one
// task of the one node, with the fault that ended its run and the questions it
// asks. fault and open may be nil.
func StateTasks(checkpointID string, next []string, fault *mapping.Fault, open []mapping.Interrupt) json.RawMessage {
	if len(next) == 0 {
		return json.RawMessage("[]")
	}
	node := next[0]
	w := new(rawjson.Writer).Open('[').Open('{')
	w.Key("id").Text(mapping.StateTaskID(checkpointID)).Key("name").Text(node).Key("error")
	if fault == nil {
		w.Literal("null")
	} else {
		w.Text(fault.Message)
	}
	w.Key("interrupts")
	writeInterrupts(w, open)
	w.Key("path").Texts([]string{"__pregel_pull", node})
	for _, key := range [...]string{"checkpoint", "state", "result"} {
		w.Key(key).Literal("null")
	}
	return w.Close('}').Close(']').Bytes
}

// InterruptList is open questions as clients see them: [{id, value}, …], [] for
// none. It is also the value of "__interrupt__".
func InterruptList(open []mapping.Interrupt) json.RawMessage {
	var w rawjson.Writer
	writeInterrupts(&w, open)
	return w.Bytes
}

func writeInterrupts(w *rawjson.Writer, open []mapping.Interrupt) {
	w.Open('[')
	for _, in := range open {
		w.Open('{').Key("id").Text(in.ID).Key("value").Raw(in.Value, "null").Close('}')
	}
	w.Close(']')
}
