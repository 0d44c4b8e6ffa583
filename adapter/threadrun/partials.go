package threadrun

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// partials keeps the messages of a run as far as their tokens have come. It
// depends on nothing but the run's delta events from its start, in order, so
// every reader has the same partials at the same event.
type partials struct{ byID map[string]*partial }

// partial is one message. Its text is kept apart, since it grows with every
// token; the other members are those of the newest chunk that had them.
type partial struct {
	text    strings.Builder
	blocks  []json.RawMessage // content that came as blocks
	members []member
	seq     int64 // of the newest event in it
}

func newPartials() *partials { return &partials{byID: map[string]*partial{}} }

// add takes a delta event. first tells that its message begins. The id is
// empty when the chunk has none: clients drop such chunks. An event that is in
// already is not added again.
func (p *partials) add(e *mapping.Entry) (id string, first bool) {
	chunk, _ := splitDelta(e.Data)
	members, err := splitObject(chunk)
	if err != nil {
		return "", false
	}
	id = messageID(chunk)
	if id == "" {
		return "", false
	}
	m, ok := p.byID[id]
	if !ok {
		m = &partial{}
		p.byID[id] = m
	}
	if e.Seq > m.seq {
		m.seq = e.Seq
		m.merge(members)
	}
	return id, !ok
}

func (m *partial) merge(members []member) {
	for _, f := range members {
		switch {
		case f.name == "content" && kindOf(f.value) == '"':
			m.text.WriteString(unquote(f.value))
			f.value = nil
		case f.name == "content":
			m.blocks = joinChunks(m.blocks, splitList(f.value))
			f.value = nil
		}
		m.set(f)
	}
}

// set keeps a member: pieces of tool calls are put together, everything else
// is replaced, but not by an empty list.
func (m *partial) set(f member) {
	for i, old := range m.members {
		if old.name != f.name {
			continue
		}
		list := kindOf(old.value) == '[' && kindOf(f.value) == '['
		if list && f.name == "tool_call_chunks" {
			f.value = listOf(joinChunks(splitList(old.value), splitList(f.value)))
		}
		if !list || len(splitList(f.value)) > 0 {
			m.members[i] = f
		}
		return
	}
	m.members = append(m.members, f)
}

// joinChunks adds pieces to a list: one with the index of an element goes into
// that element, others go behind.
func joinChunks(list, more []json.RawMessage) []json.RawMessage {
	for _, piece := range more {
		if i := sameIndex(list, piece); i >= 0 {
			list[i] = joinChunk(list[i], piece)
		} else {
			list = append(list, piece)
		}
	}
	return list
}

func sameIndex(list []json.RawMessage, piece json.RawMessage) int {
	index := memberOf(piece, "index")
	for i := range list {
		if index != nil && string(memberOf(list[i], "index")) == string(index) {
			return i
		}
	}
	return -1
}

// joinChunk appends the texts that grow; of the rest the first that is not
// null counts.
func joinChunk(whole, piece json.RawMessage) json.RawMessage {
	members, _ := splitObject(whole)
	more, _ := splitObject(piece)
	var e enc
	e.open('{')
	for _, m := range members {
		e.anyKey(m.name).raw(joinMember(m, memberOf(piece, m.name)), "null")
	}
	for _, m := range more {
		if memberOf(whole, m.name) == nil {
			e.anyKey(m.name).raw(m.value, "null")
		}
	}
	return e.close('}').b
}

func joinMember(m member, more json.RawMessage) json.RawMessage {
	grows := m.name == "args" || m.name == "text" || m.name == "input" || m.name == "partial_json"
	switch {
	case grows && kindOf(m.value) == '"' && kindOf(more) == '"':
		return appendQuoted(nil, unquote(m.value)+unquote(more))
	case kindOf(m.value) == 'n' && more != nil:
		return more
	default:
		return m.value
	}
}

// message is the message so far.
func (p *partials) message(id string) json.RawMessage {
	m := p.byID[id]
	var e enc
	e.open('{')
	for _, f := range m.members {
		e.anyKey(f.name)
		if f.name == "content" {
			m.content(&e)
			continue
		}
		e.raw(f.value, "null")
	}
	e.close('}')
	return e.b
}

func (m *partial) content(e *enc) {
	if m.blocks == nil {
		e.str(m.text.String())
		return
	}
	e.open('[')
	if m.text.Len() > 0 {
		e.open('{').key("type").str("text").key("text").str(m.text.String()).close('}')
	}
	for _, b := range m.blocks {
		e.raw(b, "null")
	}
	e.close(']')
}
