package inspect

import "testing"

// The title is what the thread was begun with, from its messages or else from its runs.
func TestTitleIsTheFirstRequest(t *testing.T) {
	t.Parallel()
	runs := []threadRun{{Request: "newest"}, {Request: "oldest"}, {}}
	for name, c := range map[string]struct {
		values string
		runs   []threadRun
		want   string
	}{
		"a message":                {`{"messages":[{"type":"system","content":"Be brief."},{"type":"human","content":"Plan a\n garden"},{"type":"human","content":"more"}]}`, runs, "Plan a garden"},
		"a message without text":   {`{"messages":[{"type":"human","content":""},{"type":"human","content":"more"}]}`, runs, "more"},
		"no messages":              {`{"n":1}`, runs, "oldest"},
		"only the agent's message": {`{"messages":[{"type":"ai","content":"Hello"}]}`, runs[:1], "newest"},
		"nothing":                  {`null`, nil, "Thread"},
	} {
		if got := titleOf([]byte(c.values), c.runs); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A message links to its bytes only if the page shows a part of it.
func TestCutMessages(t *testing.T) {
	t.Parallel()
	for want, turns := range map[bool][]turn{
		false: {{}, {Text: cutText{Text: "all"}, Calls: []toolCall{{Name: "look"}}}},
		true:  {{Text: cutText{Text: "some", Cut: 1}}, {Calls: []toolCall{{}, {Args: cutText{Cut: 1}}}}},
	} {
		for _, one := range turns {
			if one.IsCut() != want {
				t.Errorf("%+v: %v, want %v", one, one.IsCut(), want)
			}
		}
	}
}
