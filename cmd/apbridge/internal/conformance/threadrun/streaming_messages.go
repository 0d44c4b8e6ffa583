package threadrun

import (
	"fmt"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

func (s *streaming) messageChecks() []check.Check {
	section := "8. Messages Module, "
	return []check.Check{
		{ID: "streaming.messages.start", Level: check.Must, Says: "A message begins with its role and id.", Cites: streamingDoc.At(section + "MessageStartData"),
			Run: func(t *check.Talk) {
				shape := check.Object(check.Members{"role": check.OneOf("ai", "human", "system"), "id": check.Text}, nil)
				for _, m := range s.messages(t) {
					if m.word == "message-start" {
						t.Fits(shape, m.data, "message-start")
					}
				}
			}},
		{ID: "streaming.messages.order", Level: check.Must, Says: "A message starts, sends its blocks one after another, and finishes.", Cites: streamingDoc.At(section + "event lifecycle"), Run: s.order},
		{ID: "streaming.messages.blocks", Level: check.Must, Says: "A block has an index, starts with its content, and finishes with it.", Cites: streamingDoc.At(section + "ContentBlockStartData, ContentBlockDeltaData and ContentBlockFinishData"),
			Run: func(t *check.Talk) {
				content := check.Object(check.Members{"index": check.Integer, "content": check.Object(check.Members{"type": check.Text}, nil)}, nil)
				delta := check.Object(check.Members{"index": check.Integer, "delta": check.Object(check.Members{"type": check.Text}, nil)}, nil)
				shapes := map[string]check.Shape{"content-block-start": content, "content-block-finish": content, "content-block-delta": delta}
				for _, m := range s.messages(t) {
					if shape, ok := shapes[m.word]; ok {
						t.Fits(shape, m.data, m.word)
					}
				}
			}},
	}
}

// part is an event of a message.
type part struct {
	from string // namespace and node, within which messages do not overlap
	word string
	data any
}

// messages returns the parts of the run's messages. Without any it skips the check.
func (s *streaming) messages(t *check.Talk) (parts []part) {
	for _, e := range s.events(t) {
		if check.At(e.Data, "method") == "messages" {
			word := check.TextAt(e.Data, "params.data.event")
			from := fmt.Sprint(check.At(e.Data, "params.namespace"), check.At(e.Data, "params.node"))
			parts = append(parts, part{from, word, check.At(e.Data, "params.data")})
		}
	}
	if len(parts) == 0 {
		t.Skip("the run streamed no messages")
	}
	return parts
}

func (s *streaming) order(t *check.Talk) {
	type place struct{ message, block bool }
	open := map[string]place{}
	for _, m := range s.messages(t) {
		p := open[m.from]
		ok := true
		switch m.word {
		case "message-start":
			ok, p = !p.message, place{message: true}
		case "content-block-start":
			ok, p.block = p.message && !p.block, true
		case "content-block-delta":
			ok = p.block
		case "content-block-finish":
			ok, p.block = p.block, false
		case "message-finish":
			ok, p = p.message && !p.block, place{}
		case "error":
			p = place{}
		default:
			ok = false
		}
		if !ok {
			t.Fail("there is a %s out of order", m.word)
		}
		open[m.from] = p
	}
	for _, p := range open {
		if p.message {
			t.Fail("a message never finishes")
		}
	}
}
