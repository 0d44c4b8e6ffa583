package question

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Field is one value that a form asks for.
type Field struct {
	Name     string   `json:"name"` // of the member; "" of a bare value
	Title    string   `json:"title,omitempty"`
	About    string   `json:"about,omitempty"`
	Kind     Kind     `json:"kind"`
	Required bool     `json:"required,omitempty"`
	Choices  []string `json:"choices,omitempty"` // JSON of each; of Choice
	Default  string   `json:"default,omitempty"` // as the form shows it
}

// Kind is what a field takes.
type Kind string

const (
	Words  Kind = "text"
	Number Kind = "number" // as JSON writes it
	YesNo  Kind = "boolean"
	Choice Kind = "choice"
	JSON   Kind = "json" // anything that a form has no field for
)

// mostFields bounds a form: an answer to a longer schema is written as JSON.
const mostFields = 64

// fieldsOf are the fields of a schema, in its order; bare where it is not one of an object with properties.
func fieldsOf(schema json.RawMessage) (list []Field, bare bool) {
	properties, err := rawjson.Members(rawjson.Get(schema, "properties"))
	if err != nil || len(properties) == 0 || len(properties) > mostFields {
		return []Field{fieldOf("", schema, true)}, true
	}
	required, _ := rawjson.Elements(rawjson.Get(schema, "required"))
	for _, p := range properties {
		must := slices.ContainsFunc(required, func(r json.RawMessage) bool { said, _ := rawjson.Text(r); return said == p.Name })
		list = append(list, fieldOf(p.Name, p.Value, must))
	}
	return list, false
}

func fieldOf(name string, schema json.RawMessage, required bool) Field {
	f := Field{Name: name, Title: text(schema, "title"), About: text(schema, "description"), Required: required, Kind: JSON}
	if list, err := rawjson.Elements(rawjson.Get(schema, "enum")); err == nil && len(list) > 0 && len(list) <= mostFields {
		f.Kind = Choice
		for _, c := range list {
			f.Choices = append(f.Choices, string(rawjson.Compact(c)))
		}
	} else {
		f.Kind = kindOf(text(schema, "type"))
	}
	if d := rawjson.Get(schema, "default"); d != nil {
		f.Default = f.shows(d)
	}
	return f
}

func kindOf(kind string) Kind {
	switch kind {
	case "string":
		return Words
	case "number", "integer":
		return Number
	case "boolean":
		return YesNo
	}
	return JSON
}

// shows is a value as the field has it: words as they are, all else as JSON.
func (f Field) shows(value json.RawMessage) string {
	if said, ok := rawjson.Text(value); ok && f.Kind == Words {
		return said
	}
	return string(rawjson.Compact(value))
}
