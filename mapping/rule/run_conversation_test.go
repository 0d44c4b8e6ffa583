package rule

import (
	"encoding/json"
	"testing"
)

// TestNewTaskGetsInputOnce checks that a new task receives the input on a thread completely and only once.
func TestNewTaskGetsInputOnce(t *testing.T) {
	t.Parallel()
	const ada = `{"type":"human","id":"1","content":"my name is Ada"},{"type":"ai","id":"2","content":"Hello Ada"}`
	for name, c := range map[string]struct {
		base, input string
		want        string
	}{
		"a first turn":  {``, `{"type":"human","id":"1","content":"hi"}`, "hi"},
		"a second turn": {ada, `{"type":"human","id":"3","content":"who?"}`, "Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nwho?"},
		"all at once":   {``, ada + `,{"type":"human","id":"3","content":"who?"}`, "Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nwho?"},
		"all again":     {ada, ada + `,{"type":"human","id":"3","content":"who?"}`, "Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nwho?"},
		"the same":      {ada, `{"type":"human","id":"1","content":"my name is Ada"}`, "Conversation so far:\n\nAssistant: Hello Ada\n\nCurrent request:\nmy name is Ada"},
		"a system":      {``, `{"type":"system","id":"s","content":"Be brief."},{"type":"human","id":"1","content":"hi"}`, "Conversation so far:\n\nSystem: Be brief.\n\nCurrent request:\nhi"},
		"a system last": {``, `{"type":"human","id":"1","content":"hi"},{"type":"system","id":"s","content":"Be brief."}`, "Conversation so far:\n\nSystem: Be brief.\n\nCurrent request:\nhi"},
		"no request":    {``, `{"type":"system","id":"s","content":"Be brief."}`, "Conversation so far:\n\nSystem: Be brief."},
		"tools": {``, `{"type":"human","id":"1","content":"sum"},{"type":"ai","id":"2","content":"","tool_calls":[{"name":"add","args":{"a": 1},"id":"c"}]},` +
			`{"type":"tool","id":"3","tool_call_id":"c","content":"42"},{"type":"human","id":"4","content":"thanks"}`,
			"Conversation so far:\n\nUser: sum\nAssistant: [Called add with {\"a\":1}]\nTool: 42\n\nCurrent request:\nthanks"},
		"a page's own":                     {``, `{"type":"tool","id":"do-not-render-7","tool_call_id":"c","content":"Successfully handled tool call."},{"type":"human","id":"4","content":"go"}`, "go"},
		"no input, after a person's words": {ada + `,{"type":"human","id":"3","content":"who?"}`, ``, "Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nwho?"},
		"no input, after a failure":        {`{"type":"human","id":"3","content":"who?"},{"type":"ai","id":"` + faultID("r") + `","content":"It failed.","additional_kwargs":{"apbridge":{"error":{"run_id":"r"}}}}`, ``, "who?"},
		"no input, after an answer":        {ada, ``, "Conversation so far:\n\nUser: my name is Ada\nAssistant: Hello Ada"},
		"an agent's own role": {`{"type":"critic","id":"1","content":"bad"}`, `{"type":"human","id":"4","content":"go"}`,
			"Conversation so far:\n\ncritic: bad\n\nCurrent request:\ngo"},
	} {
		in, err := ParseInput(json.RawMessage(`{"messages":[`+c.input+`]}`), nil, someRun)
		if err != nil {
			t.Fatal(err)
		}
		after, err := foldOf(t, `{"messages":[`+c.base+`]}`).Reduce(in.Delta())
		if err != nil {
			t.Fatal(err)
		}
		earlier, request := in.PartConversation(after.Messages())
		if got, _ := (PromptParts{Earlier: earlier, Current: MessageText(request)}).Prompt(0); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWithholds(t *testing.T) {
	t.Parallel()
	list := func(kinds ...string) (messages []json.RawMessage) {
		for _, kind := range kinds {
			messages = append(messages, json.RawMessage(`{"type":"`+kind+`","content":"x"}`))
		}
		return messages
	}
	for _, c := range []struct {
		mode    Transcript
		earlier []json.RawMessage
		want    bool
	}{
		{TranscriptFull, list("system", "human"), false},
		{TranscriptNone, nil, false},
		{TranscriptNone, list("system"), true},
		{TranscriptLast, list("human", "ai"), false},
		{TranscriptLast, list("system", "human", "ai"), true},
	} {
		if got := (PromptParts{Mode: c.mode, Earlier: c.earlier}).Withholds(); got != c.want {
			t.Errorf("%s of %s: %v", c.mode, c.earlier, got)
		}
	}
}
