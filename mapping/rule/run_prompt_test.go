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
	const full = "Conversation so far:\n\nUser: hi\nAssistant: hello\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"
	for name, c := range map[string]struct {
		mode    Transcript
		earlier []json.RawMessage
		notes   []string
		budget  int
		want    string
		dropped bool
	}{
		"first turn":     {mode: TranscriptFull, want: "go"},
		"full":           {mode: TranscriptFull, earlier: earlier, want: full},
		"default":        {earlier: earlier, want: full},
		"last":           {mode: TranscriptLast, earlier: earlier, want: "Conversation so far:\n\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"},
		"none":           {mode: TranscriptNone, earlier: earlier, want: "go"},
		"notes":          {mode: TranscriptNone, earlier: earlier, notes: []string{"a: 1", "b: 2"}, want: "a: 1\nb: 2\n\nCurrent request:\ngo"},
		"notes and talk": {mode: TranscriptLast, earlier: earlier, notes: []string{"a: 1"}, want: "a: 1\n\nConversation so far:\n\nUser: more\nAssistant: sure\nthing\n\nCurrent request:\ngo"},
		"just fits":      {earlier: earlier, budget: len(full) + 2, want: full},
		"oldest dropped": {earlier: earlier, budget: len(full) - 1, dropped: true, want: strings.Replace(full, "User: hi\n", "", 1)},
		"all dropped":    {earlier: earlier, notes: []string{"note"}, budget: 5, dropped: true, want: "go"},
	} {
		got, dropped := Prompt(c.mode, c.earlier, "go", c.notes, c.budget)
		if got != c.want || dropped != c.dropped {
			t.Errorf("%s: %q, %v\nwant %q, %v", name, got, dropped, c.want, c.dropped)
		}
	}
	long := strings.Repeat("x", 2*PromptBudget)
	if got, dropped := Prompt(TranscriptFull, earlier, long, nil, 0); got != long || !dropped {
		t.Errorf("a long request came out with %d bytes, %v", len(got), dropped)
	}
}
