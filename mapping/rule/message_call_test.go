package rule

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Calls in OpenAI's form are converted to LangChain's, which pages and transcripts read, as in LangGraph.
func TestCallsOfMessages(t *testing.T) {
	t.Parallel()
	const ours = `{"name":"f","args":{"a":1},"id":"c","type":"tool_call"}`
	function := func(arguments string) string {
		return `{"id":"c","type":"function","function":{"name":"f","arguments":` + arguments + `}}`
	}
	deep := strings.Repeat(`{\"a\":`, 100) + "1" + strings.Repeat("}", 100)
	for name, c := range map[string]struct{ members, calls, invalid, line string }{
		"LangChain's":             {`"tool_calls":[` + ours + `]`, `[` + ours + `]`, `[]`, `[Called f with {"a":1}]`},
		"LangChain's, untyped":    {`"tool_calls":[{"id":"c", "name":"f", "args":{"a":1}}]`, `[{"id":"c", "name":"f", "args":{"a":1}}]`, `[]`, `[Called f with {"a":1}]`},
		"OpenAI's":                {`"tool_calls":[` + function(`"{\"a\":1}"`) + `]`, `[` + ours + `]`, `[]`, `[Called f with {"a":1}]`},
		"OpenAI's, as an object":  {`"tool_calls":[` + function(`{"a":1}`) + `]`, `[` + ours + `]`, `[]`, `[Called f with {"a":1}]`},
		"beside the calls":        {`"tool_calls":[],"additional_kwargs":{"tool_calls":[` + function(`"{\"a\":1}"`) + `]}`, `[` + ours + `]`, `[]`, `[Called f with {"a":1}]`},
		"both":                    {`"tool_calls":[` + ours + `],"additional_kwargs":{"tool_calls":[` + function(`"{}"`) + `]}`, `[` + ours + `]`, `[]`, `[Called f with {"a":1}]`},
		"one of each":             {`"tool_calls":[` + ours + `,` + function(`"{}"`) + `]`, `[` + ours + `,{"name":"f","args":{},"id":"c","type":"tool_call"}]`, `[]`, "[Called f with {\"a\":1}]\n[Called f with {}]"},
		"arguments that are none": {`"tool_calls":[` + function(`"{a"`) + `]`, `[]`, `[{"name":"f","args":"{a","id":"c","type":"invalid_tool_call"}]`, `[Called f with {a]`},
		"arguments of no object":  {`"tool_calls":[` + function(`"[1]"`) + `]`, `[]`, `[{"name":"f","args":"[1]","id":"c","type":"invalid_tool_call"}]`, `[Called f with [1]]`},
		"a name twice":            {`"tool_calls":[` + function(`"{\"a\":1,\"a\":2}"`) + `]`, `[]`, `[{"name":"f","args":"{\"a\":1,\"a\":2}","id":"c","type":"invalid_tool_call"}]`, `[Called f with {"a":1,"a":2}]`},
		"nested as deep as may be": {`"tool_calls":[` + function(`"`+deep+`"`) + `]`, `[{"name":"f","args":` + strings.ReplaceAll(deep, `\`, ``) + `,"id":"c","type":"tool_call"}]`, `[]`,
			`[Called f with ` + strings.ReplaceAll(deep, `\`, ``) + `]`},
		"nested deeper": {`"tool_calls":[` + function(`"{\"a\":`+deep+`}"`) + `]`, `[]`, `[{"name":"f","args":"{\"a\":` + deep + `}","id":"c","type":"invalid_tool_call"}]`,
			`[Called f with {"a":` + strings.ReplaceAll(deep, `\`, ``) + `}]`},
		"invalid ones that come back": {`"tool_calls":[],"invalid_tool_calls":[{"name":"f","args":"{a","id":"c","type":"invalid_tool_call"}],"additional_kwargs":{"tool_calls":[` + function(`"{a"`) + `]}`,
			`[]`, `[{"name":"f","args":"{a","id":"c","type":"invalid_tool_call"}]`, `[Called f with {a]`},
		"invalid ones": {`"invalid_tool_calls":[{"name":"f","args":"{a","error":"no"}]`, `[]`, `[{"name":"f","args":"{a","error":"no"}]`, `[Called f with {a]`},
	} {
		in, err := ParseInput(asRaw(`{"messages":[{"role":"assistant","content":"",`+c.members+`}]}`), nil, "base")
		if err != nil || len(in.Messages) != 1 {
			t.Errorf("%s: %v, %d messages", name, err, len(in.Messages))
			continue
		}
		m := in.Messages[0]
		if got := string(rawjson.Get(m, "tool_calls")); got != c.calls {
			t.Errorf("%s: tool_calls %s, want %s", name, got, c.calls)
		}
		if got := string(rawjson.Get(m, "invalid_tool_calls")); got != c.invalid {
			t.Errorf("%s: invalid_tool_calls %s, want %s", name, got, c.invalid)
		}
		if got := WithCalls(m, ""); got != c.line {
			t.Errorf("%s: shown as %q, want %q", name, got, c.line)
		}
	}
}
