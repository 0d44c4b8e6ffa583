package mapping

import "encoding/json"

// manyMembers is where looking a name up in a map beats comparing.
const manyMembers = 16

// members is an object under construction: names are unique, in the order
// they first came. The zero value is ready; copy it with clone.
type members struct {
	list  []member
	index map[string]int // nil while there are few
	size  int            // bytes of names, values and colons
}

func (o *members) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
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
		o.index[m.key] = len(o.list) - 1
	case len(o.list) > manyMembers:
		o.reindex()
	}
}

func (o *members) reindex() {
	o.index = make(map[string]int, 2*len(o.list))
	for i := range o.list {
		o.index[o.list[i].key] = i
	}
}

// drop removes the named members.
func (o *members) drop(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	kept := o.list[:0]
	for _, m := range o.list {
		if gone[m.key] {
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

// keys is the set of the names.
func (o *members) keys() map[string]bool {
	set := make(map[string]bool, len(o.list))
	for i := range o.list {
		set[o.list[i].key] = true
	}
	return set
}

// clone is a copy that may be changed.
func (o *members) clone() *members {
	c := &members{list: append(make([]member, 0, len(o.list)+1), o.list...), size: o.size}
	if len(c.list) > manyMembers {
		c.reindex()
	}
	return c
}

// length is that of the object's text.
func (o *members) length() int { return 2 + o.size + max(0, len(o.list)-1) }
