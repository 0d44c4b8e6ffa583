package protocol

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/google/go-cmp/cmp"
)

// shown returns the text that a client builds from the pieces of a run's messages, and the final blocks.
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

// An agent may send tokens after the node's output, which has the whole message. The text is emitted exactly once.
func TestTokensAfterTheirNodesOutputAreEmittedOnce(t *testing.T) {
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
				t.Errorf("%d of %d bytes in %d blocks were emitted", len(got), len(text), len(blocks))
			}
		})
	}
}

// The number of messages without an end is limited, so that a long run does not keep all its text in memory.
func TestTheNumberOfUnfinishedMessagesIsLimited(t *testing.T) {
	t.Parallel()
	events := []mapping.Event{started()}
	for i := range 3 * mostOpen {
		events = append(events, piece("m"+strconv.Itoa(i), "plan:t1", `"content":"a"`), mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{}`), Head: mapping.Head{Node: "plan"}})
	}
	w := newWorld().play(runOf(1, "graph"), append(events, succeeded())...)
	v := newTranslator(func(*event, position) {})
	run := runOf(1, "graph")
	v.beginRun(&run)
	most := 0
	for _, e := range w.entries[:len(w.entries)-1] {
		v.entry(e)
		most = max(most, len(v.runs[run.ID].messages.open))
	}
	if most > mostOpen+1 {
		t.Errorf("%d messages are held", most)
	}
}

// The missing part of a message may be of any kind. Nothing is added to text that differs from the output.
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

// If a model's message is in no node's output, tokens may follow the output of the node that called the model. All of
// them are emitted. If the agent has already sent the last chunk and marked it, the message ends with the node, so that
// readers need not wait for the run. Otherwise it ends with its last chunk or with the run.
func TestTokensOfAMessageInNoOutput(t *testing.T) {
	t.Parallel()
	output := mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"summary":"x"}`), Head: mapping.Head{Node: "plan"}}
	task := chunk("tasks", `{"id":"t1","name":"plan","result":{"summary":"x"}}`)
	next := chunk("tasks", `{"id":"t2","name":"answer","input":{},"triggers":["x"],"interrupts":[]}`)
	say := func(text, more string) mapping.Event { return piece("m1", "plan:t1", `"content":"`+text+`"`+more) }
	const stop = `,"response_metadata":{"finish_reason":"stop"}`
	for name, tt := range map[string]struct {
		events []mapping.Event
		text   string
		end    string // the number of the event that ends the message
	}{
		"whole before the output": {[]mapping.Event{say("a", ""), say("b", stop), output, next}, "ab", "4"},
		"whole, by another name":  {[]mapping.Event{say("a", ""), say("", `,"additional_kwargs":{"stop_reason":"end_turn"}`), task, next}, "a", "4"},
		"the last of its pieces":  {[]mapping.Event{say("a", ""), say("", `,"chunk_position":"last"`), output, next}, "a", "4"},
		"whole behind the output": {[]mapping.Event{say("a", ""), output, task, next, say("b", ""), say("c", stop), say("late", "")}, "abc", "7"},
		"whole with the run":      {[]mapping.Event{say("a", ""), output, task, next, say("b", "")}, "ab", "7"},
		"usage behind its end":    {[]mapping.Event{say("a", stop), say("", `,"usage_metadata":{"input_tokens":1}`), output}, "a", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := append(append([]mapping.Event{started()}, tt.events...), succeeded())
			text, blocks := shown(t, events...)
			if text != tt.text || len(blocks) != 1 {
				t.Errorf("emitted %q in %d blocks, want %q", text, len(blocks), tt.text)
			}
			w := newWorld().play(runOf(1, "graph"), events...)
			var ends []string
			for line := range bytes.Lines(told(t, w, filter{channels: []string{channelMessages}, depth: -1}, Snake)) {
				if rawjson.GetText(member(member(line, "params"), "data"), "event") == "message-finish" {
					at, _, _ := strings.Cut(rawjson.GetText(line, "event_id"), ".")
					ends = append(ends, at)
				}
			}
			if d := cmp.Diff([]string{tt.end}, ends); d != "" {
				t.Error(d)
			}
		})
	}
}

// The tokens of an opaque agent's step and the step itself are one message. A message that only reports progress ends
// when the next one begins.
func TestAStreamedStepIsEmittedOnce(t *testing.T) {
	t.Parallel()
	run := runOf(1, "graph")
	step := rule.StepUpdate(run.ID, "task", 1, mapping.StepInfo{Output: raw(`"hello"`), StreamedAs: "m"}, nil, mapping.ApprovalAuto)
	text, blocks := shown(t, started(), rule.StepToken(&run, "p1", "one ", true), rule.StepToken(&run, "p2", "two ", true),
		rule.StepToken(&run, "m", "hel", false), rule.StepToken(&run, "m", "lo", false), step, succeeded())
	want := []string{`{"type":"text","text":"one "}`, `{"type":"text","text":"hello"}`, `{"type":"text","text":"two "}`}
	if diff := cmp.Diff(want, blocks); text != "one two hello" || diff != "" {
		t.Errorf("text %q, blocks (-want +got):\n%s", text, diff)
	}
}
