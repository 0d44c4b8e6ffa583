package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// questionForm is the form for answering a question: decisions, the fields of the answer's schema, or words. Its texts
// are untrusted, because they come from an agent.
type questionForm struct {
	ID        string      `json:"id"`
	Text      string      `json:"text"`
	Decisions []decision  `json:"decisions,omitempty"` // one for each requested action, in their order
	Fields    []formField `json:"fields,omitempty"`    // of the answer's schema
	Bare      bool        `json:"bare,omitempty"`      // the only field is the whole answer, not a member
	Words     bool        `json:"words,omitempty"`     // any text is also an answer
	Asks      bool        `json:"asks,omitempty"`      // expects words; decisions are for clients that know nothing else

	cards bool // the answer is a list of HumanResponses instead of an object with decisions
}

// decision is the part of a form for one action.
type decision struct {
	Action string   `json:"action"`
	Args   string   `json:"args"`    // JSON
	About  string   `json:"about"`   // the agent's description
	Allows []string `json:"allowed"` // approve, edit, reject, respond, ignore
}

// decisionKinds are the decisions that a form offers, in its order.
var decisionKinds = []string{"approve", "edit", "reject", "respond", "ignore"}

func formOf(q mapping.Interrupt) questionForm {
	f := questionForm{ID: q.ID, Text: rule.QuestionText(q.Value)}
	switch {
	case f.readActionRequests(q.Value), f.readHumanInterrupts(q.Value):
		f.Words = slices.ContainsFunc(f.Decisions, func(d decision) bool { return slices.Contains(d.Allows, "respond") }) && len(f.Decisions) == 1
		f.Asks = f.Words && rule.IsAskUser(q)
		return f
	case len(q.Schema) > 0:
		f.Fields, f.Bare = fieldsOf(q.Schema)
		return f
	}
	f.Words = true
	return f
}

// readActionRequests reads a question of LangChain's middleware: {action_requests, review_configs}.
func (f *questionForm) readActionRequests(value json.RawMessage) bool {
	list, err := rawjson.Elements(rawjson.Get(value, "action_requests"))
	if err != nil || len(list) == 0 {
		return false
	}
	configs, _ := rawjson.Elements(rawjson.Get(value, "review_configs"))
	for _, e := range list {
		d := decision{Action: firstText(e, "name", "action"), Args: argsOf(e), About: rawjson.GetText(e, "description")}
		for _, c := range configs {
			if firstText(c, "action_name", "actionName") == d.Action {
				d.Allows = allowedDecisions(c)
			}
		}
		if len(d.Allows) == 0 {
			d.Allows = []string{"approve", "reject"}
		}
		// The bridge's own questions name decisions but also accept words.
		if string(rawjson.Get(rawjson.Get(value, "config"), "allow_respond")) == "true" && !slices.Contains(d.Allows, "respond") {
			d.Allows = append(d.Allows, "respond")
		}
		f.Decisions = append(f.Decisions, d)
	}
	return true
}

// allowedDecisions returns the decisions of a review_config that a form offers.
func allowedDecisions(config json.RawMessage) (list []string) {
	given, err := rawjson.Elements(rawjson.Get(config, "allowed_decisions"))
	if err != nil {
		given, _ = rawjson.Elements(rawjson.Get(config, "allowedDecisions"))
	}
	for _, kind := range decisionKinds {
		if slices.ContainsFunc(given, func(g json.RawMessage) bool { said, _ := rawjson.Text(g); return said == kind }) {
			list = append(list, kind)
		}
	}
	return list
}

// readHumanInterrupts reads one HumanInterrupt or a list of them.
func (f *questionForm) readHumanInterrupts(value json.RawMessage) bool {
	cards := []json.RawMessage{value}
	if rawjson.Kind(value) == '[' {
		cards, _ = rawjson.Elements(value)
	}
	for _, c := range cards {
		request, config := rawjson.Get(c, "action_request"), rawjson.Get(c, "config")
		if request == nil {
			f.Decisions = nil
			return false
		}
		d := decision{Action: rawjson.GetText(request, "action"), Args: argsOf(request), About: rawjson.GetText(c, "description")}
		for i, key := range []string{"allow_accept", "allow_edit", "", "allow_respond", "allow_ignore"} {
			if key != "" && string(rawjson.Get(config, key)) == "true" {
				d.Allows = append(d.Allows, decisionKinds[i])
			}
		}
		f.Decisions = append(f.Decisions, d)
	}
	f.cards = len(cards) > 0
	return f.cards
}

func argsOf(e json.RawMessage) string {
	for _, name := range []string{"args", "arguments"} {
		if v := rawjson.Get(e, name); v != nil {
			return string(rawjson.Compact(v))
		}
	}
	return "{}"
}

// firstText returns the first non-empty member.
func firstText(b json.RawMessage, names ...string) string {
	for _, name := range names {
		if said := rawjson.GetText(b, name); said != "" {
			return said
		}
	}
	return ""
}

// formField is one value of an answer.
type formField struct {
	Name     string    `json:"name"` // of the member; "" for a bare value
	Title    string    `json:"title,omitempty"`
	About    string    `json:"about,omitempty"`
	Kind     fieldKind `json:"kind"`
	Required bool      `json:"required,omitempty"`
	Choices  []string  `json:"choices,omitempty"` // JSON of each, for kind choiceField
	Default  string    `json:"default,omitempty"` // as the form shows it
}

type fieldKind string

const (
	textField   fieldKind = "text"
	numberField fieldKind = "number" // as JSON writes it
	boolField   fieldKind = "boolean"
	choiceField fieldKind = "choice"
	jsonField   fieldKind = "json" // any other type
)

// maxFields bounds a form. An answer to a longer schema is written as JSON.
const maxFields = 64

// fieldsOf returns the fields of a schema, in its order. bare reports that the schema is not an object with properties.
func fieldsOf(schema json.RawMessage) (list []formField, bare bool) {
	properties, err := rawjson.Members(rawjson.Get(schema, "properties"))
	if err != nil || len(properties) == 0 || len(properties) > maxFields {
		return []formField{fieldOf("", schema, true)}, true
	}
	required, _ := rawjson.Elements(rawjson.Get(schema, "required"))
	for _, p := range properties {
		must := slices.ContainsFunc(required, func(r json.RawMessage) bool { said, _ := rawjson.Text(r); return said == p.Name })
		list = append(list, fieldOf(p.Name, p.Value, must))
	}
	return list, false
}

func fieldOf(name string, schema json.RawMessage, required bool) formField {
	f := formField{Name: name, Title: rawjson.GetText(schema, "title"), About: rawjson.GetText(schema, "description"), Required: required, Kind: jsonField}
	if list, err := rawjson.Elements(rawjson.Get(schema, "enum")); err == nil && len(list) > 0 && len(list) <= maxFields {
		f.Kind = choiceField
		for _, c := range list {
			f.Choices = append(f.Choices, string(rawjson.Compact(c)))
		}
	} else {
		f.Kind = kindOfField(rawjson.GetText(schema, "type"))
	}
	if d := rawjson.Get(schema, "default"); d != nil {
		f.Default = string(rawjson.Compact(d))
		if said, ok := rawjson.Text(d); ok && f.Kind == textField {
			f.Default = said
		}
	}
	return f
}

func kindOfField(kind string) fieldKind {
	switch kind {
	case "string":
		return textField
	case "number", "integer":
		return numberField
	case "boolean":
		return boolField
	}
	return jsonField
}

// Names of inputs. The index of a decision or a field is appended.
const (
	answerWords    = "words"
	answerJSON     = "json"      // the whole answer
	answerDecision = "decision-" // one of decisionKinds
	answerArgs     = "args-"     // of an edit
	answerReason   = "reason-"   // for a refusal, or the words of a response
	answerField    = "field-"
)

// answer reads a completed form: its JSON if there is any, or else its words, decisions or fields. Errors have the
// class Invalid.
func (f questionForm) answer(in url.Values) (json.RawMessage, error) {
	if whole := strings.TrimSpace(in.Get(answerJSON)); whole != "" {
		return asJSON("the whole answer", whole)
	}
	words := in.Get(answerWords)
	switch {
	case f.Words && strings.TrimSpace(words) != "":
		return f.answerInWords(words), nil
	case len(f.Decisions) > 0:
		return f.answerDecisions(in)
	case len(f.Fields) > 0:
		return f.answerFields(in)
	}
	return nil, mapping.InvalidAt(answerWords, "the answer is empty.")
}

// inWords returns a completed form as plain text, with one line for each decision or field.
func (f questionForm) inWords(in url.Values) string {
	whole, words := strings.TrimSpace(in.Get(answerJSON)), in.Get(answerWords)
	switch {
	case whole != "":
		return whole
	case f.Words && strings.TrimSpace(words) != "":
		return words
	}
	var lines []string
	for i, d := range f.Decisions {
		kind, reason := in.Get(fmt.Sprint(answerDecision, i)), strings.TrimSpace(in.Get(fmt.Sprint(answerReason, i)))
		said := strings.TrimSpace(kind + " " + d.Action)
		if kind == "edit" {
			said += " with " + in.Get(fmt.Sprint(answerArgs, i))
		} else if kind != "approve" && reason != "" {
			said += ": " + reason
		}
		lines = append(lines, said)
	}
	for i, field := range f.Fields {
		said := in.Get(fmt.Sprint(answerField, i))
		if name := cmp.Or(field.Title, field.Name); name != "" && said != "" {
			said = name + ": " + said
		}
		if said != "" {
			lines = append(lines, said)
		}
	}
	return strings.Join(lines, "\n")
}

func (f questionForm) answerInWords(words string) json.RawMessage {
	switch {
	case f.cards:
		return rawjson.Array(response(words))
	case len(f.Decisions) > 0:
		return response(words)
	}
	return rawjson.Quote(words)
}

// response returns a HumanResponse, which questions of task/step agents also accept.
func response(words string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("type").Text("response").Key("args").Text(words).Close('}').Bytes
}

func (f questionForm) answerDecisions(in url.Values) (json.RawMessage, error) {
	list := make([]json.RawMessage, len(f.Decisions))
	for i, d := range f.Decisions {
		kind, reason, edited := in.Get(fmt.Sprint(answerDecision, i)), in.Get(fmt.Sprint(answerReason, i)), json.RawMessage(nil)
		if !slices.Contains(d.Allows, kind) {
			return nil, mapping.InvalidAt(fmt.Sprint(answerDecision, i), "there is no decision on %s.", d.Action)
		}
		if kind == "edit" {
			var err error
			if edited, err = asJSON("the arguments of "+d.Action, in.Get(fmt.Sprint(answerArgs, i))); err != nil {
				return nil, err
			}
		}
		switch {
		case f.cards:
			list[i] = d.humanResponse(kind, reason, edited)
		case kind == "respond" && len(f.Decisions) == 1:
			return response(reason), nil
		default:
			list[i] = d.middlewareDecision(kind, reason, edited)
		}
	}
	if f.cards {
		return rawjson.Array(list...), nil
	}
	return new(rawjson.Writer).Open('{').Key("decisions").Array(list).Close('}').Bytes, nil
}

// middlewareDecision returns a decision for LangChain's middleware: {type: approve | edit | reject | respond, …}.
func (d decision) middlewareDecision(kind, reason string, edited json.RawMessage) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("type").Text(kind)
	switch {
	case kind == "edit":
		w.Key("edited_action").Open('{').Key("name").Text(d.Action).Key("args").Raw(edited, "{}").Close('}')
	case kind != "approve" && reason != "":
		w.Key("message").Text(reason)
	}
	return w.Close('}').Bytes
}

// humanResponse returns {type: accept | edit | response | ignore, args}.
func (d decision) humanResponse(kind, reason string, edited json.RawMessage) json.RawMessage {
	switch kind {
	case "respond":
		return response(reason)
	case "edit":
		w := new(rawjson.Writer).Open('{').Key("type").Text(kind).Key("args").Open('{').Key("action").Text(d.Action)
		return w.Key("args").Raw(edited, "{}").Close('}').Close('}').Bytes
	case "approve":
		kind = "accept"
	}
	return new(rawjson.Writer).Open('{').Key("type").Text(kind).Key("args").Literal("null").Close('}').Bytes
}

// answerFields returns the object of the fields without optional ones that are empty, or the value of a bare field.
func (f questionForm) answerFields(in url.Values) (json.RawMessage, error) {
	w := new(rawjson.Writer).Open('{')
	for i, field := range f.Fields {
		name := fmt.Sprint(answerField, i)
		value, err := field.read(in.Get(name))
		switch {
		case err != nil:
			return nil, err
		case f.Bare:
			return value, nil
		case value != nil:
			w.Key(field.Name).Raw(value, "null")
		}
	}
	return w.Close('}').Bytes, nil
}

func (f formField) read(said string) (json.RawMessage, error) {
	called := cmp.Or(f.Name, "the answer")
	if f.Kind == textField {
		if said == "" && !f.Required {
			return nil, nil
		}
		return rawjson.Quote(said), nil
	}
	said = strings.TrimSpace(said)
	switch {
	case said == "" && !f.Required:
		return nil, nil
	case f.Kind == choiceField && !slices.Contains(f.Choices, said):
		return nil, mapping.InvalidAt(called, "%q is not one of its choices.", said)
	case f.Kind == numberField && !isNumber(said):
		return nil, mapping.InvalidAt(called, "it must be a number, such as 3 or -0.5.")
	}
	return asJSON(called, said)
}

func isNumber(said string) bool {
	value := json.RawMessage(said)
	return rawjson.Kind(value) == '0' && rawjson.Valid(value)
}

func asJSON(what, said string) (json.RawMessage, error) {
	value := rawjson.Trim(json.RawMessage(said))
	if !rawjson.Valid(value) {
		return nil, mapping.InvalidAt(what, "it must be JSON. Text must be in double quotes.")
	}
	return value, nil
}
