package rule

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// Values for a namespace come from config.configurable, then from the context, then from the thread's metadata.
func TestNamespacesFromContext(t *testing.T) {
	t.Parallel()
	for kwargs, want := range map[string]string{
		`{"context":{"user_id":"ada"}}`: "ada", `{"context":{"user_id":"ada"},"config":{"configurable":{"run_id":"r"}}}`: "ada",
		`{"context":{"user_id":"ada"},"config":{"configurable":{"user_id":"bob"}}}`: "bob", `{"context":{"x":1}}`: "eve", `{"context":null,"config":null}`: "eve", `{"context":[]}`: "eve", `{}`: "eve",
	} {
		ns, ok := ExpandNamespace("users/{user_id}", TemplateValues{Metadata: []byte(`{"user_id":"eve"}`), Configurable: GivenConfigurable([]byte(kwargs))})
		if !ok || !slices.Equal(ns, []string{"users", want}) {
			t.Errorf("%s: %q", kwargs, ns)
		}
	}
}

// Stored requests survive a round trip.
func TestRequestsRoundTrip(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	r := &mapping.Run{ID: "r", ThreadID: "t", Agent: "a", AssistantID: "i"}
	sent := raw(`{"input":{"x":1},"messages":null,"config":{"tags":["y"],"configurable":{"user_id":"ada","run_id":"other"}},"context":{"z":2},"stream_mode":"values","checkpoint_id":"c"}`)
	kept, err := WithRun(sent, r)
	if err != nil {
		t.Fatal(err)
	}
	if input, messages, err := GivenInput(kept); string(input) != `{"x":1}` || messages != nil || err != nil {
		t.Errorf("given %s and %s, %v", input, messages, err)
	}
	if got := string(GivenConfigurable(kept)); got != `{"z":2,"user_id":"ada","thread_id":"t","run_id":"r","graph_id":"a","assistant_id":"i"}` && got != `{"z":2,"user_id":"ada","run_id":"r","thread_id":"t","graph_id":"a","assistant_id":"i"}` {
		t.Errorf("configurable %s", got)
	}
	again, config, context := RequestAgain(kept, raw(`"hello"`))
	if string(again) != `{"context":{"z":2},"stream_mode":"values","input":"hello","config":{"tags":["y"],"configurable":{"user_id":"ada"}}}` {
		t.Errorf("again %s", again)
	}
	if string(config) != `{"tags":["y"],"configurable":{"user_id":"ada"}}` || string(context) != `{"z":2}` {
		t.Errorf("config %s, context %s", config, context)
	}
	extra := ReadTaskExtra(raw(`{"config":{"a":1},"context":{"b":2},"multitask_strategy":"parallel","resume":true,"more":3}`))
	task := &mapping.Task{AdditionalInput: raw(`{"more":3}`), Input: "say \"hello\"", HasInput: true}
	if got := string(RequestOfTask(task, extra)); got != `{"additional_input":{"more":3},"config":{"a":1},"context":{"b":2},"input":"say \"hello\""}` {
		t.Errorf("of a task %s", got)
	}
	if string(extra.Resume) != "true" || string(extra.Strategy) != `"parallel"` || extra.Input != nil || ReadTaskExtra(raw("[]")).Config != nil {
		t.Errorf("%+v", extra)
	}
	for got, want := range map[string]string{
		string(RequestOf(nil)): `{}`, string(RequestOf(raw("1"))): `{"input":1}`, string(RequestOfAnswer(raw("true"))): `{"command":{"resume":true}}`,
		string(RequestOfStep(nil, TaskExtra{})): "", string(RequestOfStep(raw("{}"), TaskExtra{})): `{"additional_input":{}}`,
		string(RequestOfStep(raw("{}"), extra)):                                                                            `{"additional_input":{},"config":{"a":1},"context":{"b":2}}`,
		string(ReadTaskExtra(raw(`{"configurable":{"a":1}}`)).Config):                                                      `{"configurable":{"a":1}}`,
		string(ReadTaskExtra(raw(`{"configurable":{"a":1,"b":1},"config":{"tags":["x"],"configurable":{"b":2}}}`)).Config): `{"configurable":{"a":1,"b":2},"tags":["x"]}`,
		string(ReadTaskExtra(raw(`{"configurable":"mine","config":{"tags":["x"]}}`)).Config):                               `{"tags":["x"]}`,
		string(ReadTaskExtra(raw(`{"configurable":{"a":1},"config":3}`)).Config):                                           `3`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, bad := range []string{`[]`, `{"config":1}`, `{"config":{"configurable":[]}}`} {
		if _, err := WithRun(raw(bad), r); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRequestText(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		`{"input":"hi"}`: "hi",
		`{"input":{"messages":[{"role":"user","content":"first"},{"role":"assistant","content":"x"},{"role":"user","content":[{"type":"text","text":"last"}]}]}}`: "last",
		`{"messages":[{"role":"user","content":"hi"}]}`:                                   "hi",
		`{"input":{"question":"why?","n":1}}`:                                             "why?",
		`{"input":{"n": 1}}`:                                                              `{"n":1}`,
		`{"input":null,"command":{"resume":"blue"}}`:                                      "blue",
		`{"command":{"resume":{"decisions":[1]}}}`:                                        `{"decisions":[1]}`,
		`{"command":{"resume":{"type":"response","args":"blue"}}}`:                        "blue",
		`{"command":{"resume":{"decisions":[{"type":"approve"}]}}}`:                       "yes",
		`{"command":{"resume":{"decisions":[{"type":"reject","message":"Not today."}]}}}`: "Not today.",
		`{"additional_input":{},"input":"write"}`:                                         "write",
		`{}`:                       "",
		`null`:                     "",
		`{"input":{"messages":5}}`: "",
	} {
		if got := RequestText([]byte(request)); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}
