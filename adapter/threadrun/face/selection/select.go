package selection

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Set is the select option: the requested keys of each object. nil selects all.
type Set map[string]bool

// Of returns the set of names, which must all be known.
func Of(names []string, known ...string) (Set, error) {
	if len(names) == 0 {
		return nil, nil
	}
	set := Set{}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "select contains the unknown field %q.", n)
		}
		set[n] = true
	}
	return set, nil
}

// Pick writes an object with only the selected members.
func (set Set) Pick(e *rawjson.Writer, object []byte) {
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

// State is the select option of a thread's state. It selects members of the state, and single keys of its values as
// values.KEY. Source: ThreadStateSelectField of the LangGraph SDKs.
type State struct {
	Set
	keys Set // nil: all values are selected, or none
}

// OfState returns the selection of names, which must be known or have the form values.KEY.
func OfState(names []string, known ...string) (s State, err error) {
	var whole []string
	keys := Set{}
	for _, n := range names {
		if key, ok := strings.CutPrefix(n, "values."); ok && key != "" {
			keys[key] = true
		} else {
			whole = append(whole, n)
		}
	}
	if s.Set, err = Of(whole, known...); len(keys) > 0 && !s.Set["values"] {
		s.keys = keys
	}
	return s, err
}

// Write writes the selected members of a state.
func (s State) Write(e *rawjson.Writer, st adapter.ThreadState) {
	if s.Set == nil && s.keys == nil {
		render.State(e, st)
		return
	}
	var whole rawjson.Writer
	render.State(&whole, st)
	s.Pick(e, whole.Bytes)
}

// Has reports whether a member of a state is selected.
func (s State) Has(name string) bool { return s.Set == nil && s.keys == nil || s.Set[name] }

// Pick writes the selected members of an encoded state.
func (s State) Pick(e *rawjson.Writer, state []byte) {
	if s.keys == nil {
		s.Set.Pick(e, state)
		return
	}
	members, _ := rawjson.Members(state)
	e.Open('{')
	for _, m := range members {
		switch {
		case m.Name == "values":
			s.keys.Pick(e.Key("values"), m.Value)
		case s.Set[m.Name]:
			e.Name(m.Name).Raw(m.Value, "null")
		}
	}
	e.Close('}')
}
