package rule

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file is about the tool calls of ai messages.

// calls are the tool calls of an ai message in LangChain's form, {name, args, id, type}, and those whose arguments are
// none. A message in OpenAI's form has {id, type, function: {name, arguments}} in their place, or in additional_kwargs,
// as older versions of LangChain kept it (langchain_core/messages/utils.py, convert_to_messages; messages/ai.py). nil:
// as they were sent.
func (m message) calls() (calls, invalid json.RawMessage) {
	list, _ := rawjson.Elements(m.rest.Get("tool_calls"))
	refused, _ := rawjson.Elements(m.rest.Get("invalid_tool_calls"))
	if len(list)+len(refused) == 0 { // else a message that comes back would have its calls twice
		list, _ = rawjson.Elements(rawjson.Get(m.rest.Get("additional_kwargs"), "tool_calls"))
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

// functionArgs are the arguments of such a call, which stand there as the text of an object; nil where they are none.
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

// deepestArgs is how deep arguments may be nested: within a text no limit of the request has judged them.
const deepestArgs = 100

func writeCall(w *rawjson.Writer, call, args json.RawMessage, kind string) {
	w.Open('{').Key("name").Raw(rawjson.Get(rawjson.Get(call, "function"), "name"), "null")
	w.Key("args").Raw(args, "null").Key("id").Raw(rawjson.Get(call, "id"), "null").Key("type").Text(kind).Close('}')
}

// toolCalls are the calls that an ai message of a state makes, as lines: those with arguments that could not be read,
// too.
func toolCalls(message json.RawMessage) (lines []string) {
	for _, kind := range [...]string{"tool_calls", "invalid_tool_calls"} {
		calls, _ := rawjson.Elements(rawjson.Get(message, kind))
		for _, c := range calls {
			if name, _ := rawjson.Text(rawjson.Get(c, "name")); name != "" {
				lines = append(lines, "[Called "+name+" with "+outputText(rawjson.Get(c, "args"))+"]")
			}
		}
	}
	return lines
}
