package render

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// In the mode messages-tuple a reader without subgraphs gets the messages of inner graphs whole, with the output of the
// node that they are within. A server whose frames of inner graphs are asked for, to have their tokens in the mode
// messages, sends those tokens in place of the whole messages. So the whole ones are made here.

// innerMessages are the messages that inner graphs have streamed, by id, with the metadata of their first chunks; nil
// for those that the reader has.
type innerMessages map[string]json.RawMessage

// add notes the message of a token.
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

// innerMessages sends the messages of an output that inner graphs have streamed.
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

// outerMetadata is the metadata of a message that a node has put out, made of that of a chunk from within the node.
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
