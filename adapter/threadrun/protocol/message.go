package protocol

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// message is a message that is being emitted as message-start, its blocks in sequence, and message-finish (CDDL,
// section 8).
type message struct {
	id, role  string
	namespace []string
	begun     bool
	blocks    blocks
	texts     map[string]*strings.Builder // all text so far, by kind of block
	usage     json.RawMessage
	reason    string
	ended     bool // the agent has sent the last piece and marked it so
	nodeDone  bool // the node's output has arrived without the message
	passing   bool // it reports progress, and no output has it
}

// addChunk adds a chunk or a whole message.
func (m *message) addChunk(out *emitter, chunk json.RawMessage) {
	m.start(out, chunk)
	pieces := rawjson.ElementsOf(member(chunk, "tool_call_chunks"))
	calls := rawjson.ElementsOf(member(chunk, "tool_calls"))
	m.content(out, member(chunk, "content"), len(pieces)+len(calls) > 0)
	for _, p := range pieces {
		m.piece(out, p)
	}
	if len(pieces) == 0 {
		for _, c := range calls {
			m.call(out, c)
		}
	}
	m.note(chunk)
}

// note records the token counts and the finish reason for the end of the message.
func (m *message) note(chunk json.RawMessage) {
	if usage := member(chunk, "usage_metadata"); usage != nil {
		m.usage = usage
	}
	if reason := rawjson.GetText(member(chunk, "response_metadata"), "finish_reason"); reason != "" {
		m.reason = reason
	}
	m.ended = m.ended || isLast(chunk)
}

// endNames lists the names that providers use for the finish reason in response_metadata or additional_kwargs.
var endNames = []string{"finish_reason", "stop_reason", "done_reason", "finishReason", "stopReason"}

// isLast reports whether a chunk is marked as the last one of its message.
func isLast(chunk json.RawMessage) bool {
	if rawjson.GetText(chunk, "chunk_position") == "last" {
		return true
	}
	for _, of := range []json.RawMessage{member(chunk, "response_metadata"), member(chunk, "additional_kwargs")} {
		if slices.ContainsFunc(endNames, func(name string) bool { return rawjson.GetText(of, name) != "" }) {
			return true
		}
	}
	return false
}

// complete adds missing pieces from the whole message in the node's output, which ends the message. An agent may send
// those pieces later.
func (m *message) complete(out *emitter, whole json.RawMessage) {
	for _, kind := range []string{blockReasoning, blockText} {
		said := ""
		if text := m.texts[kind]; text != nil {
			said = text.String()
		}
		if rest, ok := strings.CutPrefix(textOf(member(whole, "content"), kind), said); ok {
			m.grow(out, m.blocks.lastKey(kind), kind, rest)
		}
	}
	for _, c := range rawjson.ElementsOf(member(whole, "tool_calls")) {
		if b := m.blocks.broken(rawjson.GetText(c, "id")); b != nil {
			b.become(member(c, "args"))
		} else {
			m.call(out, c)
		}
	}
	m.note(whole)
}

// textOf concatenates the text of all blocks of one kind.
func textOf(content json.RawMessage, kind string) string {
	if rawjson.Kind(content) == '"' {
		if kind == blockText {
			return rawjson.TextOf(content)
		}
		return ""
	}
	var text strings.Builder
	for _, b := range rawjson.ElementsOf(content) {
		switch name := rawjson.GetText(b, "type"); {
		case name == kind:
			text.WriteString(rawjson.GetText(b, kind))
		case name == "thinking" && kind == blockReasoning:
			text.WriteString(rawjson.GetText(b, name))
		}
	}
	return text.String()
}

// send emits an event of the message. SDKs distinguish concurrently streamed messages by run_id.
func (m *message) send(out *emitter, name string, members func(w *writer)) {
	out.send(channelMessages, m.namespace, func(w *writer) {
		w.open().text("event", name)
		members(w)
		w.text("run_id", m.id).close()
	})
}

func (m *message) start(out *emitter, chunk json.RawMessage) {
	if m.begun {
		return
	}
	m.begun, m.blocks.closed, m.texts = true, map[string]bool{}, map[string]*strings.Builder{}
	call := rawjson.GetText(chunk, "tool_call_id")
	m.send(out, "message-start", func(w *writer) {
		w.text("role", m.role).text("id", m.id).some("tool_call_id", call)
	})
}

// content adds a string or a list of blocks. Tool calls in it are skipped if the message has them in a separate member.
func (m *message) content(out *emitter, content json.RawMessage, calls bool) {
	if rawjson.Kind(content) == '"' {
		m.grow(out, "text", blockText, rawjson.TextOf(content))
		return
	}
	for _, b := range rawjson.ElementsOf(content) {
		m.part(out, b, calls)
	}
}

func (m *message) part(out *emitter, b json.RawMessage, calls bool) {
	index := string(member(b, "index"))
	switch kind := rawjson.GetText(b, "type"); kind {
	case "text":
		m.grow(out, "text"+index, blockText, rawjson.GetText(b, "text"))
	case "reasoning":
		m.grow(out, "reasoning"+index, blockReasoning, rawjson.GetText(b, "reasoning"))
	case "thinking":
		m.grow(out, "reasoning"+index, blockReasoning, rawjson.GetText(b, "thinking"))
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

// grow appends text to the last block if it has the key. Otherwise it begins a new block.
func (m *message) grow(out *emitter, key, kind, text string) {
	if text == "" {
		return
	}
	b := m.blocks.last(key)
	if b == nil {
		b = m.blocks.add(&block{kind: kind, key: key})
	}
	b.text.WriteString(text)
	if m.texts[kind] == nil {
		m.texts[kind] = &strings.Builder{}
	}
	m.texts[kind].WriteString(text)
	m.advance(out)
}

// piece adds a piece of a tool call.
func (m *message) piece(out *emitter, p json.RawMessage) {
	id, name, args := rawjson.GetText(p, "id"), rawjson.GetText(p, "name"), rawjson.GetText(p, "args")
	key := "call" + string(member(p, "index"))
	if member(p, "index") == nil {
		key = "call" + cmp.Or(id, "?")
	}
	b := m.blocks.call(key, id)
	if b == nil {
		if m.blocks.isTold(key, id) {
			m.blocks.closed[key] = true // further pieces may omit the id
			return
		}
		b = m.blocks.add(&block{kind: blockCall, key: key})
	}
	b.id, b.name = cmp.Or(b.id, id), cmp.Or(b.name, name)
	b.text.WriteString(args)
	b.args.read(args)
	m.advance(out)
}

// call adds a whole tool call as a block with its id, unless it arrived in pieces.
func (m *message) call(out *emitter, c json.RawMessage) {
	id, name := rawjson.GetText(c, "id"), rawjson.GetText(c, "name")
	if m.blocks.hasCall(id) {
		return
	}
	b := m.blocks.add(&block{kind: blockCall, key: "id" + id, id: id, name: name, atOnce: true})
	b.text.Write(member(c, "args"))
	m.advance(out)
}

// whole adds a block that is emitted as a whole.
func (m *message) whole(out *emitter, b json.RawMessage) {
	m.blocks.add(&block{kind: blockWhole, whole: b, atOnce: true})
	m.advance(out)
}

// advance emits the blocks that can already be emitted.
func (m *message) advance(out *emitter) {
	for len(m.blocks.open) > 0 {
		b := m.blocks.open[0]
		m.emitBlock(out, b)
		if !b.atOnce && (len(m.blocks.open) == 1 || b.isBroken()) {
			return
		}
		m.close(out, b)
	}
}

// emitBlock emits the new part of the first block.
func (m *message) emitBlock(out *emitter, b *block) {
	index := int64(b.index)
	if !b.begun {
		b.begun = true
		begin := b.opening()
		m.send(out, "content-block-start", func(w *writer) { w.int("index", index).raw("content", begin) })
	}
	text := b.text.String()[b.told:]
	if text == "" || b.atOnce {
		return
	}
	b.told += len(text)
	kind := b.kind
	m.send(out, "content-block-delta", func(w *writer) {
		w.int("index", index)
		writeDelta(w, kind, text)
	})
}

// writeDelta writes a piece of a block. A piece of a call is written as a delta, which current clients concatenate, and
// as content for earlier clients, which fail on an unknown delta.
func writeDelta(w *writer, kind, text string) {
	if kind != blockCall {
		w.object("delta", func() { w.text("type", kind+"-delta").text(kind, text) })
		return
	}
	w.object("delta", func() { w.text("type", "tool-call-delta").text("args", text) })
	w.object("content", func() { w.text("type", "tool_call_chunk").text("args", text) })
}

// close ends the first block.
func (m *message) close(out *emitter, b *block) {
	m.blocks.shift()
	index, content := int64(b.index), b.final()
	m.send(out, "content-block-finish", func(w *writer) { w.int("index", index).raw("content", content) })
}

// finish ends the message.
func (m *message) finish(out *emitter) {
	for _, b := range m.blocks.open {
		m.emitBlock(out, b)
		m.close(out, b)
	}
	usage, reason := m.usage, m.reason
	m.send(out, "message-finish", func(w *writer) {
		w.some("reason", reason)
		if usage != nil {
			w.Key("usage")
			respell(w, usage)
		}
	})
}

// respell writes the token counts in the writer's spelling.
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
