package face

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// fieldSet is the select option: the keys of each object that are wanted; nil
// wants all.
type fieldSet map[string]bool

// selection reads a list of names, all of which must be known.
func selection(names []string, known ...string) (fieldSet, error) {
	if len(names) == 0 {
		return nil, nil
	}
	set := fieldSet{}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "select names the unknown field %q.", n)
		}
		set[n] = true
	}
	return set, nil
}

// pick writes of an object only what is wanted.
func (set fieldSet) pick(e *rawjson.Writer, object []byte) {
	if set == nil {
		e.Raw(object, "{}")
		return
	}
	members, _ := rawjson.Members(object)
	e.Open('{')
	for _, m := range members {
		if set[m.Name] {
			e.Name(m.Name).Raw(json.RawMessage(m.Value), "null")
		}
	}
	e.Close('}')
}

// stateSet is the select option of a thread's state: members of it, and single keys of its
// values as values.KEY. Source: ThreadStateSelectField of the LangGraph SDKs.
type stateSet struct {
	fieldSet
	keys fieldSet // nil: the values are wanted whole, or not at all
}

func stateSelection(names []string, known ...string) (s stateSet, err error) {
	var whole []string
	keys := fieldSet{}
	for _, n := range names {
		if key, ok := strings.CutPrefix(n, "values."); ok && key != "" {
			keys[key] = true
		} else {
			whole = append(whole, n)
		}
	}
	if s.fieldSet, err = selection(whole, known...); len(keys) > 0 && !s.fieldSet["values"] {
		s.keys = keys
	}
	return s, err
}

// write writes what is wanted of a state.
func (s stateSet) write(e *rawjson.Writer, st adapter.ThreadState) {
	if s.fieldSet == nil && s.keys == nil {
		render.State(e, st)
		return
	}
	var whole rawjson.Writer
	render.State(&whole, st)
	s.pick(e, whole.Bytes)
}

func (s stateSet) pick(e *rawjson.Writer, state []byte) {
	if s.keys == nil {
		s.fieldSet.pick(e, state)
		return
	}
	members, _ := rawjson.Members(state)
	e.Open('{')
	for _, m := range members {
		switch {
		case m.Name == "values":
			s.keys.pick(e.Key("values"), m.Value)
		case s.fieldSet[m.Name]:
			e.Name(m.Name).Raw(m.Value, "null")
		}
	}
	e.Close('}')
}
