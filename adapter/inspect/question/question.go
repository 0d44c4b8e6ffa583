// Package question is an open question as a person answers it in a form: the fields of its schema, the decisions that
// it allows, or words. A filled form is read back into the answer that its asker understands. Package inspect shows it.
//
// Questions come from agents, so their texts are untrusted, and no form of theirs does more than make a JSON value.
package question

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// Form is how a question is answered.
type Form struct {
	ID        string     `json:"id"`
	Text      string     `json:"text"`
	Decisions []Decision `json:"decisions,omitempty"` // one for each action that is asked for, in their order
	Fields    []Field    `json:"fields,omitempty"`    // of the answer's schema
	Bare      bool       `json:"bare,omitempty"`      // the one field is the answer itself, and no member of an object
	// Words: any text is an answer, too; of a question with neither Decisions nor Fields nothing else is asked for.
	Words bool `json:"words,omitempty"`
	// Asks: the agent asks its user for words, and allows decisions for clients that know no others.
	Asks bool `json:"asks,omitempty"`

	cards bool // the answer is a list of HumanResponses, and no object of decisions
}

// Decision is what is asked of a person about one action.
type Decision struct {
	Action string   `json:"action"`
	Args   string   `json:"args"`    // JSON
	About  string   `json:"about"`   // what the agent says of it
	Allows []string `json:"allowed"` // approve, edit, reject, respond, ignore
}

// kinds are the decisions that a form offers, in its order.
var kinds = []string{"approve", "edit", "reject", "respond", "ignore"}

// Of returns the form of a question.
func Of(q mapping.Interrupt) Form {
	f := Form{ID: q.ID, Text: rule.QuestionText(q.Value)}
	switch {
	case f.requested(q.Value), f.carded(q.Value):
		f.Words = slices.ContainsFunc(f.Decisions, func(d Decision) bool { return slices.Contains(d.Allows, "respond") }) && len(f.Decisions) == 1
		f.Asks = f.Words && rule.IsAskUser(q)
		return f
	case len(q.Schema) > 0:
		f.Fields, f.Bare = fieldsOf(q.Schema)
		return f
	}
	f.Words = true
	return f
}

// requested reads a question of LangChain's middleware: {action_requests, review_configs}.
func (f *Form) requested(value json.RawMessage) bool {
	list, err := rawjson.Elements(rawjson.Get(value, "action_requests"))
	if err != nil || len(list) == 0 {
		return false
	}
	configs, _ := rawjson.Elements(rawjson.Get(value, "review_configs"))
	for _, e := range list {
		d := Decision{Action: text(e, "name", "action"), Args: args(e), About: text(e, "description")}
		for _, c := range configs {
			if text(c, "action_name", "actionName") == d.Action {
				d.Allows = allowed(c)
			}
		}
		if len(d.Allows) == 0 {
			d.Allows = []string{"approve", "reject"}
		}
		// A question of the bridge's own says beside its decisions that words are taken.
		if string(rawjson.Get(rawjson.Get(value, "config"), "allow_respond")) == "true" && !slices.Contains(d.Allows, "respond") {
			d.Allows = append(d.Allows, "respond")
		}
		f.Decisions = append(f.Decisions, d)
	}
	return true
}

// allowed are the decisions of a review_config that a form knows.
func allowed(config json.RawMessage) (list []string) {
	given, err := rawjson.Elements(rawjson.Get(config, "allowed_decisions"))
	if err != nil {
		given, _ = rawjson.Elements(rawjson.Get(config, "allowedDecisions"))
	}
	for _, kind := range kinds {
		if slices.ContainsFunc(given, func(g json.RawMessage) bool { said, _ := rawjson.Text(g); return said == kind }) {
			list = append(list, kind)
		}
	}
	return list
}

// carded reads HumanInterrupts, one or a list of them.
func (f *Form) carded(value json.RawMessage) bool {
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
		d := Decision{Action: text(request, "action"), Args: args(request), About: text(c, "description")}
		for i, key := range []string{"allow_accept", "allow_edit", "", "allow_respond", "allow_ignore"} {
			if key != "" && string(rawjson.Get(config, key)) == "true" {
				d.Allows = append(d.Allows, kinds[i])
			}
		}
		f.Decisions = append(f.Decisions, d)
	}
	f.cards = len(cards) > 0
	return f.cards
}

func args(e json.RawMessage) string {
	for _, name := range []string{"args", "arguments"} {
		if v := rawjson.Get(e, name); v != nil {
			return string(rawjson.Compact(v))
		}
	}
	return "{}"
}

// text is the first of some members that says something.
func text(b json.RawMessage, names ...string) string {
	for _, name := range names {
		if said := rawjson.GetText(b, name); said != "" {
			return said
		}
	}
	return ""
}
