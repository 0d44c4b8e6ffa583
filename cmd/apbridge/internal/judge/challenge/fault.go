package challenge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Fault is why a file is no challenge. It is an error.
type Fault struct {
	File  string `json:"file"`
	Field string `json:"field,omitempty"` // as ground.eval.type; "" for the whole file
	Text  string `json:"text"`
}

func (f *Fault) Error() string {
	var parts []string
	for _, s := range []string{f.File, f.Field, f.Text} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// faultOf is the fault of a file, with the place of its error.
func faultOf(file string, err error) Fault {
	var known *Fault
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &known) && known.File == "":
		return Fault{File: file, Field: known.Field, Text: known.Text}
	case errors.As(err, &known):
		return *known
	case errors.As(err, &kind):
		return Fault{File: file, Field: kind.Field, Text: fmt.Sprintf("is a JSON %s; %s is needed", kind.Value, wanted(kind.Type))}
	}
	return Fault{File: file, Text: err.Error()}
}

// wanted names a Go type as an author of JSON would.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list of strings"
	case reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	}
	return "a string"
}

// check finds the first field that does not make sense.
func (c Challenge) check() error {
	kinds := []string{ByText, ByOutput, ByPytest, ByModel}
	kind := c.Ground.Eval.Type
	scorings, templates := []string{Percentage, Scale, Binary}, []string{Rubric, Reference, Question}
	for _, x := range []struct {
		wrong       bool
		field, text string
	}{
		{c.Name == "", "name", "is missing"},
		{c.Task == "", "task", "is missing: it is what the agent is told"},
		{c.Cutoff < 0, "cutoff", "is negative; it is a number of seconds, and 0 is 60"},
		{!slices.Contains(kinds, kind), "ground.eval.type", oneOf(kind, kinds)},
		{len(c.Ground.Files) == 0 && kind != ByPytest, "ground.files", "is empty, so that nothing would be judged; name a file, or an ending as .txt"},
		{slices.Contains(c.Ground.Files, ""), "ground.files", "has an empty name"},
		{kind == ByModel && !slices.Contains(scorings, c.Ground.Eval.Scoring), "ground.eval.scoring", oneOf(c.Ground.Eval.Scoring, scorings)},
		{kind == ByModel && !slices.Contains(templates, c.Ground.Eval.Template), "ground.eval.template", oneOf(c.Ground.Eval.Template, templates)},
	} {
		if x.wrong {
			return &Fault{Field: x.field, Text: x.text}
		}
	}
	return nil
}

// oneOf returns what a field may be that is something else.
func oneOf(is string, known []string) string {
	if is == "" {
		return "is missing; it is one of " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("is %q; it is one of %s", is, strings.Join(known, ", "))
}
