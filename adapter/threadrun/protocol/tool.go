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

// toolFrame translates a frame of the stream mode "tools", which uses different names for the events (langgraph-api,
// session/event-normalizers).
func (out *emitter) toolFrame(ns []string, e *state.Entry) {
	id := callID(e.Data)
	if id == "" {
		id = out.at.id()
	}
	switch rawjson.GetText(e.Data, "event") {
	case "on_tool_start", toolStarted:
		out.startTool(ns, id, cmp.Or(rawjson.GetText(e.Data, "name"), either(e.Data, "tool_name")), member(e.Data, "input"))
	case "on_tool_end", toolFinished:
		out.endTool(ns, id, member(e.Data, "output"))
	case "on_tool_error", toolError:
		out.failTool(ns, id, e.Data)
	case "on_tool_event":
		out.toolText(ns, id, plain(member(e.Data, "data")))
	case toolDelta:
		out.toolText(ns, id, plain(member(e.Data, "delta")))
	default:
		out.toolText(ns, id, string(e.Data))
	}
}

// callID returns the id of a frame's call.
func callID(data json.RawMessage) string {
	return cmp.Or(either(data, "tool_call_id"), rawjson.GetText(data, "id"))
}

// either returns the text of a member in either spelling of its name.
func either(data json.RawMessage, name string) string {
	return cmp.Or(rawjson.GetText(data, name), rawjson.GetText(data, camelNames[name]))
}

// plain returns the text of a string, and the JSON of any other value.
func plain(v json.RawMessage) string {
	if rawjson.Kind(v) == '"' {
		return rawjson.TextOf(v)
	}
	if v == nil {
		return "null"
	}
	return string(v)
}

func (out *emitter) startTool(ns []string, id, name string, input json.RawMessage) {
	out.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolStarted).text("tool_call_id", id).text("tool_name", cmp.Or(name, "tool"))
		w.raw("input", input).close()
	})
}

func (out *emitter) toolText(ns []string, id, text string) {
	out.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolDelta).text("tool_call_id", id).text("delta", text).close()
	})
}

func (out *emitter) endTool(ns []string, id string, output json.RawMessage) {
	out.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolFinished).text("tool_call_id", id).raw("output", output).close()
	})
}

func (out *emitter) failTool(ns []string, id string, data json.RawMessage) {
	fault := member(data, "error")
	text := cmp.Or(rawjson.GetText(fault, "message"), rawjson.GetText(data, "message"))
	if text == "" {
		text = plain(fault)
	}
	out.send(channelTools, ns, func(w *writer) {
		w.open().text("event", toolError).text("tool_call_id", id).text("message", text).close()
	})
}

// toolCalls emits the tool calls or the tool result in a message of a task/step agent, which sends no frames for them.
func (out *emitter) toolCalls(ns []string, message json.RawMessage) {
	for _, call := range rawjson.ElementsOf(member(message, "tool_calls")) {
		out.startTool(ns, rawjson.GetText(call, "id"), rawjson.GetText(call, "name"), member(call, "args"))
	}
	if rawjson.GetText(message, "type") != "tool" {
		return
	}
	id := rawjson.GetText(message, "tool_call_id")
	if rawjson.GetText(message, "status") == "error" {
		out.send(channelTools, ns, func(w *writer) {
			w.open().text("event", toolError).text("tool_call_id", id).text("message", plain(member(message, "content"))).close()
		})
		return
	}
	out.endTool(ns, id, member(message, "content"))
}
