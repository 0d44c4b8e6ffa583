package state

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// edit holds the fields of a fold while a new fold is built from them.
type edit struct {
	fields []field
	index  *rawjson.Index           // nil while there are few
	owned  map[*rawjson.Object]bool // objects created in this edit, which may be changed
}

// edit begins an edit that adds n fields.
func (f *Fold) edit(n int) *edit {
	n += len(f.fields)
	e := &edit{fields: make([]field, len(f.fields), n)}
	copy(e.fields, f.fields)
	if n > rawjson.ManyKeys {
		e.reindex()
	}
	return e
}

func (e *edit) find(key string) int {
	if e.index != nil {
		return e.index.FindText(key, func(at int) bool { return e.fields[at].key == key })
	}
	for i := range e.fields {
		if e.fields[i].key == key {
			return i
		}
	}
	return -1
}

func (e *edit) get(key string) value { return e.at(e.find(key)) }

// at returns the value at a position from find, or none for -1.
func (e *edit) at(i int) value {
	if i < 0 {
		return value{}
	}
	return e.fields[i].val
}

// put sets a field, in its existing place or at the end.
func (e *edit) put(fd field) { e.putAt(e.find(fd.key), fd) }

// putAt is put for a position from find, which may be -1.
func (e *edit) putAt(i int, fd field) {
	if i >= 0 {
		e.fields[i].val = fd.val
		return
	}
	e.fields = append(e.fields, fd)
	switch {
	case e.index != nil:
		e.index.PutText(fd.key, len(e.fields)-1, rawjson.Nothing)
	case len(e.fields) > rawjson.ManyKeys:
		e.reindex()
	}
}

// own returns an object that may be changed: a copy, on the first call.
func (e *edit) own(o *rawjson.Object) *rawjson.Object {
	if e.owned[o] {
		return o
	}
	if e.owned == nil {
		e.owned = map[*rawjson.Object]bool{}
	}
	o = o.Clone()
	e.owned[o] = true
	return o
}

func (e *edit) reindex() {
	e.index = rawjson.NewIndex(cap(e.fields))
	for i := range e.fields {
		e.index.PutText(e.fields[i].key, i, rawjson.Nothing)
	}
}

func (e *edit) drop(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	e.keep(func(i int) bool { return !gone[e.fields[i].key] })
}

// keep removes the fields for whose positions wanted returns false.
func (e *edit) keep(wanted func(i int) bool) {
	kept := e.fields[:0]
	for i, fd := range e.fields {
		if wanted(i) {
			kept = append(kept, fd)
		}
	}
	clear(e.fields[len(kept):])
	if e.fields = kept; e.index != nil {
		e.reindex()
	}
}

// fold ends the edit.
func (e *edit) fold(asks []mapping.Interrupt) *Fold {
	f := &Fold{fields: e.fields, asks: asks, size: 2 + max(0, len(e.fields)-1)}
	for _, fd := range e.fields {
		f.size += len(fd.name) + 1 + fd.val.length()
	}
	return f
}
