package protocol

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// shown is the text that a client adds up from the pieces of a run's messages, and what the blocks are in the end.
func shown(t *testing.T, events ...mapping.Event) (text string, blocks []string) {
	t.Helper()
	w := newWorld().play(runOf(1, "graph"), events...)
	for _, line := range bytes.Split(told(t, w, filter{channels: []string{channelMessages}, depth: -1}, Snake), []byte("\n")) {
		data := member(member(line, "params"), "data")
		switch rawjson.GetText(data, "event") {
		case "content-block-delta":
			delta := member(data, "delta")
			text += rawjson.GetText(delta, "text") + rawjson.GetText(delta, "reasoning")
		case "content-block-finish":
			blocks = append(blocks, string(member(data, "content")))
		}
	}
	return text, blocks
}

// An agent may send tokens after the output of their node, which has the whole message: all of it is told, once.
func TestTokensBehindTheirNodesOutputAreTold(t *testing.T) {
	t.Parallel()
	const tokens, before = 10_000, 7_518
	events := []mapping.Event{started()}
	for range before {
		events = append(events, piece("m1", "plan:t1", `"content":"tok "`))
	}
	text := strings.Repeat("tok ", tokens)
	whole := `{"messages":[{"id":"m1","type":"ai","content":"` + text + `"}]}`
	late := piece("m1", "plan:t1", `"content":"tok "`)
	for name, output := range map[string]mapping.Event{
		"its update": {Kind: mapping.KindUpdate, Data: raw(whole), Head: mapping.Head{Node: "plan"}},
		"its task":   chunk("tasks", `{"id":"t1","name":"plan","result":`+whole+`}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, blocks := shown(t, append(events[:len(events):len(events)], output, late, late, succeeded())...)
			if got != text || len(blocks) != 1 {
				t.Errorf("%d of %d bytes in %d blocks are told", len(got), len(text), len(blocks))
			}
		})
	}
}

// What is missing of a message may be of any kind. Nothing is added to a text that the output has otherwise.
func TestAMessageIsCompletedFromItsNodesOutput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pieces []string
		whole  string
		text   string
		blocks []string
	}{
		"blocks": {
			[]string{`"content":[{"type":"thinking","thinking":"h","index":0}]`},
			`"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"well"}]`, "hmwell",
			[]string{`{"type":"reasoning","reasoning":"hm"}`, `{"type":"text","text":"well"}`},
		},
		"a call": {
			[]string{`"content":"","tool_call_chunks":[{"id":"c1","name":"look","args":"{\"a\"","index":1}]`},
			`"content":"","tool_calls":[{"id":"c1","name":"look","args":{"a": 1}},{"id":"c2","name":"see","args":{}}]`, "",
			[]string{`{"type":"tool_call","id":"c1","name":"look","args":{"a": 1}}`, `{"type":"tool_call","id":"c2","name":"see","args":{}}`},
		},
		"another text": {[]string{`"content":"hello"`}, `"content":"goodbye"`, "hello", []string{`{"type":"text","text":"hello"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := []mapping.Event{started()}
			for _, p := range tt.pieces {
				events = append(events, piece("m1", "plan:t1", p))
			}
			output := mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"messages":[{"id":"m1","type":"ai",` + tt.whole + `}]}`), Head: mapping.Head{Node: "plan"}}
			text, blocks := shown(t, append(events, output, succeeded())...)
			if text != tt.text {
				t.Errorf("the text is %q, want %q", text, tt.text)
			}
			if d := cmp.Diff(tt.blocks, blocks); d != "" {
				t.Error(d)
			}
		})
	}
}
