package render

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// stop is the finish reason of a message, as in OpenAI's API.
const stop = "stop"

// chunksOf splits a whole message into chunks like those that LangGraph's servers stream and clients join by id.
// CopilotKit's adapter needs this: it only considers an agent's message complete after an empty chunk with the reason
// "stop", and reads the name and the arguments of a tool call from two chunks. Messages of other types become one
// unchanged chunk.
func chunksOf(m json.RawMessage) []json.RawMessage {
	if rawjson.GetText(m, "type") != "ai" {
		return []json.RawMessage{m}
	}
	id := rawjson.Get(m, "id")
	list := []json.RawMessage{textChunk(m)}
	for i, call := range rawjson.ElementsOf(rawjson.Get(m, "tool_calls")) {
		list = append(list,
			chunk(id, "{}", func(w *rawjson.Writer) {
				w.Key("name").Raw(rawjson.Get(call, "name"), "null").Key("args").Text("").Key("id").Raw(rawjson.Get(call, "id"), "null").Key("index").Int(int64(i))
			}),
			chunk(id, "{}", func(w *rawjson.Writer) {
				w.Key("name").Literal("null").Key("args").Text(string(rawjson.Get(call, "args"))).Key("id").Literal("null").Key("index").Int(int64(i))
			}))
	}
	return append(list, chunk(id, `{"finish_reason":"`+stop+`"}`, nil))
}

// textChunk returns the message without its tool calls.
func textChunk(m json.RawMessage) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	_ = rawjson.EachMember(m, func(name rawjson.Quoted, value json.RawMessage) {
		switch {
		case name.Is("type"):
			w.Key("type").Text("AIMessageChunk")
		case name.Is("tool_calls"):
			w.Key("tool_calls").Literal("[]").Key("tool_call_chunks").Literal("[]")
		default:
			w.Spliced(name).Raw(value, "null")
		}
	})
	return w.Close('}').Bytes
}

// chunk returns an empty chunk of a message, or one with a piece of a tool call.
func chunk(id json.RawMessage, metadata string, piece func(w *rawjson.Writer)) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("content").Text("").Key("additional_kwargs").Literal("{}")
	w.Key("response_metadata").Literal(metadata).Key("id").Raw(id, "null").Key("type").Text("AIMessageChunk")
	w.Key("tool_calls").Literal("[]").Key("tool_call_chunks").Open('[')
	if piece != nil {
		w.Open('{')
		piece(w)
		w.Key("type").Text("tool_call_chunk").Close('}')
	}
	return w.Close(']').Key("invalid_tool_calls").Literal("[]").Close('}').Bytes
}
