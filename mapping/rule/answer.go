package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Answer is the meaning of a resume for an opaque agent.
type Answer struct {
	Continue bool   // continue: POST without a body
	Text     string // otherwise this text
	Data     bool   // the text is a JSON value, which the agent receives as such

	form form
}

// form is the form of an answer.
type form string

const (
	formNothing form = "nothing" // null, "", [] and similar values
	formConsent form = "consent" // continue
	formWords   form = "words"   // free text
	formEdit    form = "edit"    // another command, or other arguments
	formReject  form = "reject"  // no, with a reason
	formNo      form = "bare no" // no, without a reason
	formIgnore  form = "ignore"  // the question stays open
	formSeveral form = "several" // more answers than questions
	formUnknown form = "unknown" // decisions, one of which has an unknown type
)

// IsYes reports whether a text only means "continue". Such texts are y, yes, true, ok, approve, accept and blank ones.
func IsYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "y", "yes", "true", "ok", "approve", "accept":
		return true
	default:
		return false
	}
}

// ParseAnswer reads the answer of a run to an opaque agent. Consent is true, "yes" and similar, {type: accept},
// [{type: accept}] or {decisions: [{type: approve}]}. Edits and refusals in either form become text. Any other value is
// text, as a string or compact JSON. Each may be wrapped in {interrupt_id: …}. For ask_user all plain values are text,
// because "yes" may be the answer to the agent's question. If the run is Verbatim, the value keeps its form.
//
// It returns an error of class Invalid with the pending ids if the answer names only other questions, or if several
// questions are open and the answer names none.
func ParseAnswer(o *mapping.RunOptions) (Answer, error) {
	if o.Verbatim {
		return verbatimAnswer(o), nil
	}
	value, err := answerByID(o.Resume, o.Asked, looksLikeID)
	if err != nil {
		return Answer{}, err
	}
	q, err := answered(o)
	if err != nil {
		return Answer{}, err
	}
	a, ok := typedAnswer(value, q)
	if !ok {
		a, err = plainAnswer(value, q)
	}
	if o.Guessed != "" && IsYes(a.Text) {
		a = Answer{form: formConsent}
	}
	a.Continue = a.form == formConsent || a.form == formNothing
	return a, err
}

// verbatimAnswer returns the answer as it was sent. Only {interrupt_id: …} is unwrapped. Any other object may be a value.
func verbatimAnswer(o *mapping.RunOptions) Answer {
	value := o.Resume
	if list, err := rawjson.Members(value); err == nil && len(list) == 1 && isOpen(o.Asked, list[0].Name) {
		value = list[0].Value
	}
	if text, ok := rawjson.Text(value); ok {
		return Answer{Text: text, form: formWords}
	}
	return Answer{Text: rawjson.CompactText(value), Data: true, form: formWords}
}

// answered returns the request that the answer responds to, or the zero request if it is unknown.
func answered(o *mapping.RunOptions) (request, error) {
	open := o.Asked
	if len(open) > 1 {
		if open = Named(o.Resume, open); len(open) != 1 {
			return request{}, invalidAnswer(o.Asked, "%d questions are open: %s. Answer one of them: {id: value}.", len(o.Asked), listed(o.Asked))
		}
	}
	if len(open) == 0 {
		return request{}, nil
	}
	q, _ := requestIn(open[0].Value)
	return q, nil
}

// plainAnswer reads a value that has no special form.
func plainAnswer(value json.RawMessage, q request) (Answer, error) {
	if saysNothing(value) {
		return Answer{form: formNothing}, nil
	}
	text, ok := rawjson.Text(value)
	if !ok {
		if text = string(rawjson.Compact(value)); text == "" {
			return Answer{}, mapping.Invalidf("The resume value is not valid JSON.")
		}
		ok = text == "true"
	}
	if ok && q.Action != askUser && IsYes(text) {
		return Answer{form: formConsent}, nil
	}
	return Answer{Text: text, form: formWords}, nil
}

// saysNothing reports whether a value is empty: null, a blank text or an empty list.
func saysNothing(value json.RawMessage) bool {
	if text, ok := rawjson.Text(value); ok {
		return strings.TrimSpace(text) == ""
	}
	list, err := rawjson.Elements(value)
	return rawjson.IsNull(value) || err == nil && len(list) == 0
}

// typedAnswer reads a HumanResponse {type, args}, a list of them, or {decisions: [{type, …}]}.
func typedAnswer(value json.RawMessage, q request) (Answer, bool) {
	list, decisions := []json.RawMessage{value}, false
	if rawjson.Kind(value) == '[' {
		list = rawjson.ElementsOf(value)
	} else if d, err := rawjson.Elements(rawjson.Get(value, "decisions")); err == nil {
		list, decisions = d, true
		if len(d) == 0 {
			return Answer{form: formNothing}, true
		}
	}
	var last Answer
	for _, e := range list {
		known := false
		if last, known = oneAnswer(e, q); !known && decisions { // it is not meant as text
			return Answer{form: formUnknown}, true
		} else if !known {
			return Answer{}, false
		}
	}
	if len(list) > 1 {
		last = Answer{form: formSeveral}
	}
	return last, len(list) > 0
}

func oneAnswer(e json.RawMessage, q request) (Answer, bool) {
	kind := rawjson.GetText(e, "type")
	switch kind {
	case "accept", "approve":
		return Answer{form: formConsent}, true
	case "response", "respond":
		a, err := plainAnswer(rawjson.Quote(answerText(e, "args", "message")), q)
		return a, err == nil
	case "edit":
		return editAnswer(e, q), true
	case "reject":
		if text := answerText(e, "message", "args"); text != "" {
			return Answer{Text: text, form: formReject}, true
		}
		return Answer{Text: "No, do not do that.", form: formNo}, true
	case "ignore":
		return Answer{Text: "No, do not do that.", form: formIgnore}, true
	default:
		return Answer{}, false
	}
}

// answerText returns the first existing member among keys as text.
func answerText(e json.RawMessage, keys ...string) string {
	for _, key := range keys {
		if v := rawjson.Get(e, key); !rawjson.IsNull(v) {
			return outputText(v)
		}
	}
	return ""
}

// editAnswer reads {edited_action: {name, args}} of a decision, which JavaScript clients call editedAction, or {args:
// {action, args}} of a HumanResponse. For ask_user the edited answer is the answer. For a command it becomes a text
// with the alternative.
func editAnswer(e json.RawMessage, q request) Answer {
	var edited json.RawMessage
	for _, key := range [...]string{"edited_action", "editedAction", "args"} {
		if edited = rawjson.Get(e, key); edited != nil {
			break
		}
	}
	a := Answer{Text: editText(edited), form: formEdit}
	if q.Action == askUser && rawjson.Kind(edited) == '{' {
		a.Text = answerText(rawjson.Get(edited, "args"), argument)
	}
	if strings.TrimSpace(a.Text) == "" {
		return Answer{form: formNothing}
	}
	return a
}

func editText(edited json.RawMessage) string {
	name := firstText(edited, "action", "name")
	if name == "" {
		return outputText(edited)
	}
	text := "Do this instead: " + name
	if args := rawjson.Get(edited, "args"); !rawjson.IsNull(args) {
		text += " " + string(rawjson.Compact(args))
	}
	return text
}
