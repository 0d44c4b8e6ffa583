package threadrun

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// member is one member of a JSON object, in its place and with its bytes.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf reads an object without losing the order of its members.
func membersOf(data json.RawMessage) ([]member, bool) {
	var list []member
	err := mapping.EachMember(data, func(name string, value json.RawMessage) {
		list = append(list, member{name, value})
	})
	return list, err == nil
}

// objectOf writes members as an object.
func objectOf(list []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(m.name)
		out = append(append(append(out, name...), ':'), m.value...)
	}
	return append(out, '}')
}

func without(list []member, names ...string) []member {
	var rest []member
	for _, m := range list {
		if !slices.Contains(names, m.name) {
			rest = append(rest, m)
		}
	}
	return rest
}

func find(list []member, name string) (json.RawMessage, bool) {
	for _, m := range list {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

func isObject(data json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
}
