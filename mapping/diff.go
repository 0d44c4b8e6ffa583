package mapping

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// A Diff is the change from one state to the next as a JSON object; parts that
// would be empty are left out:
//
//	{"del":   ["k", …],                            top-level keys that are gone
//	 "set":   {"k": value, …},                     new keys and replaced values
//	 "list":  {"k": {"keep": n, "add": [e, …]}},   array: its first n elements, then these
//	 "merge": {"k": {"del": ["m"], "set": {"m": value}}}}  object: one level deep
//
// A key set to null and a key that is gone are different things. Keys that
// stay keep their place, new ones come behind in the order they are given in;
// the same holds for the members of merged objects.

// DiffTo returns the encoded difference from f to the full state, and the fold
// of that state. Top-level keys are compared as bytes, arrays by their common
// prefix, objects one level deep. A nil diff means that nothing changed. The
// cost is that of comparing what is equal and scanning what is not. The bytes
// of full are kept, not copied. The open question stays.
func (f *Fold) DiffTo(full json.RawMessage) (diff json.RawMessage, next *Fold, err error) {
	e, gone, err := f.become(full)
	if err != nil {
		return nil, nil, err
	}
	if diff = writeDiff(f, e, gone); diff == nil {
		return nil, f, nil
	}
	return diff, e.fold(f.asks), nil
}

// DiffToReduced is DiffTo of a state that Reduce has made of f. It costs what the
// reduction changed: what both folds share is not read.
func (f *Fold) DiffToReduced(reduced *Fold) (diff json.RawMessage, next *Fold) {
	e, old := reduced.edit(), f.edit()
	for i := range e.fields {
		fd := &e.fields[i]
		if was := old.get(fd.key).obj; was != nil && fd.val.obj != nil && was != fd.val.obj {
			fd.val.obj = fd.val.obj.inOrderOf(was) // as it is when the difference was applied
		}
	}
	if diff = writeDiff(f, e, nil); diff == nil { // Reduce takes no top-level keys away
		return nil, f
	}
	return diff, e.fold(reduced.asks)
}

// inOrderOf is the object with the members that another has too in that one's order,
// before all others.
func (o *members) inOrderOf(other *members) *members {
	ordered := &members{list: make([]member, 0, len(o.list))}
	for _, m := range other.list {
		if i := o.find(m.key); i >= 0 {
			ordered.put(member{m.key, m.name, o.list[i].val})
		}
	}
	for _, m := range o.list {
		ordered.put(m)
	}
	return ordered
}

// become edits f into the full state; gone are the keys it lost.
func (f *Fold) become(full json.RawMessage) (e *edit, gone map[string]bool, err error) {
	if isNull(full) {
		full = json.RawMessage("{}")
	}
	e, gone = f.edit(), make(map[string]bool, len(f.fields))
	was := sync.OnceValue(f.edit)
	for i := range f.fields {
		gone[f.fields[i].key] = true
	}
	err = walkObject(full, func(b []byte, i int, name []byte) (int, bool) {
		key := unquote(name)
		old := e.get(key)
		if !gone[key] { // new, or there twice: the later one counts, and is compared with what the state had
			old = was().get(key)
		}
		val, end, ok := readValue(b, i, old)
		if ok {
			e.put(field{key, name, val})
			delete(gone, key)
		}
		return end, ok
	})
	if err != nil {
		return nil, nil, stateError(err)
	}
	e.drop(gone)
	return e, gone, nil
}

func writeDiff(f *Fold, e *edit, gone map[string]bool) json.RawMessage {
	var out, set, list, merge objectWriter
	old := f.edit()
	for _, fd := range e.fields {
		writeChange(old.get(fd.key), fd, &set, &list, &merge)
	}
	if len(gone) > 0 {
		out.name("del")
		out.buf = appendNames(out.buf, f.fields, gone)
	}
	for _, part := range []struct {
		name string
		w    *objectWriter
	}{{"set", &set}, {"list", &list}, {"merge", &merge}} {
		if len(part.w.buf) > 0 {
			out.raw(part.name, part.w.done())
		}
	}
	if len(out.buf) == 0 {
		return nil
	}
	return out.done()
}

func appendNames(dst []byte, fields []field, gone map[string]bool) []byte {
	dst = append(dst, '[')
	for _, fd := range fields {
		if gone[fd.key] {
			dst = append(append(dst, fd.name...), ',')
		}
	}
	dst[len(dst)-1] = ']'
	return dst
}

// writeChange writes how one field came to its value.
func writeChange(old value, fd field, set, list, merge *objectWriter) {
	switch now := fd.val; {
	case old.list != nil && now.list != nil:
		keep := commonPrefix(old.list.elems, now.list.elems)
		switch {
		case keep == len(old.list.elems) && keep == len(now.list.elems):
		case keep == 0:
			setField(set, fd)
		default:
			list.spliced(fd.name)
			list.buf = appendListChange(list.buf, keep, now.list.elems[keep:])
		}
	case old.obj != nil && now.obj != nil:
		change := objectChange(old.obj, now.obj)
		switch {
		case change == nil:
		case len(change) >= now.length():
			setField(set, fd)
		default:
			merge.spliced(fd.name)
			merge.buf = append(merge.buf, change...)
		}
	case old.none() || now.raw == nil || string(old.raw) != string(now.raw):
		setField(set, fd)
	}
}

func setField(set *objectWriter, fd field) {
	set.buf = slices.Grow(set.buf, len(fd.name)+fd.val.length()+3)
	set.spliced(fd.name)
	set.buf = fd.val.appendTo(set.buf)
}

func appendListChange(dst []byte, keep int, add []json.RawMessage) []byte {
	dst = strconv.AppendInt(append(dst, `{"keep":`...), int64(keep), 10)
	if len(add) > 0 {
		dst = appendArray(append(dst, `,"add":`...), add)
	}
	return append(dst, '}')
}

func commonPrefix(a, b []json.RawMessage) int {
	n := 0
	for n < len(a) && n < len(b) && string(a[n]) == string(b[n]) {
		n++
	}
	return n
}

// objectChange is nil when both hold the same.
func objectChange(old, now *members) json.RawMessage {
	if old == now {
		return nil
	}
	var out, set objectWriter
	var del []json.RawMessage
	for _, m := range old.list {
		if now.find(m.key) < 0 {
			del = append(del, m.name)
		}
	}
	for _, m := range now.list {
		if was := old.get(m.key); was == nil || string(was) != string(m.val) {
			set.spliced(m.name)
			set.buf = append(set.buf, m.val...)
		}
	}
	if len(del) > 0 {
		out.raw("del", joinArray(del))
	}
	if len(set.buf) > 0 {
		out.raw("set", set.done())
	}
	if len(out.buf) == 0 {
		return nil
	}
	return out.done()
}

// applyDiff returns the fold after a diff; nil changes nothing.
func (f *Fold) applyDiff(diff json.RawMessage) (*Fold, error) {
	if isNull(diff) {
		return f, nil
	}
	e := f.edit()
	if err := e.apply(diff); err != nil {
		return nil, err
	}
	return e.fold(f.asks), nil
}

// apply changes the fields as a diff says.
func (e *edit) apply(diff json.RawMessage) error {
	gone, err := nameSet(lookup(diff, "del"))
	if err != nil || kindOf(diff) != '{' {
		return diffError(errNotObject)
	}
	e.drop(gone)
	for _, part := range []struct {
		name  string
		apply func(*edit, member) error
	}{{"set", applySet}, {"list", applyList}, {"merge", applyMerge}, {"join", applyJoin}} {
		if err := eachPart(lookup(diff, part.name), func(m member) error { return part.apply(e, m) }); err != nil {
			return diffError(err)
		}
	}
	return nil
}

func eachPart(b json.RawMessage, apply func(member) error) error {
	if b == nil {
		return nil
	}
	list, err := splitObject(b)
	for i := 0; i < len(list) && err == nil; i++ {
		err = apply(list[i])
	}
	return err
}

func applySet(e *edit, m member) error {
	val, err := newValue(m.val)
	e.put(field{m.key, m.name, val})
	return err
}

func applyList(e *edit, m member) error {
	keep, err := strconv.Atoi(string(lookup(m.val, "keep")))
	was := e.get(m.key).list
	if err != nil || was == nil || keep < 0 || keep > len(was.elems) {
		return fmt.Errorf("%s: no list with that many elements", m.key)
	}
	var add []json.RawMessage
	if b := lookup(m.val, "add"); b != nil {
		if add, err = splitArray(b); err != nil {
			return err
		}
	}
	e.put(field{m.key, m.name, value{list: was.cut(keep, add)}})
	return nil
}

func applyMerge(e *edit, m member) error {
	was := e.get(m.key).obj
	gone, err := nameSet(lookup(m.val, "del"))
	if err != nil || was == nil {
		return fmt.Errorf("%s: no object to merge into", m.key)
	}
	obj := e.own(was)
	obj.drop(gone)
	if set := lookup(m.val, "set"); set != nil {
		err = eachMember(set, obj.put)
	}
	e.put(field{m.key, m.name, value{obj: obj}})
	return err
}

// nameSet reads a list of names; nil is an empty one.
func nameSet(b json.RawMessage) (map[string]bool, error) {
	if b == nil {
		return nil, nil
	}
	list, err := splitArray(b)
	set := make(map[string]bool, len(list))
	for _, e := range list {
		name, ok := stringOf(e)
		if !ok {
			return nil, errBadJSON
		}
		set[name] = true
	}
	return set, err
}

func diffError(err error) *Error {
	return &Error{
		Class: Internal, Code: CodeInternal, Err: err,
		Message: "A logged change of state does not fit the state before it. The database may be damaged.",
	}
}
