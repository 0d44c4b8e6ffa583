package protocol

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// transcript holds the messages of a run that are being emitted, and the ids of all messages so far.
type transcript struct {
	open []*message
	told map[string]bool
}

func newTranscript() transcript { return transcript{told: map[string]bool{}} }

// delta handles a message chunk or a whole message: [chunk, metadata].
func (v *runView) delta(e *state.Entry) {
	pair := rawjson.ElementsOf(e.Data)
	if len(pair) != 2 {
		return
	}
	ns := e.Head.NS
	if in := cmp.Or(rawjson.GetText(pair[1], "langgraph_checkpoint_ns"), rawjson.GetText(pair[1], "checkpoint_ns")); in != "" {
		ns = strings.Split(in, "|")
	}
	if m := v.messages.find(pair[0], ns); m != nil {
		if e.Head.Passing {
			v.messages.pass(v.out, m)
		}
		v.tree.reachNode(v.out, ns)
		m.addChunk(v.out, pair[0])
		if m.nodeDone && m.ended {
			v.messages.finish(v.out, m)
		}
	}
}

// pass marks a message that no update will end. It ends when the next one begins, at the latest with the run.
func (tr *transcript) pass(out *emitter, m *message) {
	for _, o := range slices.Clone(tr.open) {
		if o.passing && o != m {
			tr.finish(out, o)
		}
	}
	m.passing = true
}

// find returns the message of a chunk. It returns nil for messages that are not emitted: those of users, finished ones,
// and those without an id, which clients drop.
func (tr *transcript) find(chunk json.RawMessage, ns []string) *message {
	id, role := rawjson.GetText(chunk, "id"), roleOf(chunk)
	if id == "" || role == "" {
		return nil
	}
	for _, m := range tr.open {
		if m.id == id {
			return m
		}
	}
	if tr.told[id] {
		return nil
	}
	m := &message{id: id, role: role, namespace: ns}
	tr.told[id] = true
	tr.open = append(tr.open, m)
	return m
}

// roleOf returns the role of a message. It is "" for a user's message and for anything that is not a message; both only
// appear in values.
func roleOf(m json.RawMessage) string {
	switch kind := strings.TrimSuffix(strings.TrimSuffix(rawjson.GetText(m, "type"), "Chunk"), "Message"); kind {
	case "", "human", "Human", "user", "remove", "Remove":
		return ""
	case "system", "System":
		return "system"
	case "tool", "Tool":
		return "tool"
	default:
		return "ai"
	}
}

// say emits the messages of an update that were not streamed and ends the streamed ones. If calls is true, it also
// emits tool calls.
func (tr *transcript) say(out *emitter, ns []string, update json.RawMessage, calls bool) {
	tr.end(out, update)
	for _, raw := range messagesOf(update) {
		m := tr.find(raw, ns)
		if m == nil {
			continue
		}
		m.addChunk(out, raw)
		tr.finish(out, m)
		if calls {
			out.toolCalls(ns, raw)
		}
	}
}

// end completes and ends the messages of an update that are being emitted.
func (tr *transcript) end(out *emitter, update json.RawMessage) {
	for _, raw := range messagesOf(update) {
		id := rawjson.GetText(raw, "id")
		if i := slices.IndexFunc(tr.open, func(m *message) bool { return m.id == id }); i >= 0 {
			m := tr.open[i]
			m.complete(out, raw)
			tr.finish(out, m)
		}
	}
}

// messagesOf returns the messages of an update, which may have one message or a list.
func messagesOf(update json.RawMessage) []json.RawMessage {
	list := member(update, "messages")
	if rawjson.Kind(list) == '{' {
		return []json.RawMessage{list}
	}
	return rawjson.ElementsOf(list)
}

func (tr *transcript) forget(m *message) {
	tr.open = slices.DeleteFunc(tr.open, func(o *message) bool { return o == m })
}

// close closes the messages of nodes with output in ns.
func (tr *transcript) close(out *emitter, ns []string, nodes []output) {
	for _, n := range nodes {
		tr.closeWithin(out, append(slices.Clone(ns), n.name))
	}
}

// closeWithin closes the messages of a namespace and of those below it. The pieces of a message may follow the output
// of its node if that lacks the message. Such a message stays open until it ends, at the latest with the run.
func (tr *transcript) closeWithin(out *emitter, prefix []string) {
	for _, m := range slices.Clone(tr.open) {
		if !isPrefix(prefix, m.namespace) {
			continue
		}
		if m.nodeDone = true; m.ended {
			tr.finish(out, m)
		}
	}
	for i := 0; len(tr.open) > mostOpen && i < len(tr.open); {
		if m := tr.open[i]; m.nodeDone {
			tr.finish(out, m)
		} else {
			i++
		}
	}
}

// mostOpen bounds the messages that stay open, with all their text, because the agent does not mark their end.
const mostOpen = 100

// closeAll ends all messages.
func (tr *transcript) closeAll(out *emitter) {
	for _, m := range slices.Clone(tr.open) {
		tr.finish(out, m)
	}
}

// finish ends a message.
func (tr *transcript) finish(out *emitter, m *message) {
	m.finish(out)
	tr.forget(m)
}
