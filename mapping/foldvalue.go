package mapping

import "encoding/json"

// value is one top-level value of a state, split one level deep where that
// makes merging and comparing cheap. Exactly one field is set.
type value struct {
	raw  json.RawMessage // scalars, and arrays of very many very small elements
	list *list
	obj  *members // never changed after it was put into a fold
}

// Arrays of more elements than tinyList that are on average smaller than
// tinyElement stay text: split, they would take many times their size.
const (
	tinyList    = 4096
	tinyElement = 16
)

func tooTiny(elements, bytes int) bool {
	return elements > tinyList && bytes/elements < tinyElement
}

// newValue splits a JSON value.
func newValue(b json.RawMessage) (value, error) {
	v, end, ok := readValue(b, skipSpace(b, 0), value{})
	if !ok || skipSpace(b, end) != len(b) {
		return value{}, errBadJSON
	}
	return v, nil
}

func (v value) none() bool { return v.raw == nil && v.list == nil && v.obj == nil }

// asList is the value as a list of messages; anything else counts as empty.
func (v value) asList() *list {
	if v.list == nil {
		return newList(nil)
	}
	return v.list
}

func (v value) length() int {
	switch {
	case v.list != nil:
		return v.list.length()
	case v.obj != nil:
		return v.obj.length()
	default:
		return len(v.raw)
	}
}

func (v value) appendTo(dst []byte) []byte {
	switch {
	case v.list != nil:
		return appendArray(dst, v.list.elems)
	case v.obj != nil:
		return appendObject(dst, v.obj.list)
	default:
		return append(dst, v.raw...)
	}
}

// readValue reads the value at i and returns the index behind it. Where it is
// the same as old, or begins as old does, bytes are compared instead of
// scanned, and memory of old is shared.
func readValue(b []byte, i int, old value) (value, int, bool) {
	if i >= len(b) {
		return value{}, i, false
	}
	switch b[i] {
	case '[':
		return readList(b, i, old)
	case '{':
		return readObject(b, i, old.obj)
	}
	end, ok := scanOrMatch(b, i, old.raw)
	return value{raw: b[i:end:end]}, end, ok
}

// scanOrMatch finds the end of the value at i, at memory speed if it is old.
func scanOrMatch(b []byte, i int, old json.RawMessage) (int, bool) {
	if matches(b, i, old) {
		return i + len(old), true
	}
	return scanValue(b, i, 1)
}

// matches tells whether the value at i is old, which is known to be a value.
// A number goes on where a string or object cannot, hence the look behind it.
func matches(b []byte, i int, old json.RawMessage) bool {
	end := i + len(old)
	if len(old) == 0 || end >= len(b) || string(b[i:end]) != string(old) {
		return false
	}
	return b[end] == ',' || b[end] == ']' || b[end] == '}' || isSpace(b[end])
}

func readList(b []byte, i int, old value) (value, int, bool) {
	var known []json.RawMessage
	if old.list != nil {
		known = old.list.elems
	}
	same, bytes := 0, 0
	var add []json.RawMessage
	end, ok := walkElements(b, i, func(b []byte, i int) (int, bool) {
		if len(add) == 0 && same < len(known) && matches(b, i, known[same]) {
			bytes += len(known[same])
			same++
			return i + len(known[same-1]), true
		}
		end, ok := scanValue(b, i, 1)
		add = append(add, b[i:end:end])
		bytes += end - i
		return end, ok && !tooTiny(same+len(add), bytes)
	})
	switch {
	case !ok && tooTiny(same+len(add), bytes):
		end, ok = scanValue(b, i, 1)
		return value{raw: b[i:end:end]}, end, ok
	case !ok:
		return value{}, end, false
	case old.list == nil:
		return value{list: newList(add)}, end, true
	default:
		return value{list: old.list.cut(same, add)}, end, true
	}
}

// readObject keeps the order that old has; new members come behind. It returns
// old itself when nothing changed, so that the new text can be forgotten.
func readObject(b []byte, i int, old *members) (value, int, bool) {
	if old == nil {
		old = &members{}
	}
	obj, gone, changed := old.clone(), old.keys(), len(old.list) == 0
	end, ok := walkMembers(b, i, func(b []byte, i int, name []byte) (int, bool) {
		key := unquote(name)
		known := obj.get(key)
		end, ok := scanOrMatch(b, i, known)
		if delete(gone, key); known == nil || string(known) != string(b[i:end]) {
			obj.put(member{key, name, b[i:end:end]})
			changed = true
		}
		return end, ok
	})
	if ok && !changed && len(gone) == 0 {
		return value{obj: old}, end, true
	}
	obj.drop(gone)
	return value{obj: obj}, end, ok
}
