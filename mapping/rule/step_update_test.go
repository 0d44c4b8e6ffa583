package rule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

const someTask = "0f4554cf-0e22-553c-a89e-b63b98aa1526"

// ai returns an ai message in normal form, with additional_kwargs.
func ai(id, text, kwargs string) string {
	return fmt.Sprintf(`{"content":%q,"additional_kwargs":%s,"response_metadata":{},"id":%q,"type":"ai","tool_calls":[],"invalid_tool_calls":[]}`, text, kwargs, id)
}

func TestStepUpdate(t *testing.T) {
	t.Parallel()
	id := mapping.StepID(someTask, 3)
	for name, c := range map[string]struct {
		info, files      string
		delta            string
		output, addition string // remaining members of Head.Step
	}{
		"text":      {info: `{"output":"done","name":"write_file"}`, delta: `{"messages":[` + strings.Replace(ai(id, "done", "{}"), `"invalid_tool_calls":[]`, `"invalid_tool_calls":[],"name":"write_file"`, 1) + `]}`},
		"with more": {info: `{"output":"done","additional":{"k":1.0}}`, delta: `{"messages":[` + ai(id, "done", `{"apbridge":{"k":1.0}}`) + `]}`},
		"object":    {info: `{"output":{"a": [1]}}`, delta: `{"messages":[` + ai(id, `{"a":[1]}`, "{}") + `]}`, output: `{"a":[1]}`},
		"null":      {info: `{"additional":{"k":1}}`, delta: `{}`, addition: `{"k":1}`},
		"empty":     {info: `{"output":""}`, files: `{"/a":"x"}`, delta: `{"files":{"/a":"x"}}`, output: `""`},
		"files":     {info: `{"output":"x"}`, files: `{"/a":null}`, delta: `{"messages":[` + ai(id, "x", "{}") + `],"files":{"/a":null}}`},
	} {
		var info mapping.StepInfo
		if err := json.Unmarshal(asRaw(c.info), &info); err != nil {
			t.Fatal(err)
		}
		given := info
		var files json.RawMessage
		if c.files != "" {
			files = asRaw(c.files)
		}
		ev := StepUpdate(someRun, someTask, 3, info, files, mapping.ApprovalAuto)
		got := []string{string(ev.Data), ev.Head.Node, compacted(ev.Head.Step.Output), compacted(ev.Head.Step.Additional)}
		if diff := cmp.Diff([]string{c.delta, StepNode, c.output, c.addition}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if ev.Kind != mapping.KindUpdate || !ev.Head.Reduce || ev.RunID != someRun || ev.Head.Interrupts != nil {
			t.Errorf("%s: %+v", name, ev)
		}
		if said, more := StepSaid(&ev); compacted(said) != compacted(given.Output) || compacted(more) != compacted(given.Additional) {
			t.Errorf("%s: StepSaid gave %s, %s", name, said, more)
		}
	}
}

func compacted(b json.RawMessage) string { return string(rawjson.Compact(b)) }

func TestStepQuestions(t *testing.T) {
	t.Parallel()
	const (
		asks   = `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`
		tool   = `{"use_tool":{"name":"write_file","arguments":{"filename":"a"}}}`
		finish = `{"use_tool":{"name":"finish","arguments":{"reason":"done"}}}`
	)
	// Both generations: HITLRequest, with the names that pages use, and HumanInterrupt.
	payload := func(name, args, description, decisions string, accept, edit bool) string {
		return fmt.Sprintf(`{"action_requests":[{"name":%[1]q,"action":%[1]q,"args":%[2]s,"arguments":%[2]s,"description":%[3]q}],`+
			`"review_configs":[{"action_name":%[1]q,"actionName":%[1]q,"allowed_decisions":%[4]s,"allowedDecisions":%[4]s}],`+
			`"action_request":{"action":%[1]q,"args":%[2]s},"config":{"allow_accept":%[5]v,"allow_edit":%[6]v,"allow_respond":true,"allow_ignore":false},"description":%[3]q}`,
			name, args, description, decisions, accept, edit)
	}
	question := payload("ask_user", `{"question":"Which?","answer":""}`, "Which?", `["edit"]`, false, true)
	command := payload("write_file", `{"filename":"a"}`, "out", `["approve","edit","reject"]`, true, true)
	goOn := payload("continue", `{"step":2,"output":"out"}`, "out", `["approve","reject"]`, true, false)
	for _, c := range []struct {
		ask        mapping.Approval
		additional string
		last       bool
		want       string
	}{
		{mapping.ApprovalAuto, asks, false, question}, {mapping.ApprovalAsk, asks, false, question}, {mapping.ApprovalStep, asks, false, question},
		{mapping.ApprovalAuto, tool, false, ""}, {mapping.ApprovalAsk, tool, false, command}, {mapping.ApprovalStep, tool, false, goOn},
		{mapping.ApprovalAuto, `{}`, false, ""}, {mapping.ApprovalAsk, `{}`, false, ""}, {mapping.ApprovalStep, `{}`, false, goOn},
		{mapping.ApprovalAuto, asks, true, ""}, {mapping.ApprovalStep, `{}`, true, ""},
		{mapping.ApprovalAsk, finish, false, ""}, {mapping.ApprovalStep, finish, false, goOn}, {mapping.ApprovalAsk, `"text"`, false, ""}, {mapping.ApprovalAsk, `{"use_tool":null}`, false, ""},
	} {
		info := mapping.StepInfo{Output: asRaw(`"out"`), Additional: asRaw(c.additional), SaysLast: c.last}
		ev := StepUpdate(someRun, someTask, 2, info, nil, c.ask)
		if c.want == "" {
			if len(ev.Head.Interrupts) > 0 {
				t.Errorf("%s, %s: asks %s", c.ask, c.additional, ev.Head.Interrupts[0].Value)
			}
			continue
		}
		if len(ev.Head.Interrupts) != 1 {
			t.Errorf("%s, %s: does not ask", c.ask, c.additional)
			continue
		}
		got := ev.Head.Interrupts[0]
		if string(got.Value) != c.want || got.ID != mapping.InterruptID(someRun, 2) {
			t.Errorf("%s, %s: asks %s\nwant %s", c.ask, c.additional, got.Value, c.want)
		}
	}
	bare := mapping.StepInfo{Output: asRaw(`"Which one?"`), Additional: asRaw(`{"use_tool":{"name":"ask_user"}}`)}
	if ev := StepUpdate(someRun, someTask, 1, bare, nil, mapping.ApprovalAuto); QuestionText(ev.Head.Interrupts[0].Value) != "Which one?" {
		t.Errorf("a question without arguments: %s", ev.Head.Interrupts[0].Value)
	}
}

// The SDKs of the v1 protocol drop additional_output, so their agents can only ask by the name of a step.
func TestStepNamedAskUserAsks(t *testing.T) {
	t.Parallel()
	asked, other := "ask_user", "hi"
	for name, c := range map[string]struct {
		step mapping.StepInfo
		asks bool
	}{
		"the name and an output":    {mapping.StepInfo{Name: "ask_user", Output: asRaw(`"Which one?"`), Additional: asRaw(`{}`)}, true},
		"after words":               {mapping.StepInfo{Name: "ask_user", Output: asRaw(`"Which one?"`), Input: &other}, true},
		"no output":                 {mapping.StepInfo{Name: "ask_user", Output: asRaw(`""`)}, false},
		"the last step":             {mapping.StepInfo{Name: "ask_user", Output: asRaw(`"Which one?"`), SaysLast: true}, false},
		"a name copied from input":  {mapping.StepInfo{Name: "ask_user", Output: asRaw(`"done"`), Input: &asked}, false},
		"another command is next":   {mapping.StepInfo{Name: "ask_user", Output: asRaw(`"done"`), Additional: asRaw(`{"use_tool":{"name":"ls"}}`)}, false},
		"another name":              {mapping.StepInfo{Name: "ask", Output: asRaw(`"Which one?"`)}, false},
		"a question without a name": {mapping.StepInfo{Output: asRaw(`"Which one?"`)}, false},
	} {
		ev := StepUpdate(someRun, someTask, 2, c.step, nil, mapping.ApprovalAuto)
		if asks := len(ev.Head.Interrupts) == 1; asks != c.asks {
			t.Errorf("%s: asks %v, want %v", name, asks, c.asks)
		} else if asks && QuestionText(ev.Head.Interrupts[0].Value) != "Which one?" {
			t.Errorf("%s: it asks %s", name, ev.Head.Interrupts[0].Value)
		}
	}
}

func TestStepName(t *testing.T) {
	t.Parallel()
	hello, other := "hello", "x"
	for name, c := range map[string]struct {
		step mapping.StepInfo
		want string
	}{
		"its own":      {mapping.StepInfo{Name: "write_file"}, "write_file"},
		"copied input": {mapping.StepInfo{Name: "hello", Input: &hello}, ""},
		"copied y":     {mapping.StepInfo{Name: "y"}, ""},
		"y of its own": {mapping.StepInfo{Name: "y", Input: &other}, "y"},
		"a sentence":   {mapping.StepInfo{Name: "write a file"}, ""},
		"long":         {mapping.StepInfo{Name: strings.Repeat("a", 65)}, ""},
	} {
		if got := stepName(c.step); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnswerDelta(t *testing.T) {
	t.Parallel()
	if got := AnswerDelta(someRun, Answer{Continue: true}); got != nil {
		t.Errorf("continuing leaves %s", got)
	}
	want := `{"messages":[` + human(mapping.MessageID(someRun, "answer"), "blue") + `]}`
	if got := string(AnswerDelta(someRun, Answer{Text: "blue"})); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestQuestionText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"Go on?"`: "Go on?", `{"question":"Q","message":"M"}`: "Q", `{"message":"M"}`: "M", `{"text":"T","prompt":"P"}`: "T",
		`{"prompt":"P"}`: "P", `{"description":"D"}`: "D", `{"question":5, "x": 1}`: `{"question":5,"x":1}`, `[1, 2]`: "[1,2]", `null`: "null", ``: "",
		`[{"action_request":{"action":"a","args":{"question":"Q"}},"description":"D"}]`:                                 "Q",
		`[{"action_request":{"action":"a","args":{}},"description":"D"}]`:                                               "D",
		`{"action_request":{"action":"a","args":{}},"description":"D"}`:                                                 "D",
		`[{"action_request":{"action":"a"}}]`:                                                                           `[{"action_request":{"action":"a"}}]`,
		`[{"action_request":{},"description":"1"},{"action_request":{},"description":"2"}]`:                             "1\n\n2",
		`{"action_requests":[{"name":"a","args":{},"description":"D"}],"review_configs":[{"allowed_decisions":["x"]}]}`: "D",
		string(request{Action: askUser, Args: askArgs("Q"), Description: "D"}.json()):                                   "Q",
	} {
		if got := QuestionText(asRaw(in)); got != want {
			t.Errorf("QuestionText(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestResumeFor(t *testing.T) {
	t.Parallel()
	const (
		card      = `[{"action_request":{"action":"a","args":{}},"config":{"allow_accept":true}}]`
		words     = `[{"action_request":{"action":"a","args":{}},"config":{"allow_accept":false}}]`
		decisions = `{"action_requests":[{"name":"a"},{"name":"b"}],"review_configs":[{"action_name":"b","allowed_decisions":["approve","respond"]}]}`
	)
	for _, c := range []struct{ value, text, want string }{
		{card, "y", `[{"type":"accept","args":null}]`}, {card, "", `[{"type":"accept","args":null}]`},
		{card, "why?", `[{"type":"response","args":"why?"}]`}, {words, "y", `[{"type":"response","args":"y"}]`},
		{`{"action_request":{"action":"a"}}`, "yes", `[{"type":"accept","args":null}]`},
		{decisions, "y", `{"decisions":[{"type":"approve"},{"type":"approve"}]}`},
		{decisions, "no", `{"decisions":[{"type":"reject","message":"no"},{"type":"respond","message":"no"}]}`},
		{`{"question":"approve?"}`, "y", `"y"`}, {`"Name?"`, `Eve "E"`, `"Eve \"E\""`}, {``, "x", `"x"`},
	} {
		if got := string(ResumeFor(mapping.Interrupt{Value: asRaw(c.value)}, c.text)); got != c.want {
			t.Errorf("ResumeFor(%s, %q) = %s, want %s", c.value, c.text, got, c.want)
		}
	}
}
