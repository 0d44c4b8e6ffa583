package protocol

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// Any frames of an agent become valid events, in which each message begins once, ends once, and has one open block at a
// time.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"id":"m","type":"ai","content":"x"}`), []byte(`{"id":"m","type":"ai","content":[{"type":"reasoning","reasoning":"y","index":0},{"type":"image","url":"u"}]}`))
	f.Add([]byte(`{"id":"m","type":"AIMessageChunk","tool_call_chunks":[{"id":"c","name":"n","args":"{","index":0}]}`), []byte(`{"id":"n","type":"tool","content":"y","tool_call_id":"c","tool_calls":[{"id":"c","args":{}}]}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		if !rawjson.Valid(one) || !rawjson.Valid(two) {
			return
		}
		open, begun := map[string]int{}, map[string]bool{}
		tr := newTranslator(func(ev *event, at position) {
			line := ev.encode(at, Camel)
			if !rawjson.Valid(line) {
				t.Fatalf("not JSON: %s", line)
			}
			if ev.method == channelMessages {
				framed(t, member(member(line, "params"), "data"), open, begun)
			}
		})
		run := runOf(1, "graph")
		tr.beginRun(&run)
		for i, chunk := range [][]byte{one, two, one} {
			data := append(append([]byte("["), chunk...), []byte(`,{"langgraph_checkpoint_ns":"a:1"}]`)...)
			tr.entry(&state.Entry{Event: mapping.Event{Seq: int64(i + 1), RunID: uuid(101), Kind: mapping.KindDelta, Data: data}})
		}
		tr.runs[uuid(101)].messages.closeAll(tr.out)
		for id, n := range open {
			if n != 0 || !begun[id] {
				t.Errorf("message %q is left open", id)
			}
		}
	})
}

// framed processes one event of a message. open is 1 during a message, and 2 within a block.
func framed(t *testing.T, data []byte, open map[string]int, begun map[string]bool) {
	t.Helper()
	id := rawjson.GetText(data, "runId")
	was, is := map[string][2]int{
		"message-start": {0, 1}, "content-block-start": {1, 2}, "content-block-delta": {2, 2}, "content-block-finish": {2, 1}, "message-finish": {1, 0},
	}[rawjson.GetText(data, "event")], open[id]
	if is != was[0] || was == [2]int{} || is == 0 && begun[id] {
		t.Errorf("in state %d comes %s", is, data)
	}
	open[id], begun[id] = was[1], true
}
