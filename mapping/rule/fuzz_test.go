package rule

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

func FuzzParseInput(f *testing.F) {
	for _, s := range [][2]string{{`"hi"`, ``}, {`{"messages":["a",["user","b"],{"role":"user","content":"c"}],"files":{"a":"b"},"x":1}`, ``},
		{`{"files":{"/a":"x"}}`, `[{"role":"user","content":[{"type":"text","text":"x"}],"id":"1","metadata":{}}]`}, {`{"lc":1}`, `[]`}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, input, messages []byte) {
		in, err := ParseInput(input, messages, someRun)
		if err != nil {
			if mapping.Classify(err).Class != mapping.Invalid {
				t.Errorf("%v is not Invalid", err)
			}
			return
		}
		for _, b := range append(append(in.Messages, in.Raw, in.Delta()), RoleMessages(in.Messages)...) {
			if !json.Valid(b) {
				t.Errorf("ParseInput(%q, %q) = %q, which is not JSON", input, messages, b)
			}
		}
		for _, m := range in.Messages {
			if state.IDOfMessage(m) == "" || messageKind(m) == "" {
				t.Errorf("ParseInput(%q, %q): the message %s is not complete", input, messages, m)
			}
		}
		if _, err := foldOf(t, `{}`).Reduce(in.Delta()); err != nil {
			t.Errorf("the delta %s does not reduce: %v", in.Delta(), err)
		}
	})
}

func FuzzReduce(f *testing.F) {
	f.Add([]byte(`{"messages":[{"id":"a"}],"files":{"/a":"x"}}`), []byte(`{"messages":[{"id":"a"},5],"files":{"a":null},"k":[1]}`))
	f.Add([]byte(`{"a":[1,2],"b":{"x":1}}`), []byte(`{"a":[1],"b":{}}`))
	f.Fuzz(func(t *testing.T, text, delta []byte) {
		fold, err := state.NewFold(text)
		if err != nil {
			return
		}
		if next, err := fold.Reduce(delta); err == nil && (!json.Valid(next.JSON()) || next.Size() != len(next.JSON())) {
			t.Errorf("Reduce gives %q, size %d", next.JSON(), next.Size())
		}
		if diff, next, err := fold.DiffTo(delta); err == nil {
			got, err := fold.Apply(&mapping.Event{Kind: mapping.KindState, Data: diff})
			if err != nil || string(got.JSON()) != string(next.JSON()) {
				t.Errorf("the diff %s gives %v, %v, want %s", diff, got, err, next.JSON())
			}
		}
		if next, err := fold.Apply(&mapping.Event{Kind: mapping.KindState, Data: delta}); err == nil && !json.Valid(next.JSON()) {
			t.Errorf("the diff %q gives %q", delta, next.JSON())
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{`null`, `"y"`, `[{"type":"accept"}]`, `{"decisions":[{"type":"edit","edited_action":{"name":"a","args":{}}}]}`,
		`{"b0b513ed256784dcf1127144a9e81c61":1}`, `{"action_requests":[{"name":"a"}],"review_configs":[{}]}`, `[{"action_request":{"args":{"question":"q"}}}]`} {
		f.Add([]byte(s))
	}
	asked := request{Action: askUser, Args: askArgs("q"), Edit: true}.json()
	f.Fuzz(func(t *testing.T, b []byte) {
		o := mapping.RunOptions{Resume: b, Asked: []mapping.Interrupt{{ID: "b0b513ed256784dcf1127144a9e81c61", Value: asked}}}
		if err := CheckStepAnswer(&o); err != nil && mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%v is not Invalid", err)
		}
		a, err := ParseAnswer(&o)
		if err != nil && mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%v is not Invalid", err)
		}
		if d := AnswerDelta(someRun, a); err == nil && !a.Continue && !json.Valid(d) {
			t.Errorf("ParseAnswer(%q) leaves %q", b, d)
		}
		if json.Valid(b) && QuestionText(b) == "" && string(rawjson.Trim(b)) != `""` {
			t.Errorf("QuestionText(%q) is empty", b)
		}
		if got := ResumeFor(mapping.Interrupt{Value: b}, string(b)); !json.Valid(got) {
			t.Errorf("ResumeFor(%q) = %q", b, got)
		}
	})
}

func FuzzStepUpdate(f *testing.F) {
	f.Add([]byte(`"out"`), []byte(`{"use_tool":{"name":"ask_user","arguments":{"question":"q"}}}`), "name")
	f.Add([]byte(`{"a": 1}`), []byte(`"text"`), "__x")
	f.Fuzz(func(t *testing.T, output, additional []byte, name string) {
		if !json.Valid(output) || !json.Valid(additional) {
			return
		}
		info := mapping.StepInfo{ID: name, Name: name, Output: output, Additional: additional}
		for _, ask := range []mapping.Approval{mapping.ApprovalAuto, mapping.ApprovalAsk, mapping.ApprovalStep} {
			ev := StepUpdate(someRun, someTask, 1, info, nil, ask)
			if !json.Valid(ev.Data) {
				t.Errorf("the delta is %q", ev.Data)
			}
			for _, in := range ev.Head.Interrupts {
				if !json.Valid(in.Value) {
					t.Errorf("the question is %q", in.Value)
				}
			}
			for _, s := range NewStepFolder(someTask, mapping.SteppingFree).Add(&state.Entry{Event: ev}) {
				if s.AdditionalOutput != nil && !json.Valid(s.AdditionalOutput) {
					t.Errorf("the additional output is %q", s.AdditionalOutput)
				}
			}
		}
	})
}

func FuzzStepFolder(f *testing.F) {
	f.Add("a+b", []byte(`{"a":{"messages":[{"type":"ai","content":"x"}],"files":{"/a":1}},"b":null}`))
	f.Add("n", []byte(`{"files":{"/a":"x"}}`))
	f.Fuzz(func(t *testing.T, node string, data []byte) {
		folder := NewStepFolder(someTask, mapping.SteppingFree)
		for _, kind := range []mapping.Kind{mapping.KindStarted, mapping.KindUpdate, mapping.KindChunk, mapping.KindInterrupt, mapping.KindEnd} {
			ev := mapping.Event{Kind: kind, Data: data, Head: mapping.Head{Node: node, Name: "tasks", Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}}
			for _, s := range folder.Add(&state.Entry{Event: ev}) {
				if s.Output == nil || json.Valid(data) && s.AdditionalOutput != nil && !json.Valid(s.AdditionalOutput) {
					t.Errorf("step %+v of %q", s, data)
				}
			}
		}
	})
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"x"}`), []byte(`{"a":{"b":0},"b":null}`))
	f.Add([]byte(`{"memory":[{"namespace":["a"],"key":"k","value":{}}]}`), []byte(`{"a":[{"b":1}]}`))
	f.Fuzz(func(t *testing.T, value, patch []byte) {
		if merged, err := MergeMetadata(value, patch); err == nil && !json.Valid(merged) {
			t.Errorf("merged to %q", merged)
		}
		if _, err := MemoryWrites(value); err != nil && mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%v is not Invalid", err)
		}
		ExpandNamespace(string(patch), TemplateValues{value, value, string(patch)})
	})
}
