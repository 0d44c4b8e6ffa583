package state

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// A Diff of a run that may overlap with others uses no positions. Changes within an array or object are under "join",
// and can be applied to a state that others have changed:
//
//	{"join": {"k": {"add": [e, …], "gone": ["id", …]}}}             array: elements with these ids go; these come
//	{"join": {"k": {"set": {"m": value}, "del": ["m", …]}}}         object: one level deep
//
// An element of an array with an id replaces the one with the same id. Others are appended. If the current value of the
// key is not an array (object), it is treated as an empty one.

// JoinTo is DiffTo for a run that may overlap with others. The difference can be applied to any state and keeps others'
// changes. If both changed the same scalar, member or element, the later change counts. An array without ids is
// replaced as a whole unless elements were only appended.
func (f *Fold) JoinTo(full json.RawMessage) (diff json.RawMessage, err error) {
	b, err := f.become(full)
	if err != nil {
		return nil, err
	}
	return b.changed((*changes).noteJoin), nil
}

// noteJoin records the change of the field at a position in a form that keeps others' changes.
func (c *changes) noteJoin(at int, old value) {
	var parts json.RawMessage
	fd := &c.fields[at]
	switch now := fd.val; {
	case old.list != nil && now.list != nil:
		if slices.EqualFunc(old.list.elems, now.list.elems, sameBytes) {
			return
		}
		parts = listJoin(old.list, now.list)
	case old.obj != nil && now.obj != nil:
		if parts = objectChange(old.obj, now.obj); parts == nil {
			return
		}
	case !old.none() && now.raw != nil && string(old.raw) == string(now.raw):
		return
	}
	if parts == nil {
		c.set = append(c.set, at)
		return
	}
	c.join = append(c.join, rawjson.Member{Name: fd.key, Quoted: fd.name, Value: parts})
}

func sameBytes(a, b json.RawMessage) bool { return string(a) == string(b) }

// listJoin returns the change from one list to the other, or nil if the list must be replaced.
func listJoin(old, now *list) json.RawMessage {
	keep := commonPrefix(old.elems, now.elems)
	var out change
	if keep == len(old.elems) {
		out.member("add").Array(now.elems[keep:])
		return out.done()
	}
	was, ok := byID(old.elems)
	is, known := byID(now.elems)
	if !ok || !known {
		return nil
	}
	var add, gone []json.RawMessage
	for _, e := range now.elems {
		if string(was[IDOfMessage(e)]) != string(e) {
			add = append(add, e)
		}
	}
	for _, e := range old.elems {
		if is[IDOfMessage(e)] == nil {
			gone = append(gone, rawjson.Get(e, "id"))
		}
	}
	if len(add) == 0 && len(gone) == 0 {
		return nil // another order
	}
	if len(gone) > 0 {
		out.member("gone").Array(gone)
	}
	if len(add) > 0 {
		out.member("add").Array(add)
	}
	return out.done()
}

// byID returns false if an element has no id.
func byID(elems []json.RawMessage) (map[string]json.RawMessage, bool) {
	m := make(map[string]json.RawMessage, len(elems))
	for _, e := range elems {
		id := IDOfMessage(e)
		if id == "" {
			return nil, false
		}
		m[id] = e
	}
	return m, true
}

// applyJoin merges a change into the current value of the key.
func applyJoin(e *edit, m rawjson.Member) error {
	was := e.get(m.Name)
	parts, err := partsOf(m.Value, "set", "del", "gone", "add")
	if err != nil {
		return err
	}
	if parts[0] != nil || parts[1] != nil {
		if was.object() == nil {
			e.put(field{m.Name, m.Quoted, value{obj: &rawjson.Object{}}})
		}
		return applyMerge(e, m)
	}
	gone, err := nameSet(parts[2])
	if err != nil {
		return err
	}
	list := was.asList().without(gone)
	if parts[3] != nil {
		elems, err := rawjson.Elements(parts[3])
		if err != nil {
			return err
		}
		list = list.merge(elems)
	}
	e.put(field{m.Name, m.Quoted, value{list: list}})
	return nil
}
