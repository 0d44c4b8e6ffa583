package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/jsonschema"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// CheckSchemas refuses, with an error of class Invalid, an answer that does not fit the graph's response_schema.
// LangGraph only shows the schema to its clients and accepts any answer, on which the graph may then fail. The default
// answer for a client that sends nothing is not checked.
func CheckSchemas(o *mapping.RunOptions) error {
	if o.Guessed != "" {
		return nil
	}
	for _, q := range o.Asked {
		value, ok := answerTo(q, o)
		if !ok || len(q.Schema) == 0 {
			continue
		}
		if problem := jsonschema.Problem(q.Schema, value); problem != "" {
			return invalidAnswer(o.Asked, "The answer to question %s does not fit its response_schema: %s.", q.ID, problem)
		}
	}
	return nil
}

// answerTo returns the part of an answer for one of the questions.
func answerTo(q mapping.Interrupt, o *mapping.RunOptions) (json.RawMessage, bool) {
	if len(Named(o.Resume, o.Asked)) == 0 {
		return o.Resume, len(o.Asked) == 1
	}
	value := rawjson.Get(o.Resume, q.ID)
	return value, value != nil
}

// asSchema converts a task/step client's text to a value that fits the question's schema: the text itself, the JSON in
// it, or a boolean for yes or no.
func asSchema(schema json.RawMessage, text string) (json.RawMessage, bool) {
	candidates := []json.RawMessage{rawjson.Quote(text)}
	if raw := json.RawMessage(strings.TrimSpace(text)); rawjson.Valid(raw) {
		candidates = append(candidates, raw)
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "n", "no":
		candidates = append(candidates, json.RawMessage("false"))
	default:
		if IsYes(text) {
			candidates = append(candidates, json.RawMessage("true"))
		}
	}
	for _, value := range candidates {
		if jsonschema.Problem(schema, value) == "" {
			return value, true
		}
	}
	return nil, false
}
