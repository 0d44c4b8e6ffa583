package protocol

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// message is one message that is being told: message-start, its blocks one after the other,
// message-finish (CDDL, section 8).
type message struct {
	id, role  string
	namespace []string
	begun     bool
	blocks    int    // that were begun
	block     *block // the one that is open
	closed    map[string]bool
	usage     json.RawMessage
	reason    string
}

// take tells what a chunk, or a whole message, adds.
func (m *message) take(out *teller, chunk json.RawMessage) {
	m.begin(out, chunk)
	pieces := elements(member(chunk, "tool_call_chunks"))
	calls := elements(member(chunk, "tool_calls"))
	m.content(out, member(chunk, "content"), len(pieces)+len(calls) > 0)
	for _, p := range pieces {
		m.piece(out, p)
	}
	if len(pieces) == 0 {
		for _, c := range calls {
			m.call(out, c)
		}
	}
	if usage := member(chunk, "usage_metadata"); usage != nil {
		m.usage = usage
	}
	if reason := textOf(member(member(chunk, "response_metadata"), "finish_reason")); reason != "" {
		m.reason = reason
	}
}

// send emits an event of the message. SDKs tell messages that are streamed at the same time
// apart by run_id.
func (m *message) send(out *teller, name string, members func(w *writer)) {
	out.send(channelMessages, m.namespace, func(w *writer) {
		w.open().text("event", name)
		members(w)
		w.text("run_id", m.id).close()
	})
}

func (m *message) begin(out *teller, chunk json.RawMessage) {
	if m.begun {
		return
	}
	m.begun, m.closed = true, map[string]bool{}
	call := textOf(member(chunk, "tool_call_id"))
	m.send(out, "message-start", func(w *writer) {
		w.text("role", m.role).text("id", m.id).some("tool_call_id", call)
	})
}

// content is a text, or a list of blocks. Calls of tools that stand in it are left out where
// the message has them beside it.
func (m *message) content(out *teller, content json.RawMessage, calls bool) {
	if rawjson.Kind(content) == '"' {
		m.grow(out, "text", blockText, textOf(content))
		return
	}
	for _, b := range elements(content) {
		m.part(out, b, calls)
	}
}

func (m *message) part(out *teller, b json.RawMessage, calls bool) {
	index := string(member(b, "index"))
	switch kind := textOf(member(b, "type")); kind {
	case "text":
		m.grow(out, "text"+index, blockText, textOf(member(b, "text")))
	case "reasoning":
		m.grow(out, "reasoning"+index, blockReasoning, textOf(member(b, "reasoning")))
	case "thinking":
		m.grow(out, "reasoning"+index, blockReasoning, textOf(member(b, "thinking")))
	case "tool_call_chunk":
		if !calls {
			m.piece(out, b)
		}
	case "tool_call":
		if !calls {
			m.call(out, b)
		}
	case "tool_use", "input_json_delta", "":
	default:
		m.whole(out, b)
	}
}

// grow adds a text to the block of that key, which is opened where it is not. A text that goes on behind another block
// is a block of its own: blocks do not interleave.
func (m *message) grow(out *teller, key, kind, text string) {
	if text == "" {
		return
	}
	delete(m.closed, key)
	m.turnTo(out, key, func() *block { return &block{kind: kind} })
	m.block.text.WriteString(text)
	index, kind := m.block.index, m.block.kind
	m.send(out, "content-block-delta", func(w *writer) {
		w.int("index", int64(index)).object("delta", func() { w.text("type", kind+"-delta").text(kind, text) })
	})
}

// piece is a piece of a call of a tool. Its delta is told in the form that clients of today add
// up, and as content, which those before them did: they fail at a delta they do not know.
func (m *message) piece(out *teller, p json.RawMessage) {
	id, name, args := textOf(member(p, "id")), textOf(member(p, "name")), textOf(member(p, "args"))
	key := "call" + string(member(p, "index"))
	if member(p, "index") == nil {
		key = "call" + cmp.Or(id, "?")
	}
	if !m.turnTo(out, key, func() *block { return &block{kind: blockCall, id: id, name: name} }) {
		return
	}
	m.block.id, m.block.name = cmp.Or(m.block.id, id), cmp.Or(m.block.name, name)
	if args == "" {
		return
	}
	m.block.text.WriteString(args)
	index := m.block.index
	m.send(out, "content-block-delta", func(w *writer) {
		w.int("index", int64(index))
		w.object("delta", func() { w.text("type", "tool-call-delta").text("args", args) })
		w.object("content", func() { w.text("type", "tool_call_chunk").text("args", args) })
	})
}

// call is a whole call of a tool. It was told in pieces, where there is a block of its id.
func (m *message) call(out *teller, c json.RawMessage) {
	id, name := textOf(member(c, "id")), textOf(member(c, "name"))
	if m.closed["id"+id] || m.block != nil && m.block.kind == blockCall && m.block.id == id {
		return
	}
	if !m.turnTo(out, "id"+id, func() *block { return &block{kind: blockCall, id: id, name: name} }) {
		return
	}
	m.block.text.Write(member(c, "args"))
	m.closeBlock(out)
}

// whole is a block that is told at once.
func (m *message) whole(out *teller, b json.RawMessage) {
	if m.turnTo(out, "whole"+strconv.Itoa(m.blocks), func() *block { return &block{kind: blockWhole, whole: b} }) {
		m.closeBlock(out)
	}
}

// turnTo makes the block of a key the open one; false: it was closed, and blocks do not interleave.
func (m *message) turnTo(out *teller, key string, fresh func() *block) bool {
	if m.block != nil && m.block.key == key {
		return true
	}
	if m.closed[key] {
		return false
	}
	m.closeBlock(out)
	m.block = fresh()
	m.block.key, m.block.index = key, m.blocks
	m.blocks++
	index, begin := int64(m.block.index), m.block.begin()
	m.send(out, "content-block-start", func(w *writer) { w.int("index", index).raw("content", begin) })
	return true
}

func (m *message) closeBlock(out *teller) {
	if m.block == nil {
		return
	}
	b := m.block
	m.block = nil
	m.closed[b.key] = true
	if b.kind == blockCall {
		m.closed["id"+b.id] = true
	}
	index, content := int64(b.index), b.final()
	m.send(out, "content-block-finish", func(w *writer) { w.int("index", index).raw("content", content) })
}

// finish ends the message.
func (m *message) finish(out *teller) {
	m.closeBlock(out)
	usage, reason := m.usage, m.reason
	m.send(out, "message-finish", func(w *writer) {
		w.some("reason", reason)
		if usage != nil {
			w.Key("usage")
			respell(w, usage)
		}
	})
}

// respell writes the counts of tokens with the names of the writer's spelling.
func respell(w *writer, v json.RawMessage) {
	if w.spelling != Camel || rawjson.Kind(v) != '{' {
		w.Raw(v, "null")
		return
	}
	w.open()
	_ = rawjson.EachMember(v, func(name rawjson.Quoted, value json.RawMessage) {
		w.Name(w.spelling.names(name.Text())[0])
		respell(w, value)
	})
	w.close()
}
