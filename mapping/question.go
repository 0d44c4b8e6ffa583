package mapping

import (
	"encoding/json"
	"strconv"
	"strings"
)

// askUser is the command by which AutoGPT's agents ask their user, and the name of a
// step by which an agent does that whose SDK drops additional_output.
const askUser = "ask_user"

// stepQuestion is what a person is asked after a step that is not the last:
// nil for nothing. The payload is a list of one HumanInterrupt, which agent
// inboxes and chat UIs know.
func stepQuestion(runID string, n int, s StepInfo, ask Approval) []Interrupt {
	card := humanInterrupt{Description: outputText(s.Output)}
	name, args := proposedCommand(s.Additional)
	switch {
	case name == askUser, name == "" && asksByName(s):
		card.Description = askedQuestion(args, card.Description)
		card.Action, card.Args = askUser, rawObject("question", quoted(card.Description))
	case ask == ApprovalAsk && name != "":
		card.Action, card.Args, card.Accept, card.Edit = name, args, true, true
	case ask == ApprovalStep:
		card.Action, card.Args, card.Accept = "continue", stepArgs(n, s.Output), true
	default:
		return nil
	}
	return []Interrupt{{ID: InterruptID(runID, n), Value: card.json()}}
}

// asksByName tells whether the step's name and output are a question. A name that only
// copies the step's input says nothing.
func asksByName(s StepInfo) bool {
	return s.Name == askUser && outputText(s.Output) != "" && (s.Input == nil || *s.Input != askUser)
}

// humanInterrupt is the payload of LangGraph's agent inbox.
type humanInterrupt struct {
	Action      string
	Args        json.RawMessage
	Description string
	Accept      bool // may be answered by "go on"
	Edit        bool // may be answered by another command
}

// json is a list of one card. Ignoring is never offered: a task/step agent
// goes on with words or without, it cannot leave a question open.
func (h humanInterrupt) json() json.RawMessage {
	var action, config, card objectWriter
	action.text("action", h.Action)
	action.raw("args", h.Args)
	config.raw("allow_accept", strconv.AppendBool(nil, h.Accept))
	config.raw("allow_edit", strconv.AppendBool(nil, h.Edit))
	config.raw("allow_respond", json.RawMessage("true"))
	config.raw("allow_ignore", json.RawMessage("false"))
	card.raw("action_request", action.done())
	card.raw("config", config.done())
	card.text("description", h.Description)
	return joinArray([]json.RawMessage{card.done()})
}

// proposedCommand is additional_output.use_tool, by which AutoGPT says what it
// would run next; "" when it proposes nothing.
func proposedCommand(additional json.RawMessage) (name string, args json.RawMessage) {
	tool := lookup(additional, "use_tool")
	name, _ = stringOf(lookup(tool, "name"))
	if args = lookup(tool, "arguments"); kindOf(args) != '{' {
		args = json.RawMessage("{}")
	}
	return name, args
}

func askedQuestion(args json.RawMessage, output string) string {
	if q, ok := stringOf(lookup(args, "question")); ok && q != "" {
		return q
	}
	return output
}

func stepArgs(n int, output json.RawMessage) json.RawMessage {
	if isNull(output) {
		output = json.RawMessage("null")
	}
	var w objectWriter
	w.raw("step", strconv.AppendInt(nil, int64(n), 10))
	w.raw("output", output)
	return w.done()
}

func rawObject(key string, val json.RawMessage) json.RawMessage {
	var w objectWriter
	w.raw(key, val)
	return w.done()
}

// QuestionText is the text of a question to a person: a string as it is, a
// HumanInterrupt's question or description, an object's question, message,
// text, prompt or description, else compact JSON. Several questions in one
// payload are parted by a blank line.
func QuestionText(value json.RawMessage) string {
	if text, ok := stringOf(value); ok {
		return text
	}
	if cards := humanInterrupts(value); len(cards) > 0 {
		return joinTexts(cards, cardText, value)
	}
	if actions := decisionRequests(value); len(actions) > 0 {
		return joinTexts(actions, cardText, value)
	}
	if text := firstText(value, "question", "message", "text", "prompt", "description"); text != "" {
		return text
	}
	return string(compactJSON(value))
}

// cardText is the text of a HumanInterrupt, or of one request of a
// decisions-style one: {name, args, description}.
func cardText(card json.RawMessage) string {
	args := lookup(lookup(card, "action_request"), "args")
	if args == nil {
		args = lookup(card, "args")
	}
	if text := firstText(args, "question"); text != "" {
		return text
	}
	return firstText(card, "description")
}

// joinTexts is the compact JSON of the whole when one part has no text.
func joinTexts(list []json.RawMessage, text func(json.RawMessage) string, whole json.RawMessage) string {
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i] = text(e); texts[i] == "" {
			return string(compactJSON(whole))
		}
	}
	return strings.Join(texts, "\n\n")
}

func firstText(object json.RawMessage, keys ...string) string {
	for _, key := range keys {
		if text, ok := stringOf(lookup(object, key)); ok && text != "" {
			return text
		}
	}
	return ""
}

// humanInterrupts are the cards of a payload: an object with action_request,
// or a list of such; nil for any other payload.
func humanInterrupts(value json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{value}
	if kindOf(value) == '[' {
		list, _ = splitArray(value)
	}
	for _, e := range list {
		if lookup(e, "action_request") == nil {
			return nil
		}
	}
	return list
}

// decisionRequests are the requests of a decisions-style payload
// {action_requests: […], review_configs: […]}; nil for any other payload.
func decisionRequests(value json.RawMessage) []json.RawMessage {
	list, err := splitArray(lookup(value, "action_requests"))
	if err != nil {
		return nil
	}
	return list
}
