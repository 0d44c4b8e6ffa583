package rule

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	earlier := []json.RawMessage{
		asRaw(human("1", "hi")), asRaw(ai("2", "hello", "{}")), asRaw(`{"type":"tool","content":"42"}`), asRaw(ai("3", "", "{}")),
		asRaw(`{"type":"human","content":[{"type":"text","text":"more"}]}`), asRaw(ai("4", "sure\nthing", "{}")),
	}
	const full = "Conversation so far:\n\nUser: hi\nAssistant: hello\nTool: 42\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"
	for name, c := range map[string]struct {
		mode    Transcript
		earlier []json.RawMessage
		notes   []string
		budget  int
		want    string
		dropped Cut
	}{
		"first turn":     {mode: TranscriptFull, want: "go"},
		"full":           {mode: TranscriptFull, earlier: earlier, want: full},
		"default":        {earlier: earlier, want: full},
		"last":           {mode: TranscriptLast, earlier: earlier, want: "Conversation so far:\n\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"},
		"none":           {mode: TranscriptNone, earlier: earlier, want: "go"},
		"notes":          {mode: TranscriptNone, earlier: earlier, notes: []string{"a: 1", "b: 2"}, want: "a: 1\nb: 2\n\nCurrent request:\ngo"},
		"notes and talk": {mode: TranscriptLast, earlier: earlier, notes: []string{"a: 1"}, want: "a: 1\n\nConversation so far:\n\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"},
		"just fits":      {earlier: earlier, budget: len(full) + 2, want: full},
		"oldest dropped": {earlier: earlier, budget: len(full) - 1, dropped: Cut{Messages: true}, want: strings.Replace(full, "User: hi\n", "", 1)},
		"all dropped":    {earlier: earlier, notes: []string{"note"}, budget: 5, dropped: Cut{true, true}, want: "go"},
		"last message before notes": {earlier: earlier, notes: []string{"a: 1", strings.Repeat("n", 40)}, budget: promptFrame + 45, dropped: Cut{true, true},
			want: "a: 1\n\nConversation so far:\n\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"},
		"notes before earlier messages": {earlier: earlier, notes: []string{strings.Repeat("n", 20)}, budget: promptFrame + 46, dropped: Cut{Messages: true},
			want: strings.Repeat("n", 20) + "\n\nConversation so far:\n\nAssistant: sure\nthing\n\nCurrent request:\ngo"},
		"a last message that is too long": {earlier: earlier, notes: []string{"a: 1"}, budget: promptFrame + 10, dropped: Cut{Messages: true}, want: "a: 1\n\nCurrent request:\ngo"},
	} {
		got, dropped := Telling{Mode: c.mode, Earlier: c.earlier, Current: "go", Notes: c.notes}.Prompt(c.budget)
		if got != c.want || dropped != c.dropped {
			t.Errorf("%s: %q, %v\nwant %q, %v", name, got, dropped, c.want, c.dropped)
		}
	}
	long := strings.Repeat("x", 2*PromptBudget)
	if got, dropped := (Telling{Earlier: earlier, Current: long}).Prompt(0); got != long || !dropped.Messages {
		t.Errorf("a long request came out with %d bytes, %v", len(got), dropped)
	}
}

func TestNewestMessages(t *testing.T) {
	t.Parallel()
	all := []json.RawMessage{asRaw(human("1", "hi")), asRaw(ai("2", "hello", "{}")), asRaw(human("3", "more")), asRaw(ai("4", "sure", "{}"))}
	last := len(all[2]) + len(all[3]) + 2
	for name, c := range map[string]struct {
		mode    Transcript
		budget  int
		want    int
		dropped bool
	}{
		"full": {TranscriptFull, 0, 4, false}, "default": {"", 0, 4, false}, "last": {TranscriptLast, 0, 2, false}, "none": {TranscriptNone, 0, 0, false},
		"two fit": {TranscriptFull, last, 2, true}, "one fits": {TranscriptFull, last - 1, 1, true}, "none fits": {TranscriptFull, 5, 0, true},
		"last fits": {TranscriptLast, last, 2, false},
	} {
		got, dropped := Newest(c.mode.Of(all), c.budget)
		if len(got) != c.want || dropped != c.dropped || len(got) > 0 && string(got[len(got)-1]) != string(all[3]) {
			t.Errorf("%s: %s, %v", name, got, dropped)
		}
	}
}
