package mapping

// edit is the fields of a fold while a new fold is made of them.
type edit struct {
	fields []field
	index  map[string]int    // nil while there are few
	owned  map[*members]bool // objects that were made in this edit, and that it may change
}

func (f *Fold) edit() *edit {
	e := &edit{fields: make([]field, len(f.fields), len(f.fields)+2)}
	copy(e.fields, f.fields)
	if len(e.fields) > manyMembers {
		e.reindex()
	}
	return e
}

func (e *edit) find(key string) int {
	if e.index != nil {
		if i, ok := e.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range e.fields {
		if e.fields[i].key == key {
			return i
		}
	}
	return -1
}

func (e *edit) get(key string) value {
	if i := e.find(key); i >= 0 {
		return e.fields[i].val
	}
	return value{}
}

// put sets a field: in its place, or at the end.
func (e *edit) put(fd field) {
	if i := e.find(fd.key); i >= 0 {
		e.fields[i].val = fd.val
		return
	}
	e.fields = append(e.fields, fd)
	switch {
	case e.index != nil:
		e.index[fd.key] = len(e.fields) - 1
	case len(e.fields) > manyMembers:
		e.reindex()
	}
}

// own is an object that may be changed: a copy, the first time.
func (e *edit) own(o *members) *members {
	if e.owned[o] {
		return o
	}
	if e.owned == nil {
		e.owned = map[*members]bool{}
	}
	o = o.clone()
	e.owned[o] = true
	return o
}

func (e *edit) reindex() {
	e.index = make(map[string]int, 2*len(e.fields))
	for i := range e.fields {
		e.index[e.fields[i].key] = i
	}
}

func (e *edit) drop(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	kept := e.fields[:0]
	for _, fd := range e.fields {
		if !gone[fd.key] {
			kept = append(kept, fd)
		}
	}
	clear(e.fields[len(kept):])
	if e.fields = kept; e.index != nil {
		e.reindex()
	}
}

// fold ends the edit.
func (e *edit) fold(asks []Interrupt) *Fold {
	f := &Fold{fields: e.fields, asks: asks, size: 2 + max(0, len(e.fields)-1)}
	for _, fd := range e.fields {
		f.size += len(fd.name) + 1 + fd.val.length()
	}
	return f
}
