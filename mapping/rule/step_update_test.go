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

// ai is an ai message in normal form, with additional_kwargs.
func ai(id, text, kwargs string) string {
	return fmt.Sprintf(`{"content":%q,"additional_kwargs":%s,"response_metadata":{},"id":%q,"type":"ai","tool_calls":[],"invalid_tool_calls":[]}`, text, kwargs, id)
}

func TestStepUpdate(t *testing.T) {
	t.Parallel()
	id := mapping.StepID(someTask, 3)
	for name, c := range map[string]struct {
		info, files      string
		delta, node      string
		output, addition string // what Head.Step still holds
	}{
		"text":         {info: `{"output":"done","name":"write_file"}`, delta: `{"messages":[` + ai(id, "done", "{}") + `]}`, node: "write_file"},
		"with more":    {info: `{"output":"done","additional":{"k":1.0}}`, delta: `{"messages":[` + ai(id, "done", `{"apbridge":{"k":1.0}}`) + `]}`, node: "step"},
		"object":       {info: `{"output":{"a": [1]}}`, delta: `{"messages":[` + ai(id, `{"a":[1]}`, "{}") + `]}`, node: "step", output: `{"a":[1]}`},
		"null":         {info: `{"additional":{"k":1}}`, delta: `{}`, node: "step", addition: `{"k":1}`},
		"empty":        {info: `{"output":""}`, files: `{"/a":"x"}`, delta: `{"files":{"/a":"x"}}`, node: "step", output: `""`},
		"files":        {info: `{"output":"x"}`, files: `{"/a":null}`, delta: `{"messages":[` + ai(id, "x", "{}") + `],"files":{"/a":null}}`, node: "step"},
		"copied input": {info: `{"name":"hello","input":"hello"}`, delta: `{}`, node: "step"},
		"copied y":     {info: `{"name":"y"}`, delta: `{}`, node: "step"},
		"a node y":     {info: `{"name":"y","input":"x"}`, delta: `{}`, node: "y"},
		"reserved":     {info: `{"name":"__end__"}`, delta: `{}`, node: "step"},
		"sentence":     {info: `{"name":"write a file"}`, delta: `{}`, node: "step"},
		"long":         {info: `{"name":"` + strings.Repeat("a", 65) + `"}`, delta: `{}`, node: "step"},
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
		if diff := cmp.Diff([]string{c.delta, c.node, c.output, c.addition}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if ev.Kind != mapping.KindUpdate || !ev.Head.Reduce || ev.RunID != someRun || ev.Head.Interrupts != nil {
			t.Errorf("%s: %+v", name, ev)
		}
		if said, more := StepSaid(ev); compacted(said) != compacted(given.Output) || compacted(more) != compacted(given.Additional) {
			t.Errorf("%s: StepSaid gave %s, %s", name, said, more)
		}
	}
}

func compacted(b json.RawMessage) string { return string(rawjson.Compact(b)) }

func TestStepQuestions(t *testing.T) {
	t.Parallel()
	const (
		asks  = `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`
		tool  = `{"use_tool":{"name":"write_file","arguments":{"filename":"a"}}}`
		flags = `"config":{"allow_accept":%v,"allow_edit":%v,"allow_respond":true,"allow_ignore":false}`
	)
	question := `[{"action_request":{"action":"ask_user","args":{"question":"Which?"}},` + fmt.Sprintf(flags, false, false) + `,"description":"Which?"}]`
	command := `[{"action_request":{"action":"write_file","args":{"filename":"a"}},` + fmt.Sprintf(flags, true, true) + `,"description":"out"}]`
	goOn := `[{"action_request":{"action":"continue","args":{"step":2,"output":"out"}},` + fmt.Sprintf(flags, true, false) + `,"description":"out"}]`
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
		{mapping.ApprovalAsk, `"text"`, false, ""}, {mapping.ApprovalAsk, `{"use_tool":null}`, false, ""},
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

// The SDKs of the v1 protocol drop additional_output: the name of a step is all by which
// their agents can say that it asks.
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
		} else if asks && (QuestionText(ev.Head.Interrupts[0].Value) != "Which one?" || ev.Head.Node != "ask_user") {
			t.Errorf("%s: %s asks %s", name, ev.Head.Node, ev.Head.Interrupts[0].Value)
		}
	}
}

func TestAnswerDelta(t *testing.T) {
	t.Parallel()
	if got := AnswerDelta(someRun, Answer{Continue: true}); got != nil {
		t.Errorf("going on leaves %s", got)
	}
	want := `{"messages":[` + human(mapping.MessageID(someRun, "answer"), "blue") + `]}`
	if got := string(AnswerDelta(someRun, Answer{Text: "blue"})); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	open := []mapping.Interrupt{{ID: "b0b513ed256784dcf1127144a9e81c61"}, {ID: mapping.InterruptID(someRun, 1)}}
	goOn := Answer{Continue: true}
	say := func(s string) Answer { return Answer{Text: s} }
	object := func(s string) Answer { return Answer{Text: s, Feedback: true} }
	for in, want := range map[string]Answer{
		``: goOn, `null`: goOn, ` true `: goOn, `""`: goOn, `"y"`: goOn, `" YES "`: goOn, `"true"`: goOn, `"accept"`: goOn,
		`{"type":"accept"}`: goOn, `[{"type":"accept","args":null}]`: goOn, `{"decisions":[{"type":"approve"}]}`: goOn,
		`"blue"`: say("blue"), `"no"`: say("no"), `false`: say("false"), `4.0`: say("4.0"), `[1, 2]`: say("[1,2]"), `{"a": 1}`: say(`{"a":1}`), `[]`: say("[]"), `{}`: say("{}"),
		`{"type":"response","args":"blue"}`:                                                            say("blue"),
		`[{"type":"response","args":"blue"}]`:                                                          say("blue"),
		`[{"type":"response","args":"y"}]`:                                                             goOn,
		`{"type":"edit","args":{"action":"ls","args":{"p": "/"}}}`:                                     object(`Do this instead: ls {"p":"/"}`),
		`{"type":"edit","args":"rather not"}`:                                                          object("rather not"),
		`{"decisions":[{"type":"edit","edited_action":{"name":"ls","args":{"p":"/"}}}]}`:               object(`Do this instead: ls {"p":"/"}`),
		`{"decisions":[{"type":"reject","message":"too risky"}]}`:                                      object("too risky"),
		`{"type":"reject"}`:                                                                            object("No, do not do that."),
		`{"type":"ignore"}`:                                                                            object("No, do not do that."),
		`{"decisions":[{"type":"approve"},{"type":"reject","message":"not this"}]}`:                    object("not this"),
		`[{"type":"accept"},{"type":"unknown"}]`:                                                       say(`[{"type":"accept"},{"type":"unknown"}]`),
		`{"b0b513ed256784dcf1127144a9e81c61":"blue"}`:                                                  say("blue"),
		`{"b0b513ed256784dcf1127144a9e81c61":{"type":"accept"}}`:                                       goOn,
		`{"` + mapping.InterruptID(someRun, 1) + `":null}`:                                             goOn,
		`{"` + mapping.InterruptID(someRun, 1) + `":"a","b0b513ed256784dcf1127144a9e81c61":["b",1.0]}`: say(`["b",1.0]`),
	} {
		got, err := ParseAnswer(asRaw(in), open)
		if err != nil || got != want {
			t.Errorf("ParseAnswer(%s) = %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{
		`{"` + mapping.InterruptID(someRun, 2) + `":"x"}`, `{"00000000000000000000000000000000":"x"}`,
		`{"b0b513ed256784dcf1127144a9e81c61":"x","other":1}`,
	} {
		_, err := ParseAnswer(asRaw(in), open)
		if e := mapping.Classify(err); e.Class != mapping.Invalid || !strings.Contains(e.Message, open[0].ID) {
			t.Errorf("ParseAnswer(%s) = %v, want Invalid with the pending ids", in, err)
		}
	}
	if _, err := ParseAnswer(asRaw(`{"a":`), nil); mapping.Classify(err).Class != mapping.Invalid {
		t.Errorf("broken JSON: %v", err)
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
