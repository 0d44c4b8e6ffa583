package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Answer is what a resume means to a task/step agent.
type Answer struct {
	Continue bool   // go on: POST without a body
	Text     string // else these words
	Feedback bool   // Text replaces the proposed command (edit, reject)
}

// IsYes tells whether a text only says "go on": nothing, y, yes, true or
// accept.
func IsYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "y", "yes", "true", "accept":
		return true
	default:
		return false
	}
}

// ParseAnswer reads a resume value: null, true, "", y, yes, {type: accept},
// [{type}], {decisions}, or {interrupt_id: value}; edit and reject become
// feedback in words; any other value goes on as text or compact JSON. open are
// the questions it may answer; an unknown interrupt id is an *Error of class
// Invalid that names the pending ids.
func ParseAnswer(resume json.RawMessage, open []mapping.Interrupt) (Answer, error) {
	value, err := answerByID(resume, open, looksLikeID)
	if err != nil {
		return Answer{}, err
	}
	if rawjson.IsNull(value) || string(rawjson.Trim(value)) == "true" {
		return Answer{Continue: true}, nil
	}
	if text, ok := rawjson.Text(value); ok {
		return textAnswer(text), nil
	}
	if a, ok := typedAnswer(value); ok {
		return a, nil
	}
	text := rawjson.Compact(value)
	if text == nil {
		return Answer{}, mapping.Invalidf("The resume value is not valid JSON.")
	}
	return Answer{Text: string(text)}, nil
}

func textAnswer(text string) Answer {
	if IsYes(text) {
		return Answer{Continue: true}
	}
	return Answer{Text: text}
}

// CheckAnswer refuses what a thread/run agent could not tell the question of: an
// id that is not open, and a bare value where several questions are. LangGraph
// drops the one without a word, and fails at the other ("you must specify the
// interrupt id when resuming"). A value that says nothing answers all of them.
func CheckAnswer(resume json.RawMessage, open []mapping.Interrupt) error {
	if _, err := answerByID(resume, open, isDigest); err != nil || len(open) < 2 {
		return err
	}
	switch string(rawjson.Trim(resume)) {
	case "", "null", "false", "0", `""`:
		return nil
	}
	nameless := slices.ContainsFunc(open, func(in mapping.Interrupt) bool { return in.ID == "" })
	if nameless || len(Named(resume, open)) > 0 {
		return nil
	}
	e := mapping.Invalidf("%d questions are open: %s. Say which is answered: {id: value}.", len(open), strings.Join(idsOf(open), ", "))
	e.Detail = map[string]any{"pending": idsOf(open)}
	return e
}

// NothingToResume refuses an answer that nobody waits for: there is no question, it
// is being answered, or its run was cancelled. open are the questions that remain.
func NothingToResume(threadID string, open []mapping.Interrupt) *mapping.Error {
	what := "has no open question for command.resume to answer. Send input instead."
	if len(open) > 0 {
		what = "waits for other answers only. Open: " + strings.Join(idsOf(open), ", ") + "."
	}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeNothingToResume, "Thread %s %s", threadID, what)
	e.Detail = map[string]any{"pending": idsOf(open)}
	return e
}

// UnansweredByParent refuses the call of a parent graph that was resumed without an answer to
// the question that is open here: it would ask again, for ever.
func UnansweredByParent(threadID string, open []mapping.Interrupt) *mapping.Error {
	e := mapping.Invalidf("Thread %s waits for an answer to %s, and the graph that calls was resumed without one. Resume it by the id of the question: Command(resume={id: value}).",
		threadID, strings.Join(idsOf(open), ", "))
	e.Detail = map[string]any{"pending": idsOf(open)}
	return e
}

// Named are the open questions that an answer names by their ids.
func Named(resume json.RawMessage, open []mapping.Interrupt) (named []mapping.Interrupt) {
	list, err := rawjson.Members(resume)
	if err != nil {
		return nil
	}
	for _, in := range open {
		if slices.ContainsFunc(list, func(m rawjson.Member) bool { return m.Name == in.ID }) {
			named = append(named, in)
		}
	}
	return named
}

// AnswerAsAsked is an answer that names open questions by their ids as they were asked
// with: an id of 32 hexadecimal digits may also be named as a UUID, and the other way
// round.
func AnswerAsAsked(resume json.RawMessage, open []mapping.Interrupt) json.RawMessage {
	list, err := rawjson.Members(resume)
	if err != nil {
		return resume
	}
	changed := false
	for i, m := range list {
		if isOpen(open, m.Name) {
			continue
		}
		for _, in := range open {
			if sameID(m.Name, in.ID) {
				list[i], changed = rawjson.Member{Name: in.ID, Value: m.Value}, true
			}
		}
	}
	if !changed {
		return resume
	}
	return new(rawjson.Writer).Object(list).Bytes
}

// sameID tells whether two ids are the same 128 bits, written as a UUID or as digits.
func sameID(a, b string) bool {
	return looksLikeID(a) && looksLikeID(b) && strings.ReplaceAll(a, "-", "") == strings.ReplaceAll(b, "-", "")
}

// answerByID unpacks {interrupt_id: value}. An object counts as one when it
// names an open question, or when all its keys look like ids.
func answerByID(resume json.RawMessage, open []mapping.Interrupt, isID func(string) bool) (json.RawMessage, error) {
	list, err := rawjson.Members(resume)
	if err != nil || len(list) == 0 {
		return resume, nil
	}
	var value json.RawMessage
	ids := true
	var unknown []string
	for _, m := range list {
		if isOpen(open, m.Name) {
			value = m.Value
			continue
		}
		unknown = append(unknown, m.Name)
		ids = ids && isID(m.Name)
	}
	switch {
	case len(unknown) == 0:
		return value, nil
	case value == nil && !ids:
		return resume, nil
	default:
		return nil, unknownInterrupt(unknown, open)
	}
}

func isOpen(open []mapping.Interrupt, id string) bool {
	for _, in := range open {
		if in.ID == id {
			return true
		}
	}
	return false
}

// looksLikeID knows ids of 32 hexadecimal digits, as LangGraph and the bridge make
// them, and UUIDs, which the bridge made before.
func looksLikeID(s string) bool {
	return mapping.IsUUID(s) || isDigest(s)
}

// isDigest knows ids of 32 hexadecimal digits.
func isDigest(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

func unknownInterrupt(unknown []string, open []mapping.Interrupt) *mapping.Error {
	pending, what := idsOf(open), "none is open"
	if len(pending) > 0 {
		what = "open: " + strings.Join(pending, ", ")
	}
	e := mapping.Invalidf("There is no open question %s (%s). Answer one that is open, or send the bare value.", strings.Join(unknown, ", "), what)
	e.Detail = map[string]any{"pending": pending}
	return e
}

func idsOf(open []mapping.Interrupt) []string {
	ids := make([]string, 0, len(open))
	for _, in := range open {
		ids = append(ids, in.ID)
	}
	return ids
}

// typedAnswer reads a HumanResponse {type, args}, a list of them, or
// {decisions: [{type, …}]}. Of several the first that is no consent counts:
// a task/step agent takes one answer.
func typedAnswer(value json.RawMessage) (Answer, bool) {
	list := []json.RawMessage{value}
	if rawjson.Kind(value) == '[' {
		list, _ = rawjson.Elements(value)
	} else if d, err := rawjson.Elements(rawjson.Get(value, "decisions")); err == nil {
		list = d
	}
	found, ok := Answer{}, false
	for _, e := range list {
		a, known := oneAnswer(e)
		if !known {
			return Answer{}, false
		}
		if !ok || found.Continue {
			found, ok = a, true
		}
	}
	return found, ok
}

func oneAnswer(e json.RawMessage) (Answer, bool) {
	kind, _ := rawjson.Text(rawjson.Get(e, "type"))
	switch kind {
	case "accept", "approve":
		return Answer{Continue: true}, true
	case "response", "respond":
		return textAnswer(answerText(e, "args", "message")), true
	case "edit":
		return Answer{Text: editText(e), Feedback: true}, true
	case "reject", "ignore":
		text := answerText(e, "message", "args")
		if text == "" {
			text = "No, do not do that."
		}
		return Answer{Text: text, Feedback: true}, true
	default:
		return Answer{}, false
	}
}

// answerText is the first of the named members as text.
func answerText(e json.RawMessage, keys ...string) string {
	for _, key := range keys {
		if v := rawjson.Get(e, key); !rawjson.IsNull(v) {
			return outputText(v)
		}
	}
	return ""
}

// editText says in words what an edited command is: {args: {action, args}} of
// a HumanResponse, {edited_action: {name, args}} of a decision.
func editText(e json.RawMessage) string {
	edited := rawjson.Get(e, "edited_action")
	if edited == nil {
		edited = rawjson.Get(e, "args")
	}
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

// ResumeFor turns the words of a task/step client (or the default answer) into
// the resume value for a question of a thread/run agent: typed
// HumanInterrupts get [{type: accept}] for yes and [{type: response, args}]
// for text, decisions-style ones their decisions, others the text itself. A
// HumanInterrupt that does not allow accept is answered in words even by yes.
func ResumeFor(question mapping.Interrupt, text string) json.RawMessage {
	if cards := humanInterrupts(question.Value); len(cards) > 0 {
		out := make([]json.RawMessage, len(cards))
		for i, card := range cards {
			out[i] = cardResponse(card, text)
		}
		return rawjson.Array(out...)
	}
	if requests := decisionRequests(question.Value); len(requests) > 0 {
		out := make([]json.RawMessage, len(requests))
		for i, r := range requests {
			out[i] = decision(question.Value, r, text)
		}
		return rawObject("decisions", rawjson.Array(out...))
	}
	return rawjson.Quote(text)
}

func cardResponse(card json.RawMessage, text string) json.RawMessage {
	accept := rawjson.Get(rawjson.Get(card, "config"), "allow_accept")
	if IsYes(text) && string(accept) != "false" {
		return json.RawMessage(`{"type":"accept","args":null}`)
	}
	w := new(rawjson.Writer).Open('{').Key("type").Text("response")
	return w.Key("args").Text(text).Close('}').Bytes
}

// decision answers one request: words are a response where the agent takes
// one, else the reason of a refusal.
func decision(value, request json.RawMessage, text string) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("type")
	switch {
	case IsYes(text):
		return w.Text("approve").Close('}').Bytes
	case allowsRespond(value, request):
		w.Text("respond")
	default:
		w.Text("reject")
	}
	return w.Key("message").Text(text).Close('}').Bytes
}

func allowsRespond(value, request json.RawMessage) bool {
	name := firstText(request, "name", "action")
	configs, _ := rawjson.Elements(rawjson.Get(value, "review_configs"))
	for _, c := range configs {
		if firstText(c, "action_name") != name {
			continue
		}
		allowed, _ := rawjson.Elements(rawjson.Get(c, "allowed_decisions"))
		for _, d := range allowed {
			if kind, _ := rawjson.Text(d); kind == "respond" {
				return true
			}
		}
	}
	return false
}
