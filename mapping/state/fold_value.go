package state

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// value is a top-level value of a state, split one level deep if that makes merging and comparing cheap. Exactly one
// field is set.
type value struct {
	raw  json.RawMessage // scalars, and arrays and objects with very many tiny elements
	list *list
	obj  *rawjson.Object // immutable after it was added to a fold
}

// Arrays and objects with more elements than tinyList and a smaller average size than this stay text, because split
// they would need many times their size.
const (
	tinyList    = 4096
	tinyElement = 16 // of an array
	tinyMember  = 32 // of an object, its name included
)

func tooTiny(elements, bytes int) bool {
	return elements > tinyList && bytes/elements < tinyElement
}

// tinyMembers is tooTiny for an object.
func tinyMembers(o *rawjson.Object) bool {
	n := o.Len()
	return n > tinyList && (o.Size()-n-1)/n < tinyMember // without brackets and commas
}

// newValue splits a JSON value.
func newValue(b json.RawMessage) (value, error) {
	v, end, ok := readValue(b, rawjson.SkipSpace(b, 0), value{})
	if !ok || rawjson.SkipSpace(b, end) != len(b) {
		return value{}, rawjson.ErrSyntax
	}
	return v, nil
}

func (v value) none() bool { return v.raw == nil && v.list == nil && v.obj == nil }

// asList returns the value as a list of messages. Anything else counts as empty.
func (v value) asList() *list {
	if v.list == nil {
		return newList(nil)
	}
	return v.list
}

// object returns the value as an object, or nil.
func (v value) object() *rawjson.Object {
	if v.obj != nil || rawjson.Kind(v.raw) != '{' {
		return v.obj
	}
	obj := &rawjson.Object{}
	_ = obj.PutAll(v.raw)
	return obj
}

func (v value) length() int {
	switch {
	case v.list != nil:
		return v.list.length()
	case v.obj != nil:
		return v.obj.Size()
	default:
		return len(v.raw)
	}
}

func (v value) writeTo(w *rawjson.Writer) {
	switch {
	case v.list != nil:
		w.Array(v.list.elems)
	case v.obj != nil:
		w.Object(v.obj.Members())
	default:
		w.Raw(v.raw, "null")
	}
}

func (v value) json() json.RawMessage {
	w := rawjson.Writer{Bytes: make([]byte, 0, v.length())}
	v.writeTo(&w)
	return w.Bytes
}

// pieces yields the value's text in parts, and reports whether more is wanted.
func (v value) pieces(yield func([]byte) bool) bool {
	switch {
	case v.obj != nil:
		return yield(v.json())
	case v.list == nil:
		return yield(v.raw)
	}
	if !yield([]byte("[")) {
		return false
	}
	comma := []byte(",")
	for i, e := range v.list.elems {
		if i > 0 && !yield(comma) || !yield(e) {
			return false
		}
	}
	return yield([]byte("]"))
}

// readValue reads the value at i and returns the index after it. Parts that equal old are compared instead of scanned,
// and share its memory.
func readValue(b []byte, i int, old value) (value, int, bool) {
	if i >= len(b) {
		return value{}, i, false
	}
	switch b[i] {
	case '[':
		return readList(b, i, old)
	case '{':
		return readObject(b, i, old)
	}
	end, ok := scanOrMatch(b, i, old.raw)
	return value{raw: b[i:end:end]}, end, ok
}

// scanOrMatch finds the end of the value at i, at memory speed if it equals old.
func scanOrMatch(b []byte, i int, old json.RawMessage) (int, bool) {
	if matches(b, i, old) {
		return i + len(old), true
	}
	return rawjson.Scan(b, i)
}

// matches reports whether the value at i equals old, which is a valid value. It also checks the next byte, because a
// number may continue there.
func matches(b []byte, i int, old json.RawMessage) bool {
	end := i + len(old)
	if len(old) == 0 || end >= len(b) || string(b[i:end]) != string(old) {
		return false
	}
	return b[end] == ',' || b[end] == ']' || b[end] == '}' || rawjson.IsSpace(b[end])
}

func readList(b []byte, i int, old value) (value, int, bool) {
	var known []json.RawMessage
	if old.list != nil {
		known = old.list.elems
	}
	same, bytes := 0, 0
	var add []json.RawMessage
	end, ok := rawjson.ScanArray(b, i, func(b []byte, i int) (int, bool) {
		if len(add) == 0 && same < len(known) && matches(b, i, known[same]) {
			bytes += len(known[same])
			same++
			return i + len(known[same-1]), true
		}
		end, ok := rawjson.Scan(b, i)
		add = append(add, b[i:end:end])
		bytes += end - i
		return end, ok && !tooTiny(same+len(add), bytes)
	})
	switch {
	case !ok && tooTiny(same+len(add), bytes):
		end, ok = rawjson.Scan(b, i)
		return value{raw: b[i:end:end]}, end, ok
	case !ok:
		return value{}, end, false
	case old.list == nil:
		return value{list: newList(add)}, end, true
	default:
		return value{list: old.list.cut(same, add)}, end, true
	}
}

// readObject keeps the order of old and puts new members last. It returns old itself if nothing changed, so that the
// new text can be freed.
func readObject(b []byte, i int, old value) (value, int, bool) {
	if old.obj == nil {
		return readNewObject(b, i, old.raw)
	}
	r := objectReader{old: old.obj, obj: old.obj, kept: make([]bool, old.obj.Len()), gone: old.obj.Len()}
	end, ok := rawjson.ScanObject(b, i, r.readMember)
	switch {
	case !ok && tinyMembers(r.obj):
		end, ok = rawjson.Scan(b, i)
		return value{raw: b[i:end:end]}, end, ok
	case !ok:
		return value{}, end, false
	}
	return value{obj: r.object()}, end, true
}

// objectReader reads an object whose old value was also an object.
type objectReader struct {
	old, obj *rawjson.Object // identical until the first change
	kept     []bool          // whether each member of old was read
	gone     int             // number of members of old that were not read
}

func (r *objectReader) readMember(b []byte, i int, name rawjson.Quoted) (int, bool) {
	key := name.Text()
	at := r.obj.Find(key)
	var known json.RawMessage
	if at >= 0 {
		known = r.obj.Members()[at].Value
	}
	end, ok := scanOrMatch(b, i, known)
	if !ok {
		return end, false
	}
	if at >= 0 && at < len(r.kept) && !r.kept[at] {
		r.kept[at] = true
		r.gone--
	}
	if at < 0 || string(known) != string(b[i:end]) {
		if r.obj == r.old {
			r.obj = r.old.Clone()
		}
		r.obj.Put(rawjson.Member{Name: key, Quoted: name, Value: b[i:end:end]})
	}
	return end, !tinyMembers(r.obj)
}

func (r *objectReader) object() *rawjson.Object {
	if r.gone == 0 {
		return r.obj
	}
	if r.obj == r.old {
		r.obj = r.old.Clone()
	}
	r.obj.Keep(func(i int) bool { return i >= len(r.kept) || r.kept[i] })
	return r.obj
}

// readNewObject reads an object whose old value was none or unsplit text (known).
func readNewObject(b []byte, i int, known json.RawMessage) (value, int, bool) {
	if matches(b, i, known) {
		end := i + len(known)
		return value{raw: known}, end, true
	}
	obj := &rawjson.Object{}
	end, ok := rawjson.ScanObject(b, i, func(b []byte, i int, name rawjson.Quoted) (int, bool) {
		end, ok := rawjson.Scan(b, i)
		if ok {
			obj.Put(rawjson.Member{Name: name.Text(), Quoted: name, Value: b[i:end:end]})
		}
		return end, ok && !tinyMembers(obj)
	})
	if !ok && tinyMembers(obj) {
		end, ok = rawjson.Scan(b, i)
		return value{raw: b[i:end:end]}, end, ok
	}
	return value{obj: obj}, end, ok
}
