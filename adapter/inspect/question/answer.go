package question

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Names of a form's inputs. Those of a decision, or of a field, end with its index.
const (
	InputWords    = "words"
	InputJSON     = "json"      // the whole answer
	InputDecision = "decision-" // one of the kinds
	InputArgs     = "args-"     // of an edit
	InputReason   = "reason-"   // of a refusal, or the words of a response
	InputField    = "field-"
)

// Answer returns what a filled form says: its JSON, if there is any; else its decisions or fields; else its words. An
// error, of class Invalid, says what is missing.
func (f Form) Answer(in url.Values) (json.RawMessage, error) {
	if whole := strings.TrimSpace(in.Get(InputJSON)); whole != "" {
		return asJSON("the whole answer", whole)
	}
	words := in.Get(InputWords)
	switch {
	case f.Words && strings.TrimSpace(words) != "":
		return f.said(words), nil
	case len(f.Decisions) > 0:
		return f.decided(in)
	case len(f.Fields) > 0:
		return f.filled(in)
	}
	return nil, mapping.InvalidAt(InputWords, "the answer is empty.")
}

// said is what words are to the question: to a card or a decision a response.
func (f Form) said(words string) json.RawMessage {
	switch {
	case f.cards:
		return rawjson.Array(response(words))
	case len(f.Decisions) > 0:
		return response(words)
	}
	return rawjson.Quote(words)
}

// response is a HumanResponse, which task/step agents' questions take, too.
func response(words string) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("type").Text("response").Key("args").Text(words).Close('}').Bytes
}

// decided is the answer with a decision on each action.
func (f Form) decided(in url.Values) (json.RawMessage, error) {
	list := make([]json.RawMessage, len(f.Decisions))
	for i, d := range f.Decisions {
		kind, reason, edited := in.Get(fmt.Sprint(InputDecision, i)), in.Get(fmt.Sprint(InputReason, i)), json.RawMessage(nil)
		if !slices.Contains(d.Allows, kind) {
			return nil, mapping.InvalidAt(fmt.Sprint(InputDecision, i), "nothing is decided on %s.", d.Action)
		}
		if kind == "edit" {
			var err error
			if edited, err = asJSON("the arguments of "+d.Action, in.Get(fmt.Sprint(InputArgs, i))); err != nil {
				return nil, err
			}
		}
		switch {
		case f.cards:
			list[i] = d.card(kind, reason, edited)
		case kind == "respond" && len(f.Decisions) == 1:
			return response(reason), nil
		default:
			list[i] = d.decision(kind, reason, edited)
		}
	}
	if f.cards {
		return rawjson.Array(list...), nil
	}
	return new(rawjson.Writer).Open('{').Key("decisions").Array(list).Close('}').Bytes, nil
}

// decision is one of LangChain's middleware: {type: approve | edit | reject | respond, …}.
func (d Decision) decision(kind, reason string, edited json.RawMessage) json.RawMessage {
	w := new(rawjson.Writer).Open('{').Key("type").Text(kind)
	switch {
	case kind == "edit":
		w.Key("edited_action").Open('{').Key("name").Text(d.Action).Key("args").Raw(edited, "{}").Close('}')
	case kind != "approve" && reason != "":
		w.Key("message").Text(reason)
	}
	return w.Close('}').Bytes
}

// card is a HumanResponse: {type: accept | edit | response | ignore, args}.
func (d Decision) card(kind, reason string, edited json.RawMessage) json.RawMessage {
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

// filled is the object of the fields, or the value of the one that is bare. An empty field that need not be filled is
// no member.
func (f Form) filled(in url.Values) (json.RawMessage, error) {
	w := new(rawjson.Writer).Open('{')
	for i, field := range f.Fields {
		name := fmt.Sprint(InputField, i)
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

func (f Field) read(said string) (json.RawMessage, error) {
	called := f.Name
	if called == "" {
		called = "the answer"
	}
	if f.Kind == Words {
		if said == "" && !f.Required {
			return nil, nil
		}
		return rawjson.Quote(said), nil
	}
	said = strings.TrimSpace(said)
	switch {
	case said == "" && !f.Required:
		return nil, nil
	case f.Kind == Choice && !slices.Contains(f.Choices, said):
		return nil, mapping.InvalidAt(called, "%q is none of its choices.", said)
	case f.Kind == Number && !isNumber(said):
		return nil, mapping.InvalidAt(called, "it has to be a number, such as 3 or -0.5.")
	}
	return asJSON(called, said)
}

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(said string) bool {
	value := json.RawMessage(said)
	return rawjson.Kind(value) == '0' && rawjson.Valid(value)
}

func asJSON(what, said string) (json.RawMessage, error) {
	value := rawjson.Trim(json.RawMessage(said))
	if !rawjson.Valid(value) {
		return nil, mapping.InvalidAt(what, "it has to be JSON. A text stands in double quotes.")
	}
	return value, nil
}
