package render

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// partials holds the messages of a run with the tokens so far. It depends only on the delta events since the start of
// the run and, if they have tokens, on the agent's frames of the mode events. So every reader has the same partials at
// the same event.
type partials struct{ byID map[string]*partial }

// partial is one message. Its text is stored separately, because it grows with every token. Other members come from the
// newest chunk that had them.
type partial struct {
	text    strings.Builder
	blocks  []json.RawMessage // content that arrived as blocks
	members []rawjson.Member
	seq     int64 // of the newest event in it
	inner   bool  // the tokens arrive in frames of the mode events
}

func newPartials() *partials { return &partials{byID: map[string]*partial{}} }

// add processes a delta event. first reports whether the event begins its message. id is "" if the chunk has no id;
// clients drop such chunks. An event that was already added is ignored.
func (p *partials) add(e *state.Entry) (id string, first bool) {
	chunk, _ := splitDelta(e.Data)
	return p.addChunk(chunk, e.Seq, false)
}

// addChunk is like add for a token that may belong to an inner graph. If a message arrives both in events frames and as
// deltas, only the first way counts, because the whole message of an inner graph follows its tokens as a delta.
func (p *partials) addChunk(chunk json.RawMessage, seq int64, inner bool) (id string, first bool) {
	members, err := rawjson.Members(chunk)
	if err != nil {
		return "", false
	}
	id = messageID(chunk)
	if id == "" {
		return "", false
	}
	m, ok := p.byID[id]
	if !ok {
		m = &partial{inner: inner}
		p.byID[id] = m
	}
	if m.inner != inner {
		return "", false
	}
	if seq > m.seq {
		m.seq = seq
		m.merge(members)
	}
	return id, !ok
}

func (m *partial) merge(members []rawjson.Member) {
	for _, f := range members {
		switch {
		case f.Name == "content" && rawjson.Kind(f.Value) == '"':
			m.text.WriteString(rawjson.TextOf(f.Value))
			f.Value = nil
		case f.Name == "content":
			m.blocks = joinChunks(m.blocks, rawjson.ElementsOf(f.Value))
			f.Value = nil
		}
		m.set(f)
	}
}

// set stores a member. It joins pieces of tool calls and replaces other members, except with an empty list.
func (m *partial) set(f rawjson.Member) {
	for i, old := range m.members {
		if old.Name != f.Name {
			continue
		}
		list := rawjson.Kind(old.Value) == '[' && rawjson.Kind(f.Value) == '['
		if list && f.Name == "tool_call_chunks" {
			f.Value = listOf(joinChunks(rawjson.ElementsOf(old.Value), rawjson.ElementsOf(f.Value)))
		}
		if !list || len(rawjson.ElementsOf(f.Value)) > 0 {
			m.members[i] = f
		}
		return
	}
	m.members = append(m.members, f)
}

// joinChunks adds pieces to a list. A piece with the index of an element is joined to that element; others are
// appended.
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
	index := rawjson.Get(piece, "index")
	for i := range list {
		if index != nil && string(rawjson.Get(list[i], "index")) == string(index) {
			return i
		}
	}
	return -1
}

// joinChunk appends growing texts. For other members, the first value that is not null counts.
func joinChunk(whole, piece json.RawMessage) json.RawMessage {
	members, _ := rawjson.Members(whole)
	more, _ := rawjson.Members(piece)
	var e rawjson.Writer
	e.Open('{')
	for _, m := range members {
		e.Name(m.Name).Raw(joinMember(m, rawjson.Get(piece, m.Name)), "null")
	}
	for _, m := range more {
		if rawjson.Get(whole, m.Name) == nil {
			e.Name(m.Name).Raw(m.Value, "null")
		}
	}
	return e.Close('}').Bytes
}

func joinMember(m rawjson.Member, more json.RawMessage) json.RawMessage {
	grows := m.Name == "args" || m.Name == "text" || m.Name == "input" || m.Name == "partial_json"
	switch {
	case grows && rawjson.Kind(m.Value) == '"' && rawjson.Kind(more) == '"':
		return rawjson.Quote(rawjson.TextOf(m.Value) + rawjson.TextOf(more))
	case rawjson.Kind(m.Value) == 'n' && more != nil:
		return more
	default:
		return m.Value
	}
}

// message returns the message so far.
func (p *partials) message(id string) json.RawMessage {
	m := p.byID[id]
	var e rawjson.Writer
	e.Open('{')
	for _, f := range m.members {
		e.Name(f.Name)
		if f.Name == "content" {
			m.content(&e)
			continue
		}
		e.Raw(f.Value, "null")
	}
	e.Close('}')
	return e.Bytes
}

func (m *partial) content(e *rawjson.Writer) {
	if m.blocks == nil {
		e.Text(m.text.String())
		return
	}
	e.Open('[')
	if m.text.Len() > 0 {
		e.Open('{').Key("type").Text("text").Key("text").Text(m.text.String()).Close('}')
	}
	for _, b := range m.blocks {
		e.Raw(b, "null")
	}
	e.Close(']')
}
