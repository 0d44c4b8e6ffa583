package render

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// RunDone writes the end of a run for streams of a whole thread: a metadata frame with the status run_done. It writes
// nothing if the reader already has that frame according to after.
func RunDone(e *state.Entry, after adapter.Cursor, emit func(frame []byte)) {
	v := threadView(e, after, emit)
	v.frame(endDone, Always, "metadata", func() []byte { return doneObject(e) })
}

// StateUpdate writes the state of a thread after the end of a run or after an update.
func StateUpdate(thread string, e *state.Entry, after adapter.Cursor, emit func(frame []byte)) {
	slot := stateChanged
	if e.Kind == mapping.KindEnd {
		slot = endState
	}
	v := threadView(e, after, emit)
	v.passing(slot, Always, "state_update", func() []byte { return stateObject(thread, e) })
}

func threadView(e *state.Entry, after adapter.Cursor, emit func(frame []byte)) *View {
	return &View{content: content{e: e}, modes: Always, After: after, emit: emit, subgraphs: true}
}

// doneObject describes the end of a run.
func doneObject(e *state.Entry) []byte {
	var out rawjson.Writer
	out.Open('{').Key("run_id").Text(e.RunID).Key("status").Text("run_done")
	if e.Head.Outcome != nil {
		out.Key("run_status").Text(string(e.Head.Outcome.Status))
	}
	return out.Close('}').Bytes
}

// stateObject returns the state of the thread after an entry.
func stateObject(thread string, e *state.Entry) []byte {
	var out rawjson.Writer
	out.Open('{').Key("thread_id").Text(thread)
	if e.RunID != "" {
		out.Key("run_id").Text(e.RunID)
	}
	out.Key("state").Open('{').Key("values").Raw(e.After.JSON(), "{}")
	if c := e.Head.Checkpoint; c != nil {
		out.Key("checkpoint")
		checkpoint(&out, thread, c.ID)
	}
	return out.Close('}').Close('}').Bytes
}
