package backend

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// membersOf reads an object in the order of its members.
func membersOf(data json.RawMessage) ([]rawjson.Member, bool) {
	list, err := rawjson.Members(data)
	return list, err == nil
}

// objectOf writes members as an object.
func objectOf(list []rawjson.Member) json.RawMessage {
	return new(rawjson.Writer).Object(list).Bytes
}

func without(list []rawjson.Member, names ...string) []rawjson.Member {
	var rest []rawjson.Member
	for _, m := range list {
		if !slices.Contains(names, m.Name) {
			rest = append(rest, m)
		}
	}
	return rest
}

func find(list []rawjson.Member, name string) (json.RawMessage, bool) {
	for _, m := range list {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// object returns the members of a JSON object, or nil if raw is not an object. The values are slices of raw.
func object(raw json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if rawjson.EachMember(raw, func(name rawjson.Quoted, value json.RawMessage) { m[name.Text()] = slices.Clip(value) }) != nil {
		return nil
	}
	return m
}

// textOf writes an object with sorted names. Unlike encoding/json, it does not validate the values again.
func textOf(m map[string]json.RawMessage) json.RawMessage {
	var w rawjson.Writer
	w.Open('{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w.Name(name).Raw(m[name], "null")
	}
	return w.Close('}').Bytes
}
