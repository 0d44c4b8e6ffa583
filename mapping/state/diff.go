package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// A Diff is the change from one state to the next as a JSON object. Empty parts are omitted:
//
//	{"del":   ["k", …],                            top-level keys that are gone
//	 "set":   {"k": value, …},                     new keys and replaced values
//	 "list":  {"k": {"keep": n, "add": [e, …]}},   array: its first n elements, then these
//	 "merge": {"k": {"del": ["m"], "set": {"m": value}}}}  object: one level deep
//
// A key set to null differs from a missing key. Existing keys keep their places, and new ones are appended in the given
// order. The same applies to the members of merged objects.

// DiffTo returns the encoded difference from f to the full state, and the fold of that state. Top-level keys are
// compared as bytes, arrays by their common prefix, objects one level deep. A nil diff means that nothing changed. It
// compares the equal parts and scans the others. The fold refers to the bytes of full, which must not change. The open
// question is kept.
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

// DiffToReduced is DiffTo for a state that Reduce returned for f. Its cost depends only on the changes, because the
// shared parts of both folds are not read.
func (f *Fold) DiffToReduced(reduced *Fold) (diff json.RawMessage, next *Fold) {
	// Reduce keeps all top-level keys in their places.
	b := &becoming{f: f, e: reduced.edit(0), kept: slices.Repeat([]bool{true}, len(f.fields))}
	for at := range f.fields {
		val := &b.e.fields[at].val
		if was := b.was(at).obj; was != nil && val.obj != nil && was != val.obj {
			val.obj = inOrderOf(val.obj, was) // the same order as when the difference is applied
		}
	}
	if diff = b.diff(); diff == nil {
		return nil, f
	}
	return diff, b.e.fold(reduced.asks)
}

// inOrderOf returns o with the members that other also has first, in other's order.
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

// becoming is the transition of a fold to another full state. Fields keep their positions until the end, so that old
// values can be found by position.
type becoming struct {
	f    *Fold
	e    *edit
	kept []bool // whether the full state has each of the fold's fields
	gone int    // number of fields that it lacks
}

func (f *Fold) become(full json.RawMessage) (*becoming, error) {
	if rawjson.IsNull(full) {
		full = json.RawMessage("{}")
	}
	b := &becoming{f: f, e: f.edit(max(0, rawjson.RoomFor(full)-len(f.fields))), kept: make([]bool, len(f.fields)), gone: len(f.fields)}
	if err := rawjson.WalkObject(full, b.addMember); err != nil {
		return nil, stateError(err)
	}
	return b, nil
}

// addMember reads a member of the full state. The last of several duplicates counts.
func (b *becoming) addMember(text []byte, i int, name rawjson.Quoted) (int, bool) {
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

// was returns the fold's value at a position, or none for new fields.
func (b *becoming) was(at int) value {
	if at < 0 || at >= len(b.kept) {
		return value{}
	}
	return b.f.fields[at].val
}

// lost reports whether the full state lacks the field at a position.
func (b *becoming) lost(at int) bool { return at < len(b.kept) && !b.kept[at] }

// fold returns the new fold.
func (b *becoming) fold() *Fold {
	if b.gone > 0 {
		b.e.keep(func(i int) bool { return !b.lost(i) })
	}
	return b.e.fold(b.f.asks)
}

func (b *becoming) diff() json.RawMessage { return b.changed((*changes).note) }

// changed returns the difference. note records the change of each field.
func (b *becoming) changed(note func(c *changes, at int, old value)) json.RawMessage {
	c := changes{fields: b.e.fields}
	for at := range b.e.fields {
		if !b.lost(at) {
			note(&c, at, b.was(at))
		}
	}
	if b.gone == 0 && c.none() {
		return nil
	}
	w := rawjson.Writer{Bytes: make([]byte, 0, c.size())}
	w.Open('{')
	b.writeLost(&w)
	c.write(&w)
	return w.Close('}').Bytes
}

// writeLost writes the names of the lost keys, if any.
func (b *becoming) writeLost(w *rawjson.Writer) {
	if b.gone == 0 {
		return
	}
	var names []json.RawMessage
	for at, fd := range b.f.fields {
		if b.lost(at) {
			names = append(names, json.RawMessage(fd.name))
		}
	}
	w.Key("del").Array(names)
}

// changes holds the changes of all fields. They are collected before writing, so that a long value is copied only once,
// into a buffer of the right length.
type changes struct {
	fields []field
	set    []int // positions of the fields with a new value
	lists  []listChange
	merge  []rawjson.Member // differences of objects
	join   []rawjson.Member // see JoinTo
}

// listChange is a change of an array whose first elements are kept.
type listChange struct{ at, keep int }

// note records the change of the field at a position.
func (c *changes) note(at int, old value) {
	switch fd := &c.fields[at]; {
	case old.list != nil && fd.val.list != nil:
		was, now := old.list.elems, fd.val.list.elems
		switch keep := commonPrefix(was, now); {
		case keep == len(was) && keep == len(now):
		case keep == 0:
			c.set = append(c.set, at)
		default:
			c.lists = append(c.lists, listChange{at, keep})
		}
	case old.obj != nil && fd.val.obj != nil:
		switch change := objectChange(old.obj, fd.val.obj); {
		case change == nil:
		case len(change) >= fd.val.length():
			c.set = append(c.set, at)
		default:
			c.merge = append(c.merge, rawjson.Member{Name: fd.key, Quoted: fd.name, Value: change})
		}
	case old.none() || fd.val.raw == nil || string(old.raw) != string(fd.val.raw):
		c.set = append(c.set, at)
	}
}

func (c *changes) none() bool { return len(c.set)+len(c.lists)+len(c.merge)+len(c.join) == 0 }

// added returns the elements after those that stay.
func (c *changes) added(l listChange) []json.RawMessage {
	return c.fields[l.at].val.list.elems[l.keep:]
}

// size returns the approximate length of the difference, without the names of lost keys.
func (c *changes) size() int {
	const frame = 64 // of a part or a list
	n := frame
	for _, at := range c.set {
		n += len(c.fields[at].name) + c.fields[at].val.length() + 2
	}
	for _, l := range c.lists {
		n += len(c.fields[l.at].name) + rawjson.ArraySize(c.added(l)) + frame
	}
	for _, told := range [...][]rawjson.Member{c.merge, c.join} {
		for _, m := range told {
			n += len(m.Quoted) + len(m.Value) + 2
		}
	}
	return n
}

func (c *changes) write(w *rawjson.Writer) {
	part(w, "set", c.set, func(at int) { c.fields[at].val.writeTo(w.Spliced(c.fields[at].name)) })
	part(w, "list", c.lists, func(l listChange) { writeListChange(w.Spliced(c.fields[l.at].name), l.keep, c.added(l)) })
	told := func(m rawjson.Member) { w.Member(&m) }
	part(w, "merge", c.merge, told)
	part(w, "join", c.join, told)
}

// part writes one part of a difference, unless it is empty.
func part[T any](w *rawjson.Writer, name string, list []T, write func(T)) {
	if len(list) == 0 {
		return
	}
	w.Key(name).Open('{')
	for _, one := range list {
		write(one)
	}
	w.Close('}')
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

// objectChange returns nil if both are equal.
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

// applyDiff returns the fold after a diff. A nil diff changes nothing.
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

// apply changes the fields according to a diff.
func (e *edit) apply(diff json.RawMessage) error {
	parts, err := partsOf(diff, "del", "set", "list", "merge", "join")
	if err != nil {
		return diffError(err)
	}
	gone, err := nameSet(parts[0])
	if err != nil {
		return diffError(err)
	}
	e.drop(gone)
	for i, apply := range []func(*edit, rawjson.Member) error{applySet, applyList, applyMerge, applyJoin} {
		if err := e.applyPart(parts[i+1], apply); err != nil {
			return diffError(err)
		}
	}
	return nil
}

// partsOf returns the values of the named members in the order of names, nil for missing ones. It reads the object only
// once, because it may be as large as a state.
func partsOf(b json.RawMessage, names ...string) ([]json.RawMessage, error) {
	parts := make([]json.RawMessage, len(names))
	err := rawjson.EachMember(b, func(name rawjson.Quoted, value json.RawMessage) {
		if i := slices.IndexFunc(names, name.Is); i >= 0 {
			parts[i] = value
		}
	})
	return parts, err
}

func (e *edit) applyPart(b json.RawMessage, apply func(*edit, rawjson.Member) error) error {
	if b == nil {
		return nil
	}
	var failed error
	err := rawjson.EachMember(b, func(name rawjson.Quoted, val json.RawMessage) {
		if failed == nil {
			failed = apply(e, rawjson.Member{Name: name.Text(), Quoted: name, Value: val})
		}
	})
	return cmp.Or(err, failed)
}

func applySet(e *edit, m rawjson.Member) error {
	val, err := newValue(m.Value)
	e.put(field{m.Name, m.Quoted, val})
	return err
}

func applyList(e *edit, m rawjson.Member) error {
	parts, err := partsOf(m.Value, "keep", "add")
	if err != nil {
		return err
	}
	keep, err := strconv.Atoi(string(parts[0]))
	was := e.get(m.Name).list
	if err != nil || was == nil || keep < 0 || keep > len(was.elems) {
		return fmt.Errorf("%s: not an array with that many elements", m.Name)
	}
	var add []json.RawMessage
	if parts[1] != nil {
		if add, err = rawjson.Elements(parts[1]); err != nil {
			return err
		}
	}
	e.put(field{m.Name, m.Quoted, value{list: was.cut(keep, add)}})
	return nil
}

func applyMerge(e *edit, m rawjson.Member) error {
	was := e.get(m.Name).object()
	parts, err := partsOf(m.Value, "del", "set")
	if err != nil {
		return err
	}
	gone, err := nameSet(parts[0])
	if err != nil || was == nil {
		return fmt.Errorf("%s: not an object to merge into", m.Name)
	}
	obj := e.own(was)
	obj.Drop(gone)
	if parts[1] != nil {
		err = obj.PutAll(parts[1])
	}
	e.put(field{m.Name, m.Quoted, value{obj: obj}})
	return err
}

// nameSet reads a list of names, which may be nil.
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

func diffError(err error) *mapping.Error {
	return &mapping.Error{
		Class: mapping.Internal, Code: mapping.CodeInternal, Err: err,
		Message: "A logged change does not fit the state before it. The database may be damaged.",
	}
}
