package mapping

import "encoding/json"

// manyMembers is where looking a name up in a map beats comparing.
const manyMembers = 16

// members is an object under construction: names are unique, in the order
// they first came. The zero value is ready; copy it with clone.
type members struct {
	list  []member
	index *places // nil while there are few
	size  int     // bytes of names, values and colons
}

// newMembers has room for n members, and grows.
func newMembers(n int) *members {
	o := &members{list: make([]member, 0, n)}
	if n > manyMembers {
		o.index = newPlaces(n)
	}
	return o
}

func (o *members) find(key string) int {
	if o.index != nil {
		return o.index.find(o.index.text(key), func(at int) bool { return o.list[at].key == key })
	}
	for i := range o.list {
		if o.list[i].key == key {
			return i
		}
	}
	return -1
}

func (o *members) get(key string) json.RawMessage {
	if i := o.find(key); i >= 0 {
		return o.list[i].val
	}
	return nil
}

// put sets a member: in its place, or at the end.
func (o *members) put(m member) {
	if i := o.find(m.key); i >= 0 {
		o.size += len(m.val) - len(o.list[i].val)
		o.list[i].val = m.val
		return
	}
	o.list = append(o.list, m)
	o.size += len(m.name) + len(m.val) + 1
	switch {
	case o.index != nil:
		o.index.put(o.index.text(m.key), len(o.list)-1, nothing)
	case len(o.list) > manyMembers:
		o.reindex()
	}
}

func (o *members) reindex() {
	o.index = newPlaces(len(o.list))
	for i := range o.list {
		o.index.put(o.index.text(o.list[i].key), i, nothing)
	}
}

// drop removes the named members.
func (o *members) drop(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	o.keep(func(i int) bool { return !gone[o.list[i].key] })
}

// keep removes the members at all other positions.
func (o *members) keep(wanted func(i int) bool) {
	kept := o.list[:0]
	for i, m := range o.list {
		if !wanted(i) {
			o.size -= len(m.name) + len(m.val) + 1
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

// clone is a copy that may be changed.
func (o *members) clone() *members {
	return &members{list: append(make([]member, 0, len(o.list)+1), o.list...), size: o.size, index: o.index.clone()}
}

// length is that of the object's text.
func (o *members) length() int { return 2 + o.size + max(0, len(o.list)-1) }
