package rule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

const someRun = "01a1fc7d-bb54-710b-addd-8b75a500a425"

// human returns a human message in normal form.
func human(id, text string) string {
	return fmt.Sprintf(`{"content":%q,"additional_kwargs":{},"response_metadata":{},"id":%q,"type":"human"}`, text, id)
}

func TestParseInput(t *testing.T) {
	t.Parallel()
	one := mapping.MessageID(someRun, "input")
	first, second := mapping.MessageID(someRun, "input/1"), mapping.MessageID(someRun, "input/2")
	for name, c := range map[string]struct {
		input, messages string
		text, state     string // state: the messages, joined by commas
		other, raw      string
	}{
		"nothing":          {raw: `null`},
		"null":             {input: `null`, messages: `null`, raw: `null`},
		"text":             {input: `"hi"`, text: "hi", state: human(one, "hi"), raw: `{"messages":[` + human(one, "hi") + `]}`},
		"empty text":       {input: `""`, raw: `{}`},
		"empty object":     {input: `{}`, raw: `{}`},
		"number":           {input: `1.0`, text: "1.0", state: human(one, "1.0"), raw: `{"messages":[` + human(one, "1.0") + `]}`},
		"list":             {input: `[1, 2]`, text: "[1,2]", state: human(one, "[1,2]"), raw: `{"messages":[` + human(one, "[1,2]") + `]}`},
		"a text key":       {input: `{"lang":"de","question":"hi"}`, text: "hi", state: human(one, "hi"), other: `{"lang":"de"}`, raw: `{"lang":"de","question":"hi"}`},
		"text keys' order": {input: `{"text":"b","prompt":"a"}`, text: "a", state: human(one, "a"), other: `{"text":"b"}`, raw: `{"text":"b","prompt":"a"}`},
		"no text key":      {input: `{"a": 1, "input": 2}`, text: `{"a":1,"input":2}`, state: human(one, `{"a":1,"input":2}`), other: `{"a": 1, "input": 2}`, raw: `{"a": 1, "input": 2}`},
		"files alone":      {input: `{"files":{"/a":"x"}}`, raw: `{"files":{"/a":"x"}}`},
		"files and more":   {input: `{"files":{"/a":"x"},"n":1}`, text: `{"n":1}`, state: human(one, `{"n":1}`), other: `{"n":1}`, raw: `{"files":{"/a":"x"},"n":1}`},
		"files no object":  {input: `{"files":["f1"],"task":"t"}`, text: "t", state: human(one, "t"), other: `{"files":["f1"]}`, raw: `{"files":["f1"],"task":"t"}`},
		"one message":      {input: `{"messages":{"role":"user","content":"hi"}}`, text: "hi", state: human(one, "hi"), raw: `{"messages":{"role":"user","content":"hi"}}`},
		"strings":          {input: `{"messages":["a","b"]}`, text: "b", state: human(first, "a") + "," + human(second, "b"), raw: `{"messages":["a","b"]}`},
		"pairs": {input: `{"messages":[["system","be brief"],["user","b"]]}`, text: "b",
			state: strings.Replace(human(first, "be brief"), "human", "system", 1) + "," + human(second, "b"), raw: `{"messages":[["system","be brief"],["user","b"]]}`},
		"their id":     {input: `{"messages":[{"type":"human","content":"hi","id":"mine"}]}`, text: "hi", state: human("mine", "hi"), raw: `{"messages":[{"type":"human","content":"hi","id":"mine"}]}`},
		"no messages":  {input: `{"messages":[],"input":"hi"}`, text: "hi", state: human(one, "hi"), raw: `{"messages":[],"input":"hi"}`},
		"beside":       {input: `{"messages":["hi"],"question":"x"}`, text: "hi", state: human(one, "hi"), other: `{"question":"x"}`, raw: `{"messages":["hi"],"question":"x"}`},
		"not a person": {input: `{"messages":[{"role":"system","content":"s"}]}`, state: strings.Replace(human(one, "s"), "human", "system", 1), raw: `{"messages":[{"role":"system","content":"s"}]}`},
		"other kinds kept": {input: `{"messages":[{"type":"tool","tool_call_id":"c","content":"r","id":"t"}]}`,
			state: `{"content":"r","additional_kwargs":{},"response_metadata":{},"id":"t","type":"tool","tool_call_id":"c"}`,
			raw:   `{"messages":[{"type":"tool","tool_call_id":"c","content":"r","id":"t"}]}`},
		"an ai message": {input: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1"}],"id":"a","additional_kwargs":{"k":1}}]}`,
			state: `{"content":"","additional_kwargs":{"k":1},"response_metadata":{},"id":"a","type":"ai","tool_calls":[{"id":"1"}],"invalid_tool_calls":[]}`,
			raw:   `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1"}],"id":"a","additional_kwargs":{"k":1}}]}`},
		"parts": {input: `{"messages":[{"role":"user","id":"p","content":[{"type":"text","text":"a "},{"type":"image_url","image_url":"u"},{"type":"text","text":"b"}]}]}`, text: "a b",
			state: `{"content":[{"type":"text","text":"a "},{"type":"image_url","image_url":"u"},{"type":"text","text":"b"}],"additional_kwargs":{},"response_metadata":{},"id":"p","type":"human"}`,
			raw:   `{"messages":[{"role":"user","id":"p","content":[{"type":"text","text":"a "},{"type":"image_url","image_url":"u"},{"type":"text","text":"b"}]}]}`},
		"a LangChain class": {input: `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"hi","id":"k"}}]}`, text: "hi", state: human("k", "hi"),
			raw: `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"hi","id":"k"}}]}`},
		"type message": {input: `{"messages":[{"type":"message","role":"user","content":"hi"}]}`, text: "hi", state: human(one, "hi"), raw: `{"messages":[{"type":"message","role":"user","content":"hi"}]}`},
		"protocol":     {messages: `[{"role":"user","content":"hi"}]`, text: "hi", state: human(one, "hi"), raw: `{"messages":[` + human(one, "hi") + `]}`},
		"protocol and files": {input: `{"files":{"/a":"x"}}`, messages: `[{"role":"user","content":"hi"}]`, text: "hi", state: human(one, "hi"),
			raw: `{"files":{"/a":"x"},"messages":[` + human(one, "hi") + `]}`},
		"protocol and text": {input: `"x"`, messages: `[{"role":"user","content":"hi"}]`, text: "hi", state: human(one, "hi"), other: `{"input":"x"}`,
			raw: `{"input":"x","messages":[` + human(one, "hi") + `]}`},
		"U+0000": {input: `"a\u0000b"`, text: "a\x00b", state: strings.Replace(human(one, "a0b"), "a0b", `a\u0000b`, 1), raw: `{"messages":[` + strings.Replace(human(one, "a0b"), "a0b", `a\u0000b`, 1) + `]}`},
	} {
		in, err := ParseInput(asRaw(c.input), asRaw(c.messages), someRun)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []string{in.Text, joined(in.Messages), string(in.Other), string(in.Raw)}
		if diff := cmp.Diff([]string{c.text, c.state, c.other, c.raw}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if in.HasText != (c.text != "") || !json.Valid(in.Raw) || !json.Valid(in.Delta()) {
			t.Errorf("%s: HasText %v, raw %s, delta %s", name, in.HasText, in.Raw, in.Delta())
		}
	}
}

func joined(list []json.RawMessage) string {
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = string(m)
	}
	return strings.Join(texts, ",")
}

func TestParseInputRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ input, messages, says string }{
		{``, `[{"role":"user","content":"a"},{"content":"b"}]`, "messages[1]: a message needs a role and content; role"},
		{``, `[{"role":"user"}]`, "messages[0]: a message needs a role and content; content"},
		{``, `[{"type":"human","content":"b"}]`, "messages[0]"},
		{``, `[{"role":"user","content":5}]`, "messages[0]: the content"},
		{``, `["hi"]`, "messages[0]"},
		{``, `{"role":"user","content":"b"}`, "messages: must be a list"},
		{`{"messages":[{"content":"b"}]}`, ``, "input.messages[0]: a message needs a role"},
		{`{"messages":["a",7]}`, ``, "input.messages[1]"},
		{`{"messages":[["user"]]}`, ``, "input.messages[0]"},
		{`{"messages":[{"role":"user"}]}`, ``, "input.messages[0]: the content"},
		{`{"messages":7}`, ``, "input.messages"},
		{``, `[{"role":"usr","content":"a"}]`, "messages[0]: usr is not a message role. Did you mean user?"},
		{`{"messages":["a",{"type":"hmuan","content":"b"}]}`, ``, "input.messages[1]: hmuan is not a message role. Did you mean human?"},
		{`{"messages":[["asistant","b"]]}`, ``, "Did you mean assistant?"},
		{`{"messages":{"role":"sytem","content":"b"}}`, ``, "Did you mean system?"},
		{``, `[{"role":"nonsense","content":"a"}]`, `messages[0]: "nonsense" is not a message role. Use user, human, assistant, ai, system, developer, tool, function or remove.`},
		{`{"messages":[{"type":"critic","content":"a"}]}`, ``, `input.messages[0]: "critic" is not a message role`},
		{`{"messages":[{"type":"chat","role":"critic","content":"a"}]}`, ``, `"critic" is not a message role`},
		{`{"messages":[{"type":"generic","content":"a"}]}`, ``, `"generic" is not a message role`},
		{`{"messages":[["BaseMessage","a"]]}`, ``, `"BaseMessage" is not a message role`},
		{`{"messages":[{"lc":1,"type":"constructor","id":["ChatMessage"],"kwargs":{"role":"user","content":"a"}}]}`, ``, `"ChatMessage" is not a message role`},
		{`{"a":}`, ``, "input cannot be read"},
		{`[1,]`, ``, "not valid JSON"},
	} {
		_, err := ParseInput(asRaw(c.input), asRaw(c.messages), someRun)
		if e := mapping.Classify(err); e.Class != mapping.Invalid || !strings.Contains(e.Message, c.says) {
			t.Errorf("ParseInput(%s, %s) = %v, want the text %q", c.input, c.messages, err, c.says)
		}
	}
}

func TestInputDelta(t *testing.T) {
	t.Parallel()
	in, err := ParseInput(asRaw(`{"messages":[{"role":"user","content":"hi","id":"m"}],"files":{"b.txt":"2","/a.txt":"1"}}`), nil, someRun)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[` + human("m", "hi") + `],"files":{"/a.txt":"1","/b.txt":"2"}}`
	if got := string(in.Delta()); got != want {
		t.Errorf("Delta() = %s, want %s", got, want)
	}
	if err := in.CheckFiles(); err != nil {
		t.Error(err)
	}
	for _, files := range []string{`{"../x":"1"}`, `{"a":5}`, `{"a":{"content":7}}`} {
		in, err := ParseInput(asRaw(`{"files":`+files+`}`), nil, someRun)
		if err != nil || mapping.Classify(in.CheckFiles()).Class != mapping.Invalid {
			t.Errorf("files %s: %v, then %v", files, err, in.CheckFiles())
		}
	}
}

func TestNormalValues(t *testing.T) {
	t.Parallel()
	got, err := NormalValues(asRaw(`{"x": 1,"messages":["hi"]}`), someRun)
	want := `{"x": 1,"messages":[` + human(mapping.MessageID(someRun, "input"), "hi") + `]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	for _, bad := range []string{`[]`, `{"messages":[1]}`} {
		if _, err := NormalValues(asRaw(bad), someRun); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("NormalValues(%s) = %v", bad, err)
		}
	}
}

// Roles, types and names of LangChain's classes have the same meaning in every form of a message.
func TestAcceptedRoles(t *testing.T) {
	t.Parallel()
	for kind, said := range map[string][]string{
		"human":    {"user", "human", "HumanMessage", "HumanMessageChunk"},
		"ai":       {"assistant", "ai", "AIMessage", "AIMessageChunk"},
		"system":   {"system", "developer", "SystemMessage", "SystemMessageChunk"},
		"tool":     {"tool", "ToolMessage", "ToolMessageChunk"},
		"function": {"function", "FunctionMessage", "FunctionMessageChunk"},
		"remove":   {"remove", "RemoveMessage"},
	} {
		for _, role := range said {
			messages := []string{
				`{"role":"` + role + `","content":"a","id":"1","tool_call_id":"2"}`, `{"type":"` + role + `","content":"a","id":"1","tool_call_id":"2"}`,
				`{"lc":1,"type":"constructor","id":["langchain_core","messages","` + role + `"],"kwargs":{"content":"a","id":"1"}}`,
			}
			if kind != "remove" { // which needs an id
				messages = append(messages, `["`+role+`","a"]`)
			}
			for _, m := range messages {
				in, err := ParseInput(asRaw(`{"messages":[`+m+`]}`), nil, someRun)
				if err != nil {
					t.Errorf("%s: %v", m, err)
				} else if got := messageKind(in.Messages[0]); got != kind {
					t.Errorf("%s is of the kind %s, want %s", m, got, kind)
				}
			}
		}
	}
}

func TestRoleMessages(t *testing.T) {
	t.Parallel()
	got := RoleMessages([]json.RawMessage{
		asRaw(human("1", "hi")),
		asRaw(`{"type":"AIMessageChunk","content":[{"type":"text","text":"a"}],"id":"2","metadata":{"k":1}}`),
		asRaw(`{"type":"tool","content":null,"tool_call_id":"x"}`), asRaw(`{"type":"system","content":"s"}`), asRaw(`5`),
		asRaw(`{"type":"usr","content":"of an earlier version, or an agent's"}`),
	})
	want := `{"role":"user","content":"hi","id":"1"},` +
		`{"role":"assistant","content":[{"type":"text","text":"a"}],"id":"2","metadata":{"k":1}},` +
		`{"role":"tool","content":""},{"role":"system","content":"s"},{"role":"usr","content":"of an earlier version, or an agent's"}`
	if joined(got) != want {
		t.Errorf("got %s\nwant %s", joined(got), want)
	}
}

func TestMessageText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"content":"a"}`: "a", `{"content":["a",{"type":"text","text":"b"},{"type":"x","text":"c"},5]}`: "ab",
		`{"content":null}`: "", `{}`: "", `{"content":{"a":1}}`: "", `"x"`: "", ``: "",
	} {
		if got := MessageText(asRaw(in)); got != want {
			t.Errorf("MessageText(%s) = %q", in, got)
		}
	}
}
