package rawjson

import (
	"encoding/json"
	"slices"
)

// WithMember returns an object with a member set, in the place of one of that name or after the others; null counts as
// an empty object. It fails where b is not one object.
func WithMember(b json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	return WithMembers(b, Member{Name: name, Value: value})
}

// WithMembers is WithMember for several, of different names, in one copy of the object. A nil value removes the member.
func WithMembers(b json.RawMessage, set ...Member) (json.RawMessage, error) {
	p, err := PiecesWith(b, set...)
	if err != nil {
		return nil, err
	}
	return p.Join(), nil
}

// PiecesWith is WithMembers without a copy: the result shares the bytes of the object and of the values.
func PiecesWith(b json.RawMessage, set ...Member) (Pieces, error) {
	e := memberEdit{b: b, set: set}
	return e.apply()
}

// PiecesAround is PiecesWith for one member, whose value is in pieces itself.
func PiecesAround(b json.RawMessage, name string, value Pieces) (Pieces, error) {
	e := memberEdit{b: b, set: []Member{{Name: name, Value: json.RawMessage("{}")}}, inner: &value}
	return e.apply()
}

// memberEdit sets members of an object. Members that follow each other and stay are one piece, b[from:to].
type memberEdit struct {
	b        []byte
	set      []Member
	inner    *Pieces // the value of the one that is set, in place of its own; nil: none
	written  []bool
	out      Pieces
	some     bool // a member was written
	from, to int
	behind   int // the end of the member before
}

func (e *memberEdit) apply() (Pieces, error) {
	e.written = make([]bool, len(e.set))
	e.out.list = make([]piece, 0, e.atMost())
	if !IsNull(e.b) {
		if err := WalkObject(e.b, e.member); err != nil {
			return Pieces{}, err
		}
		e.keep()
	}
	for i := range e.set {
		e.put(i)
	}
	if !e.some {
		e.out.Raw(openBrace)
	}
	return *e.out.Raw(closeBrace), nil
}

// atMost is how many pieces there are unless the object has several members of one name: two for each member that is
// set, what stays before, between and after them with a comma each, and two braces.
func (e *memberEdit) atMost() int {
	n := 2*len(e.set) + 2
	if e.inner != nil {
		n += len(e.inner.list)
	}
	if len(e.b) > 0 {
		n += 2 * (len(e.set) + 1)
	}
	return n
}

// member keeps one of the object's own, or puts the new one in its place.
func (e *memberEdit) member(b []byte, i int, name Quoted) (int, bool) {
	start := SkipSpace(b, SkipSpace(b, e.behind)+1) // of the name, after a brace or comma
	end, ok := Scan(b, i)
	e.behind = end
	at := slices.IndexFunc(e.set, func(m Member) bool { return name.Is(m.Name) })
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
		e.out.Raw(e.separator()).Raw(e.b[e.from:e.to:e.to])
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
	e.out.Raw(e.named(&e.set[i]))
	if e.inner != nil {
		e.out.Pieces(*e.inner)
		return
	}
	e.out.Raw(e.set[i].Value)
}

// named is what stands in front of the value of a new member.
func (e *memberEdit) named(m *Member) []byte {
	name := m.spelled()
	b := append(make([]byte, 0, len(name)+2), e.separator()...)
	return append(append(b, name...), ':')
}

// Pieces that need no memory of their own.
var (
	openBrace  = []byte("{")
	closeBrace = []byte("}")
	comma      = []byte(",")
)

// separator is what stands in front of the next member.
func (e *memberEdit) separator() []byte {
	if e.some {
		return comma
	}
	e.some = true
	return openBrace
}

// Without returns an object without the named members; null counts as an empty one. Errors are those of EachMember.
func Without(b json.RawMessage, names ...string) (json.RawMessage, error) {
	w := Writer{Bytes: make([]byte, 0, len(b))}
	err := w.Open('{').Without(b, names...)
	return w.Close('}').Bytes, err
}

// Without writes the members of an object but the named ones; null has none. Errors are those of EachMember.
func (w *Writer) Without(b json.RawMessage, names ...string) error {
	if IsNull(b) {
		return nil
	}
	return EachMember(b, func(name Quoted, value json.RawMessage) {
		if !slices.ContainsFunc(names, name.Is) {
			w.Spliced(name).Raw(value, "null")
		}
	})
}

// WithoutNulls returns an object without the members that are null: the same text where it has none. null counts as an
// empty object. Errors are those of EachMember.
func WithoutNulls(b json.RawMessage) (json.RawMessage, error) {
	if IsNull(b) {
		return json.RawMessage("{}"), nil
	}
	null := false
	err := EachMember(b, func(_ Quoted, value json.RawMessage) { null = null || IsNull(value) })
	if err != nil || !null {
		return Trim(b), err
	}
	w := Writer{Bytes: make([]byte, 0, len(b))}
	w.Open('{')
	err = EachMember(b, func(name Quoted, value json.RawMessage) {
		if !IsNull(value) {
			w.Spliced(name).Raw(value, "null")
		}
	})
	return w.Close('}').Bytes, err
}
