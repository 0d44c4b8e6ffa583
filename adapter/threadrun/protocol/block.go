package protocol

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Kinds of content blocks (CDDL, section 2).
const (
	blockText      = "text"
	blockReasoning = "reasoning"
	blockCall      = "tool_call"
	blockWhole     = "" // any other kind; emitted as a whole
)

// block is one block of a message's content.
type block struct {
	kind, key string
	index     int
	text      strings.Builder // or the JSON arguments of a call
	id, name  string          // of a call
	args      jsonDepth       // tracks the arguments of a call that arrives in pieces
	whole     json.RawMessage
	atOnce    bool // it arrived as a whole
	begun     bool
	told      int // bytes of text emitted so far
}

// isBroken reports whether the block is a call with incomplete arguments.
func (b *block) isBroken() bool { return b.kind == blockCall && !b.args.ended }

// become sets the final arguments of a call. They are emitted when the call ends, because they may be formatted
// differently from the pieces.
func (b *block) become(args json.RawMessage) {
	b.text.Reset()
	b.text.Write(args)
	b.told, b.args.ended = len(args), true
}

// opening returns the block without its content.
func (b *block) opening() json.RawMessage {
	w := &writer{spelling: Snake}
	switch b.kind {
	case blockWhole:
		return b.whole
	case blockCall:
		w.open().text("type", "tool_call_chunk")
		b.nameCall(w)
		return w.text("args", "").close().Bytes
	default:
		return w.open().text("type", b.kind).text(b.kind, "").close().Bytes
	}
}

func (b *block) nameCall(w *writer) {
	for _, m := range []struct{ name, value string }{{"id", b.id}, {"name", b.name}} {
		if m.value == "" {
			w.raw(m.name, nil)
		} else {
			w.text(m.name, m.value)
		}
	}
}

// final returns the complete block.
func (b *block) final() json.RawMessage {
	w := &writer{spelling: Snake}
	switch b.kind {
	case blockWhole:
		return b.whole
	case blockCall:
		return b.finalCall(w)
	default:
		return w.open().text("type", b.kind).text(b.kind, b.text.String()).close().Bytes
	}
}

// finalCall returns a call with its arguments, or an invalid call if they are not an object.
func (b *block) finalCall(w *writer) json.RawMessage {
	args := cmp.Or(strings.TrimSpace(b.text.String()), "{}")
	if args[0] == '{' && rawjson.Valid([]byte(args)) {
		w.open().text("type", blockCall)
		b.nameCall(w)
		return w.raw("args", json.RawMessage(args)).close().Bytes
	}
	w.open().text("type", "invalid_tool_call")
	b.nameCall(w)
	return w.text("args", b.text.String()).text("error", "The arguments are not a JSON object.").close().Bytes
}
