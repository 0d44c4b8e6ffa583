package rawjson

import (
	"encoding/json"
	"slices"
)

// WithMember returns an object with a member set: an existing member is replaced in its place, a new one is appended.
// null counts as an empty object. It fails if b is not exactly one object.
func WithMember(b json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	return WithMembers(b, Member{Name: name, Value: value})
}

// WithMembers is WithMember for several members with different names, in one copy of the object. A nil value removes
// the member.
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

// PiecesAround is PiecesWith for one member whose value is itself in pieces.
func PiecesAround(b json.RawMessage, name string, value Pieces) (Pieces, error) {
	e := memberEdit{b: b, set: []Member{{Name: name, Value: json.RawMessage("{}")}}, inner: &value}
	return e.apply()
}

// memberEdit sets members of an object. Consecutive unchanged members are one piece, b[from:to].
type memberEdit struct {
	b        []byte
	set      []Member
	inner    *Pieces // the value of the new member, if it is in pieces
	written  []bool
	out      Pieces
	some     bool // a member was written
	from, to int
	behind   int // the end of the previous member
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

// atMost returns the maximum number of pieces, if the names of the object are unique: two for each new member, the
// unchanged members before, between and after them with a comma each, and two braces.
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

// member keeps an existing member, or replaces it.
func (e *memberEdit) member(b []byte, i int, name Quoted) (int, bool) {
	start := SkipSpace(b, SkipSpace(b, e.behind)+1) // index of the name, after a brace or comma
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

// keep writes the unchanged members.
func (e *memberEdit) keep() {
	if e.from < e.to {
		e.out.Raw(e.separator()).Raw(e.b[e.from:e.to:e.to])
	}
	e.from, e.to = 0, 0
}

// put writes a new member. Duplicates of its name are dropped.
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

// named returns the text before the value of a new member.
func (e *memberEdit) named(m *Member) []byte {
	name := m.spelled()
	b := append(make([]byte, 0, len(name)+2), e.separator()...)
	return append(append(b, name...), ':')
}

// Pieces that need no allocation.
var (
	openBrace  = []byte("{")
	closeBrace = []byte("}")
	comma      = []byte(",")
)

// separator returns the text before the next member.
func (e *memberEdit) separator() []byte {
	if e.some {
		return comma
	}
	e.some = true
	return openBrace
}

// Without returns an object without the named members. null counts as an empty object. Errors are those of EachMember.
func Without(b json.RawMessage, names ...string) (json.RawMessage, error) {
	w := Writer{Bytes: make([]byte, 0, len(b))}
	err := w.Open('{').Without(b, names...)
	return w.Close('}').Bytes, err
}

// Without writes the members of an object except the named ones. null has none. Errors are those of EachMember.
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

// WithoutNulls returns an object without the members that are null, or the same bytes if there are none. null counts as
// an empty object. Errors are those of EachMember.
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
