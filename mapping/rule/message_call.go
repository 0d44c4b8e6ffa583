package rule

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file handles the tool calls of ai messages.

// calls converts the tool calls of an ai message to LangChain's form, {name, args, id, type}, and separates those with
// invalid arguments. A message in OpenAI's form has {id, type, function: {name, arguments}} instead, either in
// tool_calls or, in older versions of LangChain, in additional_kwargs (langchain_core/messages/utils.py,
// convert_to_messages; messages/ai.py). A nil result means unchanged.
func (m message) calls() (calls, invalid json.RawMessage) {
	list := rawjson.ElementsOf(m.rest.Get("tool_calls"))
	refused := rawjson.ElementsOf(m.rest.Get("invalid_tool_calls"))
	if len(list)+len(refused) == 0 { // otherwise a message that is sent back would have its calls twice
		list = rawjson.ElementsOf(rawjson.Get(m.rest.Get("additional_kwargs"), "tool_calls"))
	}
	if !slices.ContainsFunc(list, isFunctionCall) {
		return nil, nil
	}
	good, bad := new(rawjson.Writer).Open('['), new(rawjson.Writer).Open('[')
	for _, r := range refused {
		bad.Raw(r, "null")
	}
	for _, call := range list {
		switch args := functionArgs(call); {
		case !isFunctionCall(call):
			good.Raw(call, "null")
		case args != nil:
			writeCall(good, call, args, "tool_call")
		default:
			writeCall(bad, call, rawjson.Get(rawjson.Get(call, "function"), "arguments"), "invalid_tool_call")
		}
	}
	return good.Close(']').Bytes, bad.Close(']').Bytes
}

// isFunctionCall reports whether a tool call is in OpenAI's form.
func isFunctionCall(call json.RawMessage) bool {
	return rawjson.Kind(rawjson.Get(call, "name")) != '"' && rawjson.Kind(rawjson.Get(rawjson.Get(call, "function"), "name")) == '"'
}

// functionArgs returns the arguments of a call in OpenAI's form, where they are the JSON text of an object. It returns
// nil if they are invalid.
func functionArgs(call json.RawMessage) json.RawMessage {
	args := rawjson.Get(rawjson.Get(call, "function"), "arguments")
	if text, ok := rawjson.Text(args); ok {
		args = json.RawMessage(text)
	}
	if rawjson.Kind(args) != '{' || !utf8.Valid(args) || !rawjson.ValidWithin(args, deepestArgs) {
		return nil
	}
	if _, twice := rawjson.RepeatedName(args); twice {
		return nil
	}
	return args
}

// deepestArgs is the maximum depth of arguments. The limits of the request do not apply within a string.
const deepestArgs = 100

func writeCall(w *rawjson.Writer, call, args json.RawMessage, kind string) {
	w.Open('{').Key("name").Raw(rawjson.Get(rawjson.Get(call, "function"), "name"), "null")
	w.Key("args").Raw(args, "null").Key("id").Raw(rawjson.Get(call, "id"), "null").Key("type").Text(kind).Close('}')
}

// toolCalls returns the calls of an ai message of a state as lines, including those with unreadable arguments.
func toolCalls(message json.RawMessage) (lines []string) {
	for _, kind := range [...]string{"tool_calls", "invalid_tool_calls"} {
		calls := rawjson.ElementsOf(rawjson.Get(message, kind))
		for _, c := range calls {
			if name := rawjson.GetText(c, "name"); name != "" {
				lines = append(lines, "[Called "+name+" with "+outputText(rawjson.Get(c, "args"))+"]")
			}
		}
	}
	return lines
}
