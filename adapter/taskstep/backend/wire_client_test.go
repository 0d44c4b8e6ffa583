package backend

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func TestParseStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     remoteStep
		bad      string // path of the field
	}{
		{"whole", `{"step_id":"s","task_id":"t","name":"n","status":"completed","output":"o","additional_output":{"a":1},"artifacts":[],"is_last":true}`,
			remoteStep{ID: "s", TaskID: "t", Name: "n", Status: "completed", Output: raw(`"o"`), Additional: raw(`{"a":1}`), IsLast: true, Told: true}, ""},
		{"bare", `{"step_id":"s"}`, remoteStep{ID: "s"}, ""},
		{"nulls", `{"step_id":"s","task_id":null,"name":null,"status":null,"output":null,"additional_output":null,"artifacts":null,"is_last":null}`, remoteStep{ID: "s"}, ""},
		{"numbers", ` {"step_id":7,"task_id":12} `, remoteStep{ID: "7", TaskID: "12"}, ""},
		{"object output", `{"step_id":"s","output":{"a":[1]}}`, remoteStep{ID: "s", Output: raw(`{"a":[1]}`)}, ""},
		{"text additional", `{"step_id":"s","additional_output":"x"}`, remoteStep{ID: "s", Additional: raw(`{"additional_output":"x"}`)}, ""},
		{"odd name and status", `{"step_id":"s","name":{},"status":[1]}`, remoteStep{ID: "s"}, ""},
		{"is_last as text", `{"step_id":"s","is_last":"True"}`, remoteStep{ID: "s", IsLast: true}, ""},
		{"artifacts as text", `{"step_id":"s","artifacts":"none"}`, remoteStep{ID: "s"}, ""},
		{"artifact ids", `{"step_id":"s","artifacts":["a",2]}`, remoteStep{ID: "s", Told: true, Artifacts: []remoteArtifact{{ID: "a"}, {ID: "2"}}}, ""},
		{"escapes", `{"step_id":"a\u00e9\n"}`, remoteStep{ID: "aé\n"}, ""},
		{"no id", `{"output":"x"}`, remoteStep{}, "step_id"},
		{"empty id", `{"step_id":""}`, remoteStep{}, "step_id"},
		{"odd id", `{"step_id":["s"]}`, remoteStep{}, "step_id"},
		{"odd task", `{"step_id":"s","task_id":{}}`, remoteStep{}, "task_id"},
		{"odd is_last", `{"step_id":"s","is_last":[]}`, remoteStep{}, "is_last"},
		{"odd artifact", `{"step_id":"s","artifacts":[{"artifact_id":"a"},[]]}`, remoteStep{}, "artifacts[1]"},
		{"odd artifact id", `{"step_id":"s","artifacts":[{"artifact_id":{}}]}`, remoteStep{}, "artifacts[0].artifact_id"},
		{"a list", `[]`, remoteStep{}, "the answer"},
		{"null", `null`, remoteStep{}, "the answer"},
		{"nothing", ``, remoteStep{}, "the answer"},
	} {
		got, err := parseStep(raw(c.in), "")
		var field *fieldError
		if c.bad != "" {
			if !errors.As(err, &field) || field.path != c.bad {
				t.Errorf("%s: error %v, want one at %s", c.name, err, c.bad)
			}
			continue
		}
		if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(remoteStep{}), cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}

func TestParseTask(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]remoteTask{
		`{"task_id":"t"}`: {ID: "t"},
		`{"task_id":3,"additional_input":null,"artifacts":null}`:             {ID: "3", Additional: raw("null")},
		`{"task_id":"t","steps":[],"additional_input":{"a":1}}`:              {ID: "t", Additional: raw(`{"a":1}`), Kind: kindPython},
		`{"task_id":"t","created_at":"2026-01-02T03:04:05.123456"}`:          {ID: "t", Kind: kindForge},
		`{"task_id":"t","created_at":"2026-01-02T03:04:05Z","artifacts":[]}`: {ID: "t"},
		`{"task_id":"t","created_at":1767323045}`:                            {ID: "t"},
	} {
		if got, err := parseTask(raw(in), ""); err != nil || !cmp.Equal(want, got, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %v\n%s", in, err, cmp.Diff(want, got))
		}
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		more bool
		bad  bool
	}{
		{`{"tasks":[{},{}],"pagination":{"total_items":2,"total_pages":1,"current_page":1,"page_size":10}}`, 2, false, false},
		{`{"tasks":[{}],"pagination":{"total_items":11,"total_pages":1}}`, 1, true, false},
		{`{"tasks":[{}],"pagination":{"total_items":1,"total_pages":0}}`, 1, false, false},
		{`{"items":[{}],"pagination":{"total":1,"pages":1,"current":1,"pageSize":10}}`, 1, false, false},
		{`{"items":[{}],"pagination":{"pages":2}}`, 1, true, false},
		{`{"tasks":[]}`, 0, false, false},
		{`{"tasks":null}`, 0, false, false},
		{`["a","b"]`, 2, false, false},
		{`[]`, 0, false, false},
		{`{"tasks":[{}],"pagination":"none"}`, 1, false, false},
		{`{"ok":true}`, 0, false, true},
		{`{"tasks":{}}`, 0, false, true},
		{`"text"`, 0, false, true},
		{`[`, 0, false, true},
		{``, 0, false, true},
	} {
		l, err := parseList(raw(c.in), "tasks")
		if (err != nil) != c.bad || len(l.Elems) != c.n || l.more() != c.more {
			t.Errorf("%s: %d entries, more %v, %v", c.in, len(l.Elems), l.more(), err)
		}
	}
}

// FuzzReading checks that reading never panics, and that values that are kept verbatim are JSON.
func FuzzReading(f *testing.F) {
	for _, seed := range []string{
		`{"step_id":"s","task_id":1,"output":{},"additional_output":"x","artifacts":[1,{"uri":"a"}],"is_last":"1"}`,
		`{"task_id":"t","steps":[],"artifacts":[{"name":"a","content":"b"}],"created_at":"2026-01-02T03:04:05"}`,
		`{"tasks":[{}],"pagination":{"total_items":11,"pages":"2"}}`, `[["a"],1,null]`, `"\ud800"`, "\xff", `{"step_id":-}`, `{"step_id":"\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		body = clean(body)
		if s, err := parseStep(body, ""); err == nil {
			for _, kept := range []json.RawMessage{s.Output, s.Additional} {
				if kept != nil && !json.Valid(kept) {
					t.Errorf("kept %q", kept)
				}
			}
			if s.ID == "" {
				t.Error("a step without an id was accepted")
			}
			for _, a := range s.Artifacts {
				_, _ = a.path()
			}
		}
		if task, err := parseTask(body, ""); err == nil && task.ID == "" {
			t.Error("a task without an id was accepted")
		}
		if l, err := parseList(body, "steps"); err == nil {
			newPages(l.Elems)
			_ = l.more()
		}
	})
}
