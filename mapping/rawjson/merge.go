package rawjson

import "encoding/json"

// A JoinFunc returns the value of a member that both objects of a Merge have.
type JoinFunc func(name string, base, over json.RawMessage) (json.RawMessage, error)

// Merge returns base with the members of over: existing members are replaced in their places, new ones are appended.
// null counts as an empty object. If join is nil, over's value replaces base's. Errors are those of EachMember and of
// join.
//
// It takes linear time, and memory for one copy of the text and a table of the object with fewer members. Duplicate
// names in the other object may be kept.
func Merge(base, over json.RawMessage, join JoinFunc) (json.RawMessage, error) {
	m := merge{join: join}
	m.w.Bytes = make([]byte, 0, len(base)+len(over)+2)
	m.w.Open('{')
	if CountMembers(over) <= CountMembers(base) {
		m.setIn(base, over)
	} else {
		m.setUnder(base, over)
	}
	return m.w.Close('}').Bytes, m.err
}

// merge is the state of a Merge.
type merge struct {
	w    Writer
	join JoinFunc
	err  error
}

// setIn merges with a table of over.
func (m *merge) setIn(base, over json.RawMessage) {
	table := m.table(over)
	done := make([]bool, table.Len())
	m.each(base, func(name Quoted, value json.RawMessage) {
		at := table.find(name)
		switch {
		case at < 0:
			m.w.Spliced(name).Raw(value, "null")
		case !done[at]:
			done[at] = true
			m.w.Spliced(name).Raw(m.joined(table.list[at].Name, value, table.list[at].Value), "null")
		}
	})
	for i := range table.list {
		if !done[i] {
			m.w.Member(&table.list[i])
		}
	}
}

// setUnder merges with a table of base.
func (m *merge) setUnder(base, over json.RawMessage) {
	table := m.table(base)
	m.each(over, func(name Quoted, value json.RawMessage) {
		if at := table.find(name); at >= 0 {
			table.set(at, m.joined(table.list[at].Name, table.list[at].Value, value))
		}
	})
	for i := range table.list {
		m.w.Member(&table.list[i])
	}
	m.each(over, func(name Quoted, value json.RawMessage) {
		if table.find(name) < 0 {
			m.w.Spliced(name).Raw(value, "null")
		}
	})
}

// table returns an object for lookups.
func (m *merge) table(b json.RawMessage) *Object {
	if IsNull(b) {
		return new(Object)
	}
	o, err := ParseObject(b)
	m.failed(err)
	return &o
}

// each is EachMember, except that null has no members.
func (m *merge) each(b json.RawMessage, visit func(name Quoted, value json.RawMessage)) {
	if !IsNull(b) {
		m.failed(EachMember(b, visit))
	}
}

// joined returns the value of a member that both have.
func (m *merge) joined(name string, base, over json.RawMessage) json.RawMessage {
	if m.join == nil {
		return over
	}
	value, err := m.join(name, base, over)
	m.failed(err)
	return value
}

func (m *merge) failed(err error) {
	if m.err == nil {
		m.err = err
	}
}
