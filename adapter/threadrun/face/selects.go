package face

import (
	"encoding/json"

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
		if !oneOf(n, known) {
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
