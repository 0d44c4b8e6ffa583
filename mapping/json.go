package mapping

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
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

// EachElement calls visit for every element of an array, which are parts of b. An error
// says that b is not one array; visit may have been called by then.
func EachElement(b json.RawMessage, visit func(element json.RawMessage)) error {
	return walkArray(b, func(b []byte, i int) (int, bool) {
		end, ok := scanValue(b, i, 1)
		if ok {
			visit(b[i:end:end])
		}
		return end, ok
	})
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

// Sent is the value of a member of an object, null included, the last one where a name
// stands there twice; nil where there is none, and of what is no object.
func Sent(b json.RawMessage, name string) json.RawMessage { return lookup(b, name) }

// WithMember is an object with a member set, in the place of one of that name or
// behind the others; null counts as an empty object. An error says that b is not one
// object.
func WithMember(b json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	return WithMembers(b, NewMember{name, value})
}

// NewMember is a member to be set; a nil value removes it.
type NewMember struct {
	Name  string
	Value json.RawMessage
}

// WithMembers is WithMember for several, of different names, in one copy of the object.
func WithMembers(b json.RawMessage, set ...NewMember) (json.RawMessage, error) {
	p, err := PiecesWith(b, set...)
	if err != nil {
		return nil, err
	}
	return p.Join(), nil
}

// PiecesWith is WithMembers without a copy: the result shares the bytes of the object and
// of the values.
func PiecesWith(b json.RawMessage, set ...NewMember) (rawjson.Pieces, error) {
	e := memberEdit{b: b, set: set}
	return e.apply()
}

// PiecesAround is PiecesWith for one member, whose value is in pieces itself.
func PiecesAround(b json.RawMessage, name string, value rawjson.Pieces) (rawjson.Pieces, error) {
	e := memberEdit{b: b, set: []NewMember{{name, json.RawMessage("{}")}}, inner: &value}
	return e.apply()
}

// memberEdit sets members of an object. Members that follow each other and stay are one
// piece, b[from:to].
type memberEdit struct {
	b        []byte
	set      []NewMember
	inner    *rawjson.Pieces // the value of the one that is set, in place of its own; nil: none
	written  []bool
	out      rawjson.Pieces
	some     bool // a member was written
	from, to int
	behind   int // the end of the member before
}

func (e *memberEdit) apply() (rawjson.Pieces, error) {
	e.written = make([]bool, len(e.set))
	if !isNull(e.b) {
		if err := walkObject(e.b, e.member); err != nil {
			return rawjson.Pieces{}, err
		}
		e.keep()
	}
	for i := range e.set {
		e.put(i)
	}
	if !e.some {
		e.out.Literal("{")
	}
	return *e.out.Literal("}"), nil
}

// member keeps one of the object's own, or puts the new one in its place.
func (e *memberEdit) member(b []byte, i int, name []byte) (int, bool) {
	start := skipSpace(b, skipSpace(b, e.behind)+1) // of the name, behind a brace or comma
	end, ok := scanValue(b, i, 1)
	e.behind = end
	at := slices.IndexFunc(e.set, func(m NewMember) bool { return nameIs(name, m.Name) })
	switch {
	case !ok:
	case at >= 0:
		e.keep()
		e.put(at)
	case e.from == e.to:
		e.from, e.to = start, end
	default:
		e.to = end
	}
	return end, ok
}

// keep writes what stays as it is.
func (e *memberEdit) keep() {
	if e.from < e.to {
		e.separate()
		e.out.Raw(e.b[e.from:e.to:e.to])
	}
	e.from, e.to = 0, 0
}

// put writes a new member; a second one of that name goes.
func (e *memberEdit) put(i int) {
	if e.written[i] {
		return
	}
	e.written[i] = true
	if e.set[i].Value == nil {
		return
	}
	e.separate()
	e.out.Raw(quoted(e.set[i].Name)).Literal(":")
	if e.inner != nil {
		e.out.Pieces(*e.inner)
		return
	}
	e.out.Raw(e.set[i].Value)
}

func (e *memberEdit) separate() {
	if e.some {
		e.out.Literal(",")
	} else {
		e.out.Literal("{")
	}
	e.some = true
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
