package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Commands of AutoGPT's agents with a special meaning.
const (
	askUser  = "ask_user" // asks the user; also the name of a step that asks, for agents whose SDK drops additional_output
	finish   = "finish"   // ends the task; needs no approval
	carryOn  = "continue" // the question after each step with approval "step"; agents do not use it
	argument = "answer"   // of ask_user: the field that a page shows for the person's text
)

// stepQuestion returns the question after a step that is not the last, or nil.
func stepQuestion(runID string, n int, s mapping.StepInfo, ask mapping.Approval) []mapping.Interrupt {
	q := request{Description: outputText(s.Output)}
	name, args := proposedCommand(s.Additional)
	switch {
	case name == askUser, name == "" && asksByName(s):
		q.Description = askedQuestion(args, q.Description)
		q.Action, q.Args, q.Edit = askUser, askArgs(q.Description), true
	case ask == mapping.ApprovalAsk && name != "" && name != finish:
		q.Action, q.Args, q.Approve, q.Edit, q.Reject = name, args, true, true, true
	case ask == mapping.ApprovalStep:
		q.Action, q.Args, q.Approve, q.Reject = carryOn, stepArgs(n, s.Output), true, true
	default:
		return nil
	}
	return []mapping.Interrupt{{ID: mapping.InterruptID(runID, n), Value: q.json()}}
}

// asksByName reports whether the step asks the user by its name. A name that only copies the step's input does not
// count.
func asksByName(s mapping.StepInfo) bool {
	return s.Name == askUser && outputText(s.Output) != "" && (s.Input == nil || *s.Input != askUser)
}

// askArgs returns the arguments of ask_user. They include an empty answer, so that pages show a field for it.
func askArgs(question string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("question").Text(question).Key(argument).Text("").Close('}').Bytes
}

// request is a question of a task/step agent: an action on which a person decides.
type request struct {
	Action      string
	Args        json.RawMessage
	Description string
	Approve     bool // accepts "continue"
	Edit        bool // accepts other arguments
	Reject      bool // accepts "no", with or without a reason
}

// json returns one object with the keys of both generations of pages: HITLRequest of LangChain 1.x (action_requests,
// review_configs) and its predecessor HumanInterrupt (action_request, config). Agent Inbox reads arguments instead of
// args, and deep-agents-ui reads the members of a review in camel case. Ignoring is never offered, because a task/step
// agent cannot leave a question open.
func (q request) json() json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	w.Key("action_requests").Open('[').Open('{').Key("name").Text(q.Action).Key("action").Text(q.Action)
	w.Key("args").Raw(q.Args, "null").Key("arguments").Raw(q.Args, "null")
	w.Key("description").Text(q.Description).Close('}').Close(']')
	allowed := q.decisions()
	w.Key("review_configs").Open('[').Open('{').Key("action_name").Text(q.Action).Key("actionName").Text(q.Action)
	w.Key("allowed_decisions").Texts(allowed).Key("allowedDecisions").Texts(allowed).Close('}').Close(']')
	w.Key("action_request").Open('{').Key("action").Text(q.Action).Key("args").Raw(q.Args, "null").Close('}')
	w.Key("config").Open('{').Key("allow_accept").Bool(q.Approve).Key("allow_edit").Bool(q.Edit)
	w.Key("allow_respond").Bool(true).Key("allow_ignore").Bool(false).Close('}')
	return w.Key("description").Text(q.Description).Close('}').Bytes
}

func (q request) decisions() (list []string) {
	for _, d := range []struct {
		name    string
		allowed bool
	}{{"approve", q.Approve}, {"edit", q.Edit}, {"reject", q.Reject}} {
		if d.allowed {
			list = append(list, d.name)
		}
	}
	return list
}

// requestIn reads a value written by stepQuestion. Earlier versions wrote a list of one HumanInterrupt, which a
// database may still contain.
func requestIn(value json.RawMessage) (q request, ok bool) {
	cards := humanInterrupts(value)
	if len(cards) != 1 {
		return q, false
	}
	q.Action = firstText(rawjson.Get(cards[0], "action_request"), "action")
	config := rawjson.Get(cards[0], "config")
	may := func(key string) bool { return string(rawjson.Get(config, key)) == "true" }
	q.Approve, q.Edit = may("allow_accept"), may("allow_edit") || q.Action == askUser
	q.Reject = q.Action != askUser
	return q, q.Action != ""
}

// proposedCommand reads additional_output.use_tool, AutoGPT's next command. name is "" if there is none.
func proposedCommand(additional json.RawMessage) (name string, args json.RawMessage) {
	tool := rawjson.Get(additional, "use_tool")
	name = rawjson.GetText(tool, "name")
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

// rawObject returns an object with one member, whose name needs no escapes.
func rawObject(key string, val json.RawMessage) json.RawMessage {
	w := rawjson.Writer{Bytes: make([]byte, 0, len(key)+len(val)+5)}
	return w.Open('{').Key(key).Raw(val, "null").Close('}').Bytes
}

// QuestionText returns the text of a question for display: a string itself, a HumanInterrupt's question or description,
// an object's question, message, text, prompt or description, or else compact JSON. Several questions in one payload
// are separated by a blank line.
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

// cardText returns the text of a HumanInterrupt, or of one request of a decisions-style one: {name, args, description}.
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

// joinTexts joins the texts of the parts. It returns the compact JSON of the whole if a part has no text.
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

// humanInterrupts returns the cards of a payload that is an object with action_request or a list of such objects. It
// returns nil for any other payload.
func humanInterrupts(value json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{value}
	if rawjson.Kind(value) == '[' {
		list = rawjson.ElementsOf(value)
	}
	for _, e := range list {
		if rawjson.Get(e, "action_request") == nil {
			return nil
		}
	}
	return list
}

// decisionRequests returns the requests of a decisions-style payload {action_requests: […], review_configs: […]}, or
// nil for any other payload.
func decisionRequests(value json.RawMessage) []json.RawMessage {
	list, err := rawjson.Elements(rawjson.Get(value, "action_requests"))
	if err != nil {
		return nil
	}
	return list
}
