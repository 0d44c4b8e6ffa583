package inspect

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func TestConsecutiveFramesAreCounted(t *testing.T) {
	t.Parallel()
	got := cellOf([]adapter.Frame{{Name: "messages", ID: "1"}, {Name: "messages", ID: "2"}, {Name: "messages", ID: "3", Note: "cut"}, {Name: "values"}, {Name: "messages"}})
	want := []frames{{Name: "messages", ID: "1", Times: 2}, {Name: "messages", ID: "3", Note: "cut"}, {Name: "values"}, {Name: "messages"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := cellOf(nil); got == nil {
		t.Error("an empty cell is no cell in JSON")
	}
}

func TestNotFoundIsNoFailedCall(t *testing.T) {
	t.Parallel()
	for line, want := range map[callLine]bool{
		{Method: "GET", Status: 404}:                        false,
		{Method: "GET", Status: 404, Error: "it broke off"}: true,
		{Method: "GET", Status: 403}:                        true,
		{Method: "POST", Status: 404}:                       true,
		{Method: "POST", Status: 200}:                       false,
	} {
		if got := line.Failed(); got != want {
			t.Errorf("%+v: failed = %v", line, got)
		}
	}
}

func TestEventsInALine(t *testing.T) {
	t.Parallel()
	question := []mapping.Interrupt{{Value: []byte(`"Which?"`)}, {Value: []byte(`{"a":1}`)}}
	for name, one := range map[string]struct {
		kind mapping.Kind
		head mapping.Head
		data string
		want string
	}{
		"a token":           {mapping.KindDelta, mapping.Head{}, `[{"type":"AIMessageChunk","content":"gar"},{"langgraph_node":"n"}]`, "gar"},
		"a token in parts":  {mapping.KindDelta, mapping.Head{}, `[{"content":[{"type":"text","text":"gar"},{"type":"text","text":"den"}]},{}]`, "garden"},
		"no token":          {mapping.KindDelta, mapping.Head{}, `{}`, ""},
		"a message":         {mapping.KindUpdate, mapping.Head{}, `{"messages":[{"type":"ai","content":"hello"}]}`, "ai: hello"},
		"one message alone": {mapping.KindUpdate, mapping.Head{}, `{"messages":{"type":"human","content":"hi"}}`, "human: hi"},
		"a tool call": {mapping.KindUpdate, mapping.Head{}, `{"messages":[{"type":"ai","content":"","tool_calls":[{"name":"rm","args":{"path":"/"}}]},{"type":"tool","content":"done"}]}`,
			`calls rm {"path":"/"} · tool: done`},
		"no message":             {mapping.KindUpdate, mapping.Head{}, `{"n":1}`, `{"n":1}`},
		"a step that asks":       {mapping.KindUpdate, mapping.Head{Interrupts: question}, `{"n":1}`, `{"n":1} · It asks: Which? · {"a":1}`},
		"a question":             {mapping.KindInterrupt, mapping.Head{Interrupts: question}, ``, `It asks: Which? · {"a":1}`},
		"a first attempt":        {mapping.KindStarted, mapping.Head{Attempt: 1}, ``, "The run begins."},
		"a second":               {mapping.KindStarted, mapping.Head{Attempt: 2}, ``, "Attempt 2 begins."},
		"a name":                 {mapping.KindLinked, mapping.Head{Link: &mapping.Link{Remote: "r"}}, ``, "Id at the agent: r."},
		"a state":                {mapping.KindState, mapping.Head{Checkpoint: &mapping.Checkpoint{Source: "loop", Step: 3, Metadata: []byte("{}")}, Next: []string{"a", "b"}}, `{}`, "The state changes. Checkpoint: step 3. Next: a, b."},
		"the state before":       {mapping.KindState, mapping.Head{Checkpoint: &mapping.Checkpoint{Source: "input", Step: -1}}, ``, "The state does not change. Checkpoint: the start."},
		"the end":                {mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}, ``, "The run ends: success."},
		"a failure":              {mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunError, Fault: &mapping.Fault{Message: "It broke."}}}, ``, "The run ends: error. It broke."},
		"custom":                 {mapping.KindCustom, mapping.Head{}, `"x"`, `"x"`},
		"a long line":            {mapping.KindCustom, mapping.Head{}, strings.Repeat("ü", 1<<19), strings.Repeat("ü", maxSummary) + "…"},
		"a long update":          {mapping.KindUpdate, mapping.Head{}, `{"messages":"` + strings.Repeat("x", 1<<20) + `"}`, "1048591 bytes"},
		"bytes that are no text": {mapping.KindCustom, mapping.Head{}, strings.Repeat("\xff", 1<<10), strings.Repeat("\xff", maxSummary) + "…"},
	} {
		var data []byte
		if one.data != "" {
			data = []byte(one.data)
		}
		got := summary(&mapping.Event{Kind: one.kind, Head: one.head, Data: data})
		if got != one.want || utf8.RuneCountInString(got) > maxSummary+1 {
			t.Errorf("%s: %.400q, want %.400q", name, got, one.want)
		}
	}
}
