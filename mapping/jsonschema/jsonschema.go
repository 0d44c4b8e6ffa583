// Package jsonschema checks values against foreign JSON schemas, such as a graph's response_schema. Package rule uses
// it. It never loads the references of a schema.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	mostBytes = 256 << 10 // of a schema
	mostSaid  = 3         // problems of one value
	textLimit = 200       // bytes of one
)

// place is the base URI of a schema. Nothing is read from it.
const place = "apbridge://schema/response"

// Problem describes why a value does not fit the schema, or returns "" if it does. A schema that is invalid, larger
// than 256 KiB, or refers to another document is unusable and refuses nothing. Nothing is loaded from files or the
// network. Numbers with an exponent of more than three digits are not checked. The text contains no part of the value
// except names of its members. Safe for concurrent use.
func Problem(schema, value json.RawMessage) string {
	compiled := compile(schema)
	v, ok := read(value)
	if compiled == nil || !ok {
		return ""
	}
	var wrong *jsonschema.ValidationError
	if !errors.As(compiled.Validate(v), &wrong) {
		return ""
	}
	return said(wrong)
}

// compile returns nil for an unusable schema.
func compile(schema json.RawMessage) *jsonschema.Schema {
	if len(schema) == 0 || len(schema) > mostBytes {
		return nil
	}
	doc, ok := read(schema)
	if !ok {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if c.AddResource(place, doc) != nil {
		return nil
	}
	compiled, err := c.Compile(place)
	if err != nil {
		return nil
	}
	return compiled
}

// read decodes JSON for the library. It refuses huge numbers, because the library computes with them exactly: one like
// 1e999999 takes a quarter of a second.
func read(b json.RawMessage) (v any, ok bool) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	return v, err == nil && !hugeNumber.Match(b)
}

// hugeNumber also matches within strings, which costs no more than the check.
var hugeNumber = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4}`)

// nowhere loads nothing. The library's own loader reads files.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// said joins the library's texts of the first errors, such as "at '/days': got string, want integer".
func said(wrong *jsonschema.ValidationError) string {
	var list []string
	eachLeaf(wrong, func(leaf *jsonschema.ValidationError) {
		if len(list) == mostSaid {
			return
		}
		text := leaf.Error()
		if keyword := keywordOf(leaf); keyword == "pattern" || keyword == "format" {
			text = fmt.Sprintf("at '/%s': does not fit its %s", strings.Join(leaf.InstanceLocation, "/"), keyword) // the library repeats the value
		}
		list = append(list, clip(text))
	})
	return strings.Join(list, "; ")
}

// eachLeaf visits the errors without further causes.
func eachLeaf(wrong *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(wrong.Causes) == 0 {
		visit(wrong)
	}
	for _, cause := range wrong.Causes {
		eachLeaf(cause, visit)
	}
}

func clip(s string) string {
	if len(s) <= textLimit {
		return s
	}
	return strings.ToValidUTF8(s[:textLimit], "") + "…"
}

func keywordOf(leaf *jsonschema.ValidationError) string {
	if keywords := leaf.ErrorKind.KeywordPath(); len(keywords) > 0 {
		return keywords[0]
	}
	return ""
}
