package mapping

import "encoding/json"

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
	err = eachMember(b, func(m member) {
		if m.key == name {
			value = m.val
		}
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
	if isNull(b) {
		return rawObject(name, value), nil
	}
	w := objectWriter{buf: make([]byte, 0, len(b)+len(name)+len(value)+4)}
	written := false
	err := walkObject(b, func(b []byte, i int, key []byte) (int, bool) {
		end, ok := scanValue(b, i, 1)
		switch {
		case !ok:
		case !nameIs(key, name):
			w.spliced(key)
			w.buf = append(w.buf, b[i:end]...)
		case !written: // a second one of that name goes
			w.raw(name, value)
			written = true
		}
		return end, ok
	})
	if err != nil {
		return nil, err
	}
	if !written {
		w.raw(name, value)
	}
	return w.done(), nil
}
