package mapping

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping/rawjson"
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
	b, err := f.become(full)
	if err != nil {
		return nil, nil, err
	}
	if diff = b.diff(); diff == nil {
		return nil, f, nil
	}
	return diff, b.fold(), nil
}

// DiffToReduced is DiffTo of a state that Reduce has made of f. It costs what the
// reduction changed: what both folds share is not read.
func (f *Fold) DiffToReduced(reduced *Fold) (diff json.RawMessage, next *Fold) {
	// Reduce takes no top-level keys away, and leaves them in their places.
	b := &becoming{f: f, e: reduced.edit(0), kept: slices.Repeat([]bool{true}, len(f.fields))}
	for at := range f.fields {
		val := &b.e.fields[at].val
		if was := b.was(at).obj; was != nil && val.obj != nil && was != val.obj {
			val.obj = inOrderOf(val.obj, was) // as it is when the difference was applied
		}
	}
	if diff = b.diff(); diff == nil {
		return nil, f
	}
	return diff, b.e.fold(reduced.asks)
}

// inOrderOf is an object with the members that another has too in that one's order,
// before all others.
func inOrderOf(o, other *rawjson.Object) *rawjson.Object {
	ordered := rawjson.NewObject(o.Len())
	for _, m := range other.Members() {
		if val := o.Get(m.Name); val != nil {
			ordered.Put(rawjson.Member{Name: m.Name, Quoted: m.Quoted, Value: val})
		}
	}
	for _, m := range o.Members() {
		ordered.Put(m)
	}
	return ordered
}

// becoming is a fold on its way into another full state. Fields stay where the fold
// has them until the end, so that what was is found by position.
type becoming struct {
	f    *Fold
	e    *edit
	kept []bool // of the fold's fields: the full state has them
	gone int    // how many it lacks
}

func (f *Fold) become(full json.RawMessage) (*becoming, error) {
	if rawjson.IsNull(full) {
		full = json.RawMessage("{}")
	}
	b := &becoming{f: f, e: f.edit(max(0, rawjson.RoomFor(full)-len(f.fields))), kept: make([]bool, len(f.fields)), gone: len(f.fields)}
	if err := rawjson.WalkObject(full, b.take); err != nil {
		return nil, stateError(err)
	}
	return b, nil
}

// take reads a member of the full state. Of one that is there twice the later counts.
func (b *becoming) take(text []byte, i int, name rawjson.Quoted) (int, bool) {
	key := name.Text()
	at := b.e.find(key)
	val, end, ok := readValue(text, i, b.was(at))
	if !ok {
		return end, false
	}
	b.e.putAt(at, field{key, name, val})
	if at >= 0 && at < len(b.kept) && !b.kept[at] {
		b.kept[at] = true
		b.gone--
	}
	return end, true
}

// was is what the fold has at a position; none for fields that are new.
func (b *becoming) was(at int) value {
	if at < 0 || at >= len(b.kept) {
		return value{}
	}
	return b.f.fields[at].val
}

// lost reports whether the full state lacks the field at a position.
func (b *becoming) lost(at int) bool { return at < len(b.kept) && !b.kept[at] }

// fold ends it.
func (b *becoming) fold() *Fold {
	if b.gone > 0 {
		b.e.keep(func(i int) bool { return !b.lost(i) })
	}
	return b.e.fold(b.f.asks)
}

func (b *becoming) diff() json.RawMessage {
	var out, set, list, merge change
	for at, fd := range b.e.fields {
		if !b.lost(at) {
			writeChange(b.was(at), fd, &set, &list, &merge)
		}
	}
	b.writeLost(&out)
	for _, part := range []struct {
		name string
		w    *change
	}{{"set", &set}, {"list", &list}, {"merge", &merge}} {
		if !part.w.empty() {
			out.member(part.name).Raw(part.w.done(), "null")
		}
	}
	return out.done()
}

// writeLost writes the names of the keys that are gone, if any.
func (b *becoming) writeLost(out *change) {
	if b.gone == 0 {
		return
	}
	var names []json.RawMessage
	for at, fd := range b.f.fields {
		if b.lost(at) {
			names = append(names, json.RawMessage(fd.name))
		}
	}
	out.member("del").Array(names)
}

// writeChange writes how one field came to its value.
func writeChange(old value, fd field, set, list, merge *change) {
	switch now := fd.val; {
	case old.list != nil && now.list != nil:
		keep := commonPrefix(old.list.elems, now.list.elems)
		switch {
		case keep == len(old.list.elems) && keep == len(now.list.elems):
		case keep == 0:
			setField(set, fd)
		default:
			writeListChange(list.spliced(fd.name), keep, now.list.elems[keep:])
		}
	case old.obj != nil && now.obj != nil:
		parts := objectChange(old.obj, now.obj)
		switch {
		case parts == nil:
		case len(parts) >= now.length():
			setField(set, fd)
		default:
			merge.spliced(fd.name).Raw(parts, "null")
		}
	case old.none() || now.raw == nil || string(old.raw) != string(now.raw):
		setField(set, fd)
	}
}

func setField(set *change, fd field) {
	set.w.Bytes = slices.Grow(set.w.Bytes, len(fd.name)+fd.val.length()+3)
	fd.val.writeTo(set.spliced(fd.name))
}

func writeListChange(w *rawjson.Writer, keep int, add []json.RawMessage) {
	w.Open('{').Key("keep").Int(int64(keep))
	if len(add) > 0 {
		w.Key("add").Array(add)
	}
	w.Close('}')
}

func commonPrefix(a, b []json.RawMessage) int {
	n := 0
	for n < len(a) && n < len(b) && string(a[n]) == string(b[n]) {
		n++
	}
	return n
}

// objectChange is nil when both hold the same.
func objectChange(old, now *rawjson.Object) json.RawMessage {
	if old == now {
		return nil
	}
	var out, set change
	var del []json.RawMessage
	for _, m := range old.Members() {
		if now.Find(m.Name) < 0 {
			del = append(del, json.RawMessage(m.Quoted))
		}
	}
	for _, m := range now.Members() {
		if was := old.Get(m.Name); was == nil || string(was) != string(m.Value) {
			set.begun().Member(&m)
		}
	}
	if len(del) > 0 {
		out.member("del").Array(del)
	}
	if !set.empty() {
		out.member("set").Raw(set.done(), "null")
	}
	return out.done()
}

// applyDiff returns the fold after a diff; nil changes nothing.
func (f *Fold) applyDiff(diff json.RawMessage) (*Fold, error) {
	if rawjson.IsNull(diff) {
		return f, nil
	}
	e := f.edit(2)
	if err := e.apply(diff); err != nil {
		return nil, err
	}
	return e.fold(f.asks), nil
}

// apply changes the fields as a diff says.
func (e *edit) apply(diff json.RawMessage) error {
	gone, err := nameSet(rawjson.Get(diff, "del"))
	if err != nil || rawjson.Kind(diff) != '{' {
		return diffError(rawjson.ErrNotObject)
	}
	e.drop(gone)
	for _, part := range []struct {
		name  string
		apply func(*edit, rawjson.Member) error
	}{{"set", applySet}, {"list", applyList}, {"merge", applyMerge}, {"join", applyJoin}} {
		if err := eachPart(rawjson.Get(diff, part.name), func(m rawjson.Member) error { return part.apply(e, m) }); err != nil {
			return diffError(err)
		}
	}
	return nil
}

func eachPart(b json.RawMessage, apply func(rawjson.Member) error) error {
	if b == nil {
		return nil
	}
	list, err := rawjson.Members(b)
	for i := 0; i < len(list) && err == nil; i++ {
		err = apply(list[i])
	}
	return err
}

func applySet(e *edit, m rawjson.Member) error {
	val, err := newValue(m.Value)
	e.put(field{m.Name, m.Quoted, val})
	return err
}

func applyList(e *edit, m rawjson.Member) error {
	keep, err := strconv.Atoi(string(rawjson.Get(m.Value, "keep")))
	was := e.get(m.Name).list
	if err != nil || was == nil || keep < 0 || keep > len(was.elems) {
		return fmt.Errorf("%s: no list with that many elements", m.Name)
	}
	var add []json.RawMessage
	if b := rawjson.Get(m.Value, "add"); b != nil {
		if add, err = rawjson.Elements(b); err != nil {
			return err
		}
	}
	e.put(field{m.Name, m.Quoted, value{list: was.cut(keep, add)}})
	return nil
}

func applyMerge(e *edit, m rawjson.Member) error {
	was := e.get(m.Name).object()
	gone, err := nameSet(rawjson.Get(m.Value, "del"))
	if err != nil || was == nil {
		return fmt.Errorf("%s: no object to merge into", m.Name)
	}
	obj := e.own(was)
	obj.Drop(gone)
	if set := rawjson.Get(m.Value, "set"); set != nil {
		err = obj.PutAll(set)
	}
	e.put(field{m.Name, m.Quoted, value{obj: obj}})
	return err
}

// nameSet reads a list of names; nil is an empty one.
func nameSet(b json.RawMessage) (map[string]bool, error) {
	if b == nil {
		return nil, nil
	}
	list, err := rawjson.Elements(b)
	set := make(map[string]bool, len(list))
	for _, e := range list {
		name, ok := rawjson.Text(e)
		if !ok {
			return nil, rawjson.ErrSyntax
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
