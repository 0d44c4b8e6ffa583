package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file translates the output of an agent that proposes commands and executes them one step later. AutoGPT's server
// (agent_protocol_server.py, execute_step) writes the last command's result, a thought and the next command into one
// output, and also has the parts in additional_output: last_action, thoughts and use_tool. Clients see the parts: the
// thought as the text, the command as a tool call, its result as a tool message.

// toolCall is a command in the form for clients. Its id is that of the step that proposed it.
type toolCall struct {
	id, name string
	args     json.RawMessage
}

// stepCall returns the command that a step proposes, or one with the name "". A last step proposes none, because
// nothing follows.
func stepCall(stepID string, s mapping.StepInfo) toolCall {
	name, args := proposedCommand(s.Additional)
	if s.SaysLast {
		name = ""
	}
	return toolCall{stepID, name, args}
}

// shown reports whether clients see the command as a tool call. finish has no result; its reason is the text of the
// last step.
func (c toolCall) shown() bool { return c.name != "" && c.name != finish }

func (c toolCall) json() json.RawMessage {
	w := new(rawjson.Writer).Open('[').Open('{')
	w.Key("name").Text(c.name).Key("args").Raw(c.args, "{}").Key("id").Text(c.id).Key("type").Text("tool_call")
	return w.Close('}').Close(']').Bytes
}

// spokenText returns the text of a step for display: its output or, if it proposes a command, its thought, followed by
// its question. told is the result that a separate message contains.
func spokenText(s mapping.StepInfo, call toolCall, told string) string {
	text, speak := withoutResult(outputText(s.Output), told), thought(s.Additional)
	switch question := rawjson.GetText(call.args, "question"); {
	case call.name == "":
		return text
	case speak == "":
		return withoutProposal(text, call.name)
	case call.name == askUser && !strings.Contains(speak, question):
		return speak + "\n\n" + question
	}
	return speak
}

// thought returns thoughts.speak, or thoughts if it is a string.
func thought(additional json.RawMessage) string {
	thoughts := rawjson.Get(additional, "thoughts")
	speak, ok := rawjson.Text(rawjson.Get(thoughts, "speak"))
	if !ok {
		speak = rawjson.TextOf(thoughts)
	}
	return strings.TrimSpace(speak)
}

// withoutResult removes the result at the beginning of an output: "`command` returned: …".
func withoutResult(text, told string) string {
	if told == "" || !strings.HasPrefix(text, "`") {
		return text
	}
	if before, after, ok := strings.Cut(text, told); ok && strings.HasSuffix(strings.TrimSpace(before), "returned:") {
		return strings.TrimSpace(after)
	}
	return text
}

// withoutProposal removes the command at the end of an output: "Next Command: …".
func withoutProposal(text, name string) string {
	if at := strings.LastIndex(text, "Next Command: "+name); at == 0 || at > 0 && text[at-1] == '\n' {
		return strings.TrimSpace(text[:at])
	}
	return text
}

// commandResult is the result of the previous command, from additional_output.last_action.
type commandResult struct {
	name, text string
	failed     bool
}

// Results that are shown differently, because a person's text is a separate message.
const (
	resultAsked  = "The user was asked."
	resultNotRun = "The command was not run."
)

func lastResult(additional json.RawMessage) (r commandResult, ok bool) {
	action := rawjson.Get(additional, "last_action")
	if rawjson.Kind(action) != '{' {
		return r, false
	}
	r.name = rawjson.GetText(action, "name")
	result := rawjson.Get(action, "result")
	switch fault, reason := rawjson.Get(result, "error"), rawjson.Get(result, "reason"); {
	case r.name == askUser:
		r.text = resultAsked
	case rawjson.Get(result, "feedback") != nil:
		r.text, r.failed = resultNotRun, true
	case !rawjson.IsNull(fault) || !rawjson.IsNull(reason):
		if r.text, r.failed = outputText(reason), true; r.text == "" {
			r.text = outputText(fault)
		}
	case rawjson.Get(result, "outputs") != nil:
		r.text = outputText(rawjson.Get(result, "outputs"))
	default:
		r.text = outputText(result)
	}
	return r, true
}

// message returns the result as a tool message that answers a call.
func (r commandResult) message(stepID, call string) json.RawMessage {
	status := "success"
	if r.failed {
		status = "error"
	}
	m := message{kind: typeTool, id: mapping.MessageID(stepID, "result"), content: rawjson.Quote(r.text)}
	for _, e := range [...]struct{ name, value string }{{"name", r.name}, {"tool_call_id", call}, {"status", status}} {
		if e.value != "" {
			m.rest.Put(rawjson.Member{Name: e.name, Value: rawjson.Quote(e.value)})
		}
	}
	return m.json()
}

// PendingToolCall returns the id of the tool call that waits for its result after an event of a task, or "". before is
// the id of the one that waited before the event.
func PendingToolCall(before string, ev *mapping.Event) string {
	if ev.Head.Step == nil {
		return before
	}
	list, _ := state.MessagesIn(rawjson.Get(ev.Data, state.KeyMessages))
	return openCall(before, list)
}

// OpenCallIn returns the id of the tool call that waits for its result after messages, or "".
func OpenCallIn(messages []json.RawMessage) string { return openCall("", messages) }

func openCall(before string, list []json.RawMessage) string {
	for _, m := range list {
		if id := rawjson.GetText(m, "tool_call_id"); id != "" && id == before {
			before = ""
		}
		calls := rawjson.ElementsOf(rawjson.Get(m, "tool_calls"))
		for _, c := range calls {
			before = rawjson.GetText(c, "id")
		}
	}
	return before
}
