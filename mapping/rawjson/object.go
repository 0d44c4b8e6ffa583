package rawjson

import (
	"cmp"
	"encoding/json"
)

// Object is a JSON object under construction. Names are unique, in the order of their first appearance. The zero value
// is empty; copy it with Clone. Concurrent reads are safe while no goroutine changes the object.
type Object struct {
	list  []Member
	index *Index // nil while there are few
	size  int    // total bytes of names, values and colons
}

// usualMembers is the capacity of an object of unknown size.
const usualMembers = 4

// NewObject returns an empty Object with capacity for n members.
func NewObject(n int) *Object {
	o := new(Object)
	o.grow(n)
	return o
}

func (o *Object) grow(n int) {
	o.list = make([]Member, 0, n)
	if n > ManyKeys {
		o.index = NewIndex(n)
	}
}

// ParseObject splits an object. Errors are those of EachMember, together with the members read so far.
func ParseObject(b json.RawMessage) (Object, error) {
	var o Object
	o.grow(RoomFor(b))
	err := EachMember(b, o.put)
	return o, err
}

// RoomFor returns the capacity to reserve for the members of an object before it is read. It counts the members of a
// long object, and returns a small number for anything else.
func RoomFor(b json.RawMessage) int {
	const few = 8
	if len(b) < manyBytes {
		return few
	}
	return cmp.Or(CountMembers(b), few)
}

// PutAll sets the members of another object. Errors are those of EachMember; the members read so far are set.
func (o *Object) PutAll(b json.RawMessage) error { return EachMember(b, o.put) }

func (o *Object) put(name Quoted, value json.RawMessage) {
	o.Put(Member{Name: name.Text(), Quoted: name, Value: value})
}

// Len returns the number of members.
func (o *Object) Len() int { return len(o.list) }

// Size returns the length of the object's text in bytes.
func (o *Object) Size() int { return 2 + o.size + max(0, len(o.list)-1) }

// Members returns the members of the object, in order. Callers must not change them. They are valid until the object
// changes.
func (o *Object) Members() []Member { return o.list }

// Find returns the position of a member, or -1.
func (o *Object) Find(name string) int {
	if o.index != nil {
		return o.index.FindText(name, func(at int) bool { return o.list[at].Name == name })
	}
	for i := range o.list {
		if o.list[i].Name == name {
			return i
		}
	}
	return -1
}

// find is Find for a name as it is written.
func (o *Object) find(name Quoted) int {
	key := name.Bytes()
	if o.index != nil {
		return o.index.Find(key, func(at int) bool { return o.list[at].Name == string(key) })
	}
	for i := range o.list {
		if o.list[i].Name == string(key) {
			return i
		}
	}
	return -1
}

// Get returns the value of a member, or nil.
func (o *Object) Get(name string) json.RawMessage {
	if i := o.Find(name); i >= 0 {
		return o.list[i].Value
	}
	return nil
}

// Put sets a member, in its existing place or at the end.
func (o *Object) Put(m Member) {
	if i := o.Find(m.Name); i >= 0 {
		o.set(i, m.Value)
		return
	}
	m.Quoted = m.spelled()
	if o.list == nil {
		o.list = make([]Member, 0, usualMembers)
	}
	o.list = append(o.list, m)
	o.size += len(m.Quoted) + len(m.Value) + 1
	switch {
	case o.index != nil:
		o.index.PutText(m.Name, len(o.list)-1, Nothing)
	case len(o.list) > ManyKeys:
		o.reindex()
	}
}

// set replaces the value at a position.
func (o *Object) set(i int, value json.RawMessage) {
	o.size += len(value) - len(o.list[i].Value)
	o.list[i].Value = value
}

func (o *Object) reindex() {
	o.index = NewIndex(len(o.list))
	for i := range o.list {
		o.index.PutText(o.list[i].Name, i, Nothing)
	}
}

// Drop removes the named members.
func (o *Object) Drop(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	o.Keep(func(i int) bool { return !gone[o.list[i].Name] })
}

// Keep removes the members for whose positions wanted returns false.
func (o *Object) Keep(wanted func(i int) bool) {
	kept := o.list[:0]
	for i, m := range o.list {
		if !wanted(i) {
			o.size -= len(m.Quoted) + len(m.Value) + 1
			continue
		}
		kept = append(kept, m)
	}
	clear(o.list[len(kept):])
	o.list = kept
	if o.index != nil {
		o.reindex()
	}
}

// Clone returns a copy that may be changed.
func (o *Object) Clone() *Object {
	return &Object{list: append(make([]Member, 0, len(o.list)+1), o.list...), size: o.size, index: o.index.clone()}
}

// JSON returns the text of the object.
func (o *Object) JSON() json.RawMessage {
	w := Writer{Bytes: make([]byte, 0, o.Size())}
	return w.Object(o.list).Bytes
}
