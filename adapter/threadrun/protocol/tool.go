package protocol

import (
	"cmp"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Events of a tool call (CDDL, section 9).
const (
	toolStarted  = "tool-started"
	toolDelta    = "tool-output-delta"
	toolFinished = "tool-finished"
	toolError    = "tool-error"
)

// tools emits the events of tool calls.
type tools struct{ *emitter }

// frame handles a frame of the stream mode "tools", which has other names (langgraph-api, session/event-normalizers).
func (t tools) frame(ns []string, e *state.Entry) {
	id := callID(e.Data)
	if id == "" {
		id = t.at.id()
	}
	switch rawjson.GetText(e.Data, "event") {
	case "on_tool_start", toolStarted:
		t.starts(ns, id, cmp.Or(rawjson.GetText(e.Data, "name"), either(e.Data, "tool_name")), member(e.Data, "input"))
	case "on_tool_end", toolFinished:
		t.ends(ns, id, member(e.Data, "output"))
	case "on_tool_error", toolError:
		t.fails(ns, id, e.Data)
	case "on_tool_event":
		t.says(ns, id, plain(member(e.Data, "data")))
	case toolDelta:
		t.says(ns, id, plain(member(e.Data, "delta")))
	default:
		t.says(ns, id, string(e.Data))
	}
}

// callID returns the id of a frame's call.
func callID(data json.RawMessage) string {
	return cmp.Or(either(data, "tool_call_id"), rawjson.GetText(data, "id"))
}

// either returns a string member by its name in either spelling.
func either(data json.RawMessage, name string) string {
	return cmp.Or(rawjson.GetText(data, name), rawjson.GetText(data, camelNames[name]))
}

// plain returns the text of a string, and any other value as JSON.
func plain(v json.RawMessage) string {
	if rawjson.Kind(v) == '"' {
		return rawjson.TextOf(v)
	}
	if v == nil {
		return "null"
	}
	return string(v)
}

func (t tools) starts(ns []string, id, name string, input json.RawMessage) {
	t.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolStarted).text("tool_call_id", id).text("tool_name", cmp.Or(name, "tool"))
		w.raw("input", input).close()
	})
}

func (t tools) says(ns []string, id, text string) {
	t.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolDelta).text("tool_call_id", id).text("delta", text).close()
	})
}

func (t tools) ends(ns []string, id string, output json.RawMessage) {
	t.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolFinished).text("tool_call_id", id).raw("output", output).close()
	})
}

func (t tools) fails(ns []string, id string, data json.RawMessage) {
	fault := member(data, "error")
	text := cmp.Or(rawjson.GetText(fault, "message"), rawjson.GetText(data, "message"))
	if text == "" {
		text = plain(fault)
	}
	t.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolError).text("tool_call_id", id).text("message", text).close()
	})
}

// tell writes the calls and results in a message of a task/step agent, which has no frames for them.
func (t tools) tell(ns []string, message json.RawMessage) {
	for _, call := range rawjson.ElementsOf(member(message, "tool_calls")) {
		t.starts(ns, rawjson.GetText(call, "id"), rawjson.GetText(call, "name"), member(call, "args"))
	}
	if rawjson.GetText(message, "type") != "tool" {
		return
	}
	id := rawjson.GetText(message, "tool_call_id")
	if rawjson.GetText(message, "status") == "error" {
		t.send(channelTools, ns, func(w *writer) {
			w.open().text("event", toolError).text("tool_call_id", id).text("message", plain(member(message, "content"))).close()
		})
		return
	}
	t.ends(ns, id, member(message, "content"))
}
