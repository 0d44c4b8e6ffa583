package face

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
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
	members []rawjson.Member
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

func (m *partial) merge(members []rawjson.Member) {
	for _, f := range members {
		switch {
		case f.Name == "content" && kindOf(f.Value) == '"':
			m.text.WriteString(unquote(f.Value))
			f.Value = nil
		case f.Name == "content":
			m.blocks = joinChunks(m.blocks, splitList(f.Value))
			f.Value = nil
		}
		m.set(f)
	}
}

// set keeps a member: pieces of tool calls are put together, everything else
// is replaced, but not by an empty list.
func (m *partial) set(f rawjson.Member) {
	for i, old := range m.members {
		if old.Name != f.Name {
			continue
		}
		list := kindOf(old.Value) == '[' && kindOf(f.Value) == '['
		if list && f.Name == "tool_call_chunks" {
			f.Value = listOf(joinChunks(splitList(old.Value), splitList(f.Value)))
		}
		if !list || len(splitList(f.Value)) > 0 {
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
		e.anyKey(m.Name).raw(joinMember(m, memberOf(piece, m.Name)), "null")
	}
	for _, m := range more {
		if memberOf(whole, m.Name) == nil {
			e.anyKey(m.Name).raw(m.Value, "null")
		}
	}
	return e.close('}').b
}

func joinMember(m rawjson.Member, more json.RawMessage) json.RawMessage {
	grows := m.Name == "args" || m.Name == "text" || m.Name == "input" || m.Name == "partial_json"
	switch {
	case grows && kindOf(m.Value) == '"' && kindOf(more) == '"':
		return appendQuoted(nil, unquote(m.Value)+unquote(more))
	case kindOf(m.Value) == 'n' && more != nil:
		return more
	default:
		return m.Value
	}
}

// message is the message so far.
func (p *partials) message(id string) json.RawMessage {
	m := p.byID[id]
	var e enc
	e.open('{')
	for _, f := range m.members {
		e.anyKey(f.Name)
		if f.Name == "content" {
			m.content(&e)
			continue
		}
		e.raw(f.Value, "null")
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
