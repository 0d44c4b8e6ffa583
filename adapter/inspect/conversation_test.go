package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	values := json.RawMessage(`{"messages":[
 {"type":"human","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}],"id":"1"},
 {"role":"assistant","content":"","name":"bot","tool_calls":[{"name":"rm","args":{"path":"/"},"id":"c1"}]},
 {"type":"tool","content":"done","tool_call_id":"c1","status":"error"},
 "bare", 7, {"type":"critic","content":"no"}]}`)
	got := readConversation(values, 0, 10)
	want := conversation{Total: 6, Turns: []turn{
		{Index: 0, ID: "1", Role: "person", Text: cutText{Text: "look"}, Files: []fileLink{{Name: "1.bin", Link: "https://x.test/a.png"}}},
		{Index: 1, Role: "agent", Name: "bot", Calls: []toolCall{{"c1", "rm", cutText{Text: `{"path":"/"}`}}}},
		{Index: 2, Role: "tool", Text: cutText{Text: "done"}, Answers: "c1", Tool: "rm", Failed: true},
		{Index: 3, Role: "message", Text: cutText{Text: "bare"}},
		{Index: 4, Role: "message"},
		{Index: 5, Role: "critic", Text: cutText{Text: "no"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := readConversation(values, 4, 2); len(p.Turns) != 2 || p.Turns[0].Index != 2 || p.Earlier != 2 {
		t.Errorf("a page in the middle: %+v", p)
	}
	for _, v := range []string{``, `{}`, `{"messages":"x"}`, `[]`, `{"messages":null}`} {
		if p := readConversation(json.RawMessage(v), 0, 10); len(p.Turns) > 1 || p.Earlier != 0 {
			t.Errorf("%s: %+v", v, p)
		}
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("é", 1<<19), "x" + strings.Repeat("😀", 1<<18)} {
		got := cut(text)
		if len(got.Text) > maxText || !utf8.ValidString(got.Text) || len(got.Text)+got.Cut != len(text) {
			t.Errorf("%d bytes and %d cut of %d", len(got.Text), got.Cut, len(text))
		}
	}
}
