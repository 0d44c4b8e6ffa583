package face

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
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
func (set fieldSet) pick(e *enc, object []byte) {
	if set == nil {
		e.raw(object, "{}")
		return
	}
	members, _ := splitObject(object)
	e.open('{')
	for _, m := range members {
		if set[m.Name] {
			e.anyKey(m.Name).raw(json.RawMessage(m.Value), "null")
		}
	}
	e.close('}')
}
