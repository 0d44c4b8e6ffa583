// Package jsonschema checks values against foreign JSON schemas, such as a graph's response_schema. Package rule calls
// it. It never loads what a schema refers to.
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
	mostSaid  = 3         // complaints of one value
	textLimit = 200       // bytes of one
)

// place is what the schema is called while it is used; nothing is read from there.
const place = "apbridge://schema/response"

// Complaint returns in words why a value does not fit the schema; "" where it does. A schema that cannot be used
// refuses nothing: one that is no schema, is larger than 256 KiB, or refers to another document, since nothing is
// loaded for it from files or the network. Nor are numbers judged that have an exponent of more than three digits. The
// texts have no part of the value but names of its members. Safe for concurrent use.
func Complaint(schema, value json.RawMessage) string {
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

// compile is nil for what is no schema of use.
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

// read decodes JSON as the library wants it. It computes with numbers of any size: one like 1e999999 takes it a quarter
// of a second.
func read(b json.RawMessage) (v any, ok bool) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	return v, err == nil && !hugeNumber.Match(b)
}

// hugeNumber also matches in a text, where it costs no more than the check.
var hugeNumber = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4}`)

// nowhere loads nothing. The library's own loader reads files.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// said joins the first complaints, in the library's words: "at '/days': got string, want integer".
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

// eachLeaf visits what is wrong itself, and not because of parts of it.
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
