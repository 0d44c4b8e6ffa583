package render

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// In the mode messages-tuple, a reader without subgraphs gets whole messages of inner graphs together with the output
// of the enclosing node. If the frames of inner graphs are requested from a server because the mode messages needs
// their tokens, the server sends the tokens instead of the whole messages. This file then creates the whole messages.

// innerMessages maps the ids of messages that inner graphs have streamed to the metadata of their first chunks. The
// value is nil if the reader already has the message.
type innerMessages map[string]json.RawMessage

// add records the message of a token.
func (m innerMessages) add(e *state.Entry) {
	if m == nil {
		return
	}
	chunk, metadata := splitDelta(e.Data)
	id := messageID(chunk)
	if _, known := m[id]; id == "" || known {
		return
	}
	if m[id] = nil; len(e.Head.NS) > 0 {
		m[id] = metadata
	}
}

// innerMessages sends the messages in a node's output that inner graphs have streamed.
func (v *View) innerMessages() {
	if v.inner == nil || len(v.e.Head.NS) > 0 {
		return
	}
	slot := updateMoreTuples
	for _, part := range rule.NodeDeltas(v.e.Head.Node, v.e.Data) {
		for _, m := range spoken(part.Delta) {
			metadata := v.inner[messageID(m)]
			if metadata == nil {
				continue
			}
			v.inner[messageID(m)] = nil
			v.frame(slot, modeTuple, "messages", func() []byte {
				var e rawjson.Writer
				e.Open('[').Raw(m, "null").Raw(outerMetadata(metadata, part.Node), "{}").Close(']')
				return e.Bytes
			})
			slot = min(slot+1, updateBehind-1)
		}
	}
}

// outerMetadata derives the metadata of a node's message from the metadata of a chunk within the node.
func outerMetadata(inner json.RawMessage, node string) json.RawMessage {
	set := []rawjson.Member{{Name: "langgraph_node", Value: rawjson.Quote(node)}, {Name: "langgraph_step"}, {Name: "langgraph_path"}, {Name: "langgraph_triggers"}}
	for _, name := range []string{"langgraph_checkpoint_ns", "checkpoint_ns"} {
		if ns := rawjson.GetText(inner, name); ns != "" {
			outer, _, _ := strings.Cut(ns, "|")
			set = append(set, rawjson.Member{Name: name, Value: rawjson.Quote(outer)})
		}
	}
	made, err := rawjson.WithMembers(inner, set...)
	if err != nil {
		return nil
	}
	return made
}
