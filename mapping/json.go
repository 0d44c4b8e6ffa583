package mapping

import (
	"encoding/json"
	"slices"
)

// ValidJSON tells whether b is one JSON value (RFC 8259), nested less than
// 10,000 deep. It allocates nothing.
func ValidJSON(b []byte) bool { return validJSON(b) }

// EachMember calls visit for every member of an object in the order of the
// text, names that stand there twice included; the values are parts of b. An
// error says that b is not one object; visit may have been called by then.
func EachMember(b json.RawMessage, visit func(name string, value json.RawMessage)) error {
	return eachMember(b, func(m member) { visit(m.key, m.val) })
}

// Member is the value of a member of an object, the last one where a name stands
// there twice; nil where there is none or it is null, and where b is null.
func Member(b json.RawMessage, name string) (value json.RawMessage, err error) {
	if isNull(b) {
		return nil, nil
	}
	err = walkObject(b, func(b []byte, i int, key []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if ok && nameIs(key, name) {
			value = b[i:end:end]
		}
		return end, ok
	})
	if isNull(value) {
		value = nil
	}
	return value, err
}

// WithMember is an object with a member set, in the place of one of that name or
// behind the others; null counts as an empty object. An error says that b is not one
// object.
func WithMember(b json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	return WithMembers(b, NewMember{name, value})
}

// NewMember is a member to be set.
type NewMember struct {
	Name  string
	Value json.RawMessage
}

// WithMembers is WithMember for several, of different names, in one copy of the object.
func WithMembers(b json.RawMessage, set ...NewMember) (json.RawMessage, error) {
	size := len(b) + 2
	for _, m := range set {
		size += len(m.Name) + len(m.Value) + 4
	}
	w, written := objectWriter{buf: make([]byte, 0, size)}, make([]bool, len(set))
	put := func(i int) {
		if !written[i] { // a second one of that name goes
			w.raw(set[i].Name, set[i].Value)
			written[i] = true
		}
	}
	if !isNull(b) {
		if err := walkObject(b, func(b []byte, i int, key []byte) (int, bool) {
			end, ok := scanValue(b, i, 1)
			at := slices.IndexFunc(set, func(m NewMember) bool { return nameIs(key, m.Name) })
			switch {
			case ok && at >= 0:
				put(at)
			case ok:
				w.spliced(key)
				w.buf = append(w.buf, b[i:end]...)
			}
			return end, ok
		}); err != nil {
			return nil, err
		}
	}
	for i := range set {
		put(i)
	}
	return w.done(), nil
}

// Elements counts the elements of an array; 0 of what is none. It allocates nothing.
func Elements(b json.RawMessage) (n int) {
	if kindOf(b) != '[' {
		return 0
	}
	_ = walkArray(b, func(b []byte, i int) (int, bool) {
		n++
		return scanValue(b, i, 1)
	})
	return n
}

// Members counts the members of an object; 0 of what is none. It allocates nothing.
func Members(b json.RawMessage) (n int) {
	if kindOf(b) != '{' {
		return 0
	}
	_ = walkObject(b, func(b []byte, i int, _ []byte) (int, bool) {
		n++
		return scanValue(b, i, 1)
	})
	return n
}
