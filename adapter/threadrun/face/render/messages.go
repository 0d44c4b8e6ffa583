package render

import (
	"bytes"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// This file creates the frames of messages: `messages` with [chunk, metadata] in the mode messages-tuple, and
// messages/metadata, messages/partial and messages/complete in the mode messages. Clients concatenate chunks with the
// same id, so a text is sent either as tokens or whole, never both.

// delta handles a token.
func (v *View) delta() {
	v.inner.add(v.e)
	if v.e.Head.Node != "" { // an opaque agent's
		v.noteToken()
	}
	if v.partials != nil {
		if id, first := v.partials.add(v.e); id != "" {
			v.deltaPartials(id, first)
		}
	}
	v.frame(deltaTuple, modeTuple, "messages", v.data)
}

// noteToken records the message to which a token belongs.
func (v *View) noteToken() {
	if v.streamed == nil {
		v.streamed = map[string]bool{}
	}
	chunk, _ := splitDelta(v.e.Data)
	v.streamed[messageID(chunk)] = true
}

// hasTokens reports whether the reader received the tokens of a step's message. It did not if it joined later, or if
// retention has removed them. A reader that resumes is assumed to have received them.
func (v *View) hasTokens(m json.RawMessage) bool {
	return v.e.Head.Streamed && (v.After.Seq > 0 || v.streamed[messageID(m)])
}

func (v *View) deltaPartials(id string, first bool) {
	if first {
		v.frame(deltaMetadata, modeMessages, "messages/metadata", func() []byte {
			_, metadata := splitDelta(v.e.Data)
			return metadataObject(id, metadata)
		})
	}
	v.partial(deltaPartial, id)
}

// hasInnerToken reports whether an event has a token of an inner graph that the reader needs.
func (v *View) hasInnerToken(e *state.Entry) bool {
	return v.events && v.partials != nil && e.Kind == mapping.KindChunk && e.Head.Name == "events"
}

// innerToken handles a token of an inner graph of a thread/run agent, from its frame of the mode events.
func (v *View) innerToken() {
	if !v.hasInnerToken(v.e) {
		return
	}
	chunk, metadata := rule.InnerToken(v.e.Data)
	id, first := v.partials.addChunk(chunk, v.e.Seq, true)
	if id == "" {
		return
	}
	if first {
		v.frame(chunkMetadata, modeMessages, "messages/metadata", func() []byte { return metadataObject(id, metadata) })
	}
	v.partial(chunkPartial, id)
}

// partial sends a message with the tokens so far.
func (v *View) partial(slot int, id string) {
	// Each frame has the whole text so far. Keeping all frames would take memory quadratic in the length of the text.
	v.passing(slot, modeMessages, "messages/partial", func() []byte {
		var e rawjson.Writer
		e.Open('[').Raw(v.partials.message(id), "null").Close(']')
		return e.Bytes
	})
}

// splitDelta splits [chunk, metadata].
func splitDelta(data json.RawMessage) (chunk, metadata json.RawMessage) {
	list := rawjson.ElementsOf(data)
	if len(list) > 0 {
		chunk = list[0]
	}
	if len(list) > 1 {
		metadata = list[1]
	}
	return chunk, metadata
}

// metadataObject returns {id: {metadata}}.
func metadataObject(id string, metadata json.RawMessage) []byte {
	var e rawjson.Writer
	e.Open('{').Name(id).Open('{').Key("metadata").Raw(metadata, "{}").Close('}').Close('}')
	return e.Bytes
}

// updateMessages sends the whole messages of a step. The human message of a run only appears in values.
func (v *View) updateMessages() {
	if v.modes&(modeMessages|modeTuple) == 0 {
		return
	}
	said := spoken(v.e.Data)
	if len(said) == 0 {
		return
	}
	if !v.hasTokens(said[0]) {
		v.frame(updateMetadata, modeMessages, "messages/metadata", func() []byte {
			var e rawjson.Writer
			e.Open('{')
			for _, m := range said {
				e.Name(messageID(m)).Open('{').Key("metadata").Raw(v.stepMetadata(), "{}").Close('}')
			}
			e.Close('}')
			return e.Bytes
		})
	}
	v.frame(updateComplete, modeMessages, "messages/complete", func() []byte { return listOf(said) })
	v.tuples(said)
}

// tuples sends the messages of a step in chunks. The text of a streamed message has been sent already.
func (v *View) tuples(said []json.RawMessage) {
	if v.modes&modeTuple == 0 {
		return
	}
	slot := updateTuple
	for _, m := range said {
		for i, chunk := range chunksOf(m) {
			if i > 0 || !v.hasTokens(m) {
				v.frame(slot, modeTuple, "messages", func() []byte {
					var e rawjson.Writer
					e.Open('[').Raw(chunk, "null").Raw(v.stepMetadata(), "{}").Close(']')
					return e.Bytes
				})
			}
			slot = min(max(slot+1, updateMoreTuples), updateBehind-1)
		}
	}
}

func listOf(messages []json.RawMessage) []byte {
	var e rawjson.Writer
	e.Array(messages)
	return e.Bytes
}

// spoken returns the messages of a delta except human ones.
func spoken(delta json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for _, m := range rawjson.ElementsOf(rawjson.Get(delta, "messages")) {
		if t := rawjson.GetText(m, "type"); t != "human" && messageID(m) != "" {
			out = append(out, m)
		}
	}
	return out
}

func messageID(m json.RawMessage) string { return rawjson.GetText(m, "id") }

// stateMessages completes the new messages in the state of a thread/run agent.
func (v *View) stateMessages() {
	if v.modes&modeMessages == 0 || v.e.Data == nil {
		return
	}
	if fresh := newMessages(v.e.Before, v.e.After); len(fresh) > 0 {
		v.frame(stateComplete, modeMessages, "messages/complete", func() []byte { return listOf(fresh) })
	}
}

// newMessages returns the messages of after that follow the common beginning of both states.
func newMessages(before, after *state.Fold) []json.RawMessage {
	old, now := before.Messages(), after.Messages()
	n := 0
	for n < len(old) && n < len(now) && bytes.Equal(old[n], now[n]) {
		n++
	}
	return now[n:]
}
