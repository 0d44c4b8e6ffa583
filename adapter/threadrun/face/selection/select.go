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

// Set is the select option: the keys of each object that are wanted; nil wants all.
type Set map[string]bool

// Of reads a list of names, all of which must be known.
func Of(names []string, known ...string) (Set, error) {
	if len(names) == 0 {
		return nil, nil
	}
	set := Set{}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "select names the unknown field %q.", n)
		}
		set[n] = true
	}
	return set, nil
}

// Pick writes an object with only the members of it that are wanted.
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

// State is the select option of a thread's state: members of it, and single keys of its values as values.KEY. Source:
// ThreadStateSelectField of the LangGraph SDKs.
type State struct {
	Set
	keys Set // nil: the values are wanted whole, or not at all
}

// OfState reads a list of names, which must be known or values.KEY.
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

// Write writes what is wanted of a state.
func (s State) Write(e *rawjson.Writer, st adapter.ThreadState) {
	if s.Set == nil && s.keys == nil {
		render.State(e, st)
		return
	}
	var whole rawjson.Writer
	render.State(&whole, st)
	s.Pick(e, whole.Bytes)
}

// Has reports whether a member of a state is wanted.
func (s State) Has(name string) bool { return s.Set == nil && s.keys == nil || s.Set[name] }

// Pick writes what is wanted of a state that is JSON already.
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
