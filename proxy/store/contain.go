package store

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// containing makes the filter of a metadata search: nil when all pass.
func containing(want json.RawMessage) func(json.RawMessage) bool {
	if len(want) == 0 || string(want) == "{}" || string(want) == "null" {
		return nil
	}
	wanted := loose(want)
	return func(doc json.RawMessage) bool { return contains(loose(doc), wanted) }
}

// contains: objects by containment, all else by equality.
func contains(doc, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(doc, want)
	}
	d, ok := doc.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		if have, ok := d[k]; !ok || !contains(have, v) {
			return false
		}
	}
	return true
}

func loose(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}
