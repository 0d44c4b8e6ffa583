package mapping

import (
	"encoding/json"
	"slices"
)

// MergeConfig is base, the config of an assistant, with what a request for a run
// says over it: member by member, those of configurable one by one; null says
// nothing. Either may be nil or null; the result is nil when both are.
func MergeConfig(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "configurable")
}

// MergeContext is the same for context, which has no parts of its own.
func MergeContext(base, over json.RawMessage) (json.RawMessage, error) {
	return mergeOver(base, over, "")
}

// mergeOver puts the members of over into base; the one called deep is merged
// itself, where both have it.
func mergeOver(base, over json.RawMessage, deep string) (json.RawMessage, error) {
	if isNull(base) && isNull(over) {
		return nil, nil
	}
	if len(base)+len(over) > manyBytes {
		if merged, ok := mergeFewOver(base, over, deep); ok {
			return merged, nil
		}
	}
	var o members
	var failed error
	put := func(m member) {
		if isNull(m.val) {
			return
		}
		if was := o.get(m.key); m.key == deep && was != nil {
			if m.val, failed = MergeMetadata(was, m.val); failed != nil {
				return
			}
		}
		o.put(m)
	}
	for _, from := range [...]json.RawMessage{base, over} {
		if isNull(from) {
			continue
		}
		if err := eachMember(from, put); err != nil || failed != nil {
			return nil, invalid("config, its configurable and context must be objects")
		}
	}
	return joinObject(o.list), nil
}

// mergeFewOver is mergeOver where the assistant says little, in one copy and without a
// table of what the request says; false where it says much, or something is no object.
func mergeFewOver(base, over json.RawMessage, deep string) (json.RawMessage, bool) {
	set, err := fewMembers(base)
	if err != nil {
		return nil, false
	}
	set = slices.DeleteFunc(set, func(m NewMember) bool { return isNull(m.Value) })
	for i, m := range set {
		said := lookup(over, m.Name)
		if m.Name == deep && !isNull(said) {
			if said, err = MergeMetadata(m.Value, said); err != nil {
				return nil, false
			}
		}
		if !isNull(said) {
			set[i].Value = said
		}
	}
	spoken, err := withoutNulls(over)
	if err != nil {
		return nil, false
	}
	if len(set) == 0 {
		return spoken, true
	}
	merged, err := withFirst(set, spoken)
	return merged, err == nil
}

// withoutNulls is an object without the members that are null: itself, where it has none.
func withoutNulls(b json.RawMessage) (json.RawMessage, error) {
	w, null := objectWriter{}, false
	if isNull(b) {
		return w.done(), nil
	}
	drop := func(b []byte, i int, name []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if null = null || isNull(b[i:end]); w.buf != nil && ok && !isNull(b[i:end]) {
			w.spliced(name)
			w.buf = append(w.buf, b[i:end]...)
		}
		return end, ok
	}
	if err := walkObject(b, drop); err != nil || !null {
		return trimJSON(b), err
	}
	w.buf = make([]byte, 0, len(b))
	err := walkObject(b, drop)
	return w.done(), err
}
