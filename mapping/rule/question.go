package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Commands of AutoGPT's agents that have a meaning of their own.
const (
	askUser  = "ask_user" // asks the user; also the name of a step by which an agent does that whose SDK drops additional_output
	finish   = "finish"   // ends the task: there is nothing to approve
	carryOn  = "continue" // no agent's: what approval "step" asks after each step
	argument = "answer"   // of ask_user: the field that a page shows for the person's words
)

// stepQuestion is what a person is asked after a step that is not the last:
// nil for nothing. The payload is a list of one HumanInterrupt, which agent
// inboxes and chat UIs know.
func stepQuestion(runID string, n int, s mapping.StepInfo, ask mapping.Approval) []mapping.Interrupt {
	card := humanInterrupt{Description: outputText(s.Output)}
	name, args := proposedCommand(s.Additional)
	switch {
	case name == askUser, name == "" && asksByName(s):
		card.Description = askedQuestion(args, card.Description)
		card.Action, card.Args = askUser, rawObject("question", rawjson.Quote(card.Description))
	case ask == mapping.ApprovalAsk && name != "":
		card.Action, card.Args, card.Accept, card.Edit = name, args, true, true
	case ask == mapping.ApprovalStep:
		card.Action, card.Args, card.Accept = "continue", stepArgs(n, s.Output), true
	default:
		return nil
	}
	return []mapping.Interrupt{{ID: mapping.InterruptID(runID, n), Value: card.json()}}
}

// asksByName tells whether the step's name and output are a question. A name that only
// copies the step's input says nothing.
func asksByName(s mapping.StepInfo) bool {
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
	w := new(rawjson.Writer).Open('[').Open('{')
	w.Key("action_request").Open('{').Key("action").Text(h.Action).Key("args").Raw(h.Args, "null").Close('}')
	w.Key("config").Open('{').Key("allow_accept").Bool(h.Accept).Key("allow_edit").Bool(h.Edit)
	w.Key("allow_respond").Bool(true).Key("allow_ignore").Bool(false).Close('}')
	return w.Key("description").Text(h.Description).Close('}').Close(']').Bytes
}

// proposedCommand is additional_output.use_tool, by which AutoGPT says what it
// would run next; "" when it proposes nothing.
func proposedCommand(additional json.RawMessage) (name string, args json.RawMessage) {
	tool := rawjson.Get(additional, "use_tool")
	name, _ = rawjson.Text(rawjson.Get(tool, "name"))
	if args = rawjson.Get(tool, "arguments"); rawjson.Kind(args) != '{' {
		args = json.RawMessage("{}")
	}
	return name, args
}

func askedQuestion(args json.RawMessage, output string) string {
	if q, ok := rawjson.Text(rawjson.Get(args, "question")); ok && q != "" {
		return q
	}
	return output
}

func stepArgs(n int, output json.RawMessage) json.RawMessage {
	if rawjson.IsNull(output) {
		output = nil
	}
	w := new(rawjson.Writer).Open('{').Key("step").Int(int64(n))
	return w.Key("output").Raw(output, "null").Close('}').Bytes
}

// rawObject is an object of one member, whose name needs no escapes.
func rawObject(key string, val json.RawMessage) json.RawMessage {
	w := rawjson.Writer{Bytes: make([]byte, 0, len(key)+len(val)+5)}
	return w.Open('{').Key(key).Raw(val, "null").Close('}').Bytes
}

// QuestionText is the text of a question to a person: a string as it is, a
// HumanInterrupt's question or description, an object's question, message,
// text, prompt or description, else compact JSON. Several questions in one
// payload are parted by a blank line.
func QuestionText(value json.RawMessage) string {
	if text, ok := rawjson.Text(value); ok {
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
	return string(rawjson.Compact(value))
}

// cardText is the text of a HumanInterrupt, or of one request of a
// decisions-style one: {name, args, description}.
func cardText(card json.RawMessage) string {
	args := rawjson.Get(rawjson.Get(card, "action_request"), "args")
	if args == nil {
		args = rawjson.Get(card, "args")
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
			return string(rawjson.Compact(whole))
		}
	}
	return strings.Join(texts, "\n\n")
}

func firstText(object json.RawMessage, keys ...string) string {
	for _, key := range keys {
		if text, ok := rawjson.Text(rawjson.Get(object, key)); ok && text != "" {
			return text
		}
	}
	return ""
}

// humanInterrupts are the cards of a payload: an object with action_request,
// or a list of such; nil for any other payload.
func humanInterrupts(value json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{value}
	if rawjson.Kind(value) == '[' {
		list, _ = rawjson.Elements(value)
	}
	for _, e := range list {
		if rawjson.Get(e, "action_request") == nil {
			return nil
		}
	}
	return list
}

// decisionRequests are the requests of a decisions-style payload
// {action_requests: […], review_configs: […]}; nil for any other payload.
func decisionRequests(value json.RawMessage) []json.RawMessage {
	list, err := rawjson.Elements(rawjson.Get(value, "action_requests"))
	if err != nil {
		return nil
	}
	return list
}
