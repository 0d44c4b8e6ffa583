package rule

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func TestCheckAnswer(t *testing.T) {
	t.Parallel()
	const one, two, none = "11111111111111111111111111111111", "22222222222222222222222222222222", "33333333333333333333333333333333"
	const uuid = "0190e1f2-0000-7000-8000-000000000001"
	for _, c := range []struct {
		name, answer string
		open         []string
		names        []string // that the refusal must contain; nil if the answer is accepted
	}{
		{"bare", `"yes"`, []string{one}, nil},
		{"by its id", `{"` + one + `":"yes"}`, []string{one}, nil},
		{"by another id", `{"` + none + `":"yes"}`, []string{one}, []string{none, one}},
		{"by both", `{"` + none + `":1,"` + one + `":1}`, []string{one}, []string{none, one}},
		{"an object that is the value", `{"type":"accept"}`, []string{one}, nil},
		{"a value by the user's own ids", `{"` + uuid + `":"keep"}`, []string{one}, nil},
		{"bare, of two", `"yes"`, []string{one, two}, []string{one, two}},
		{"an object, of two", `{"type":"accept"}`, []string{one, two}, []string{one, two}},
		{"one of two", `{"` + two + `":"yes"}`, []string{one, two}, nil},
		{"nothing said, to both", `null`, []string{one, two}, nil},
		{"two that have no ids", `"yes"`, []string{"", ""}, nil},
		{"after a stop", `"yes"`, nil, nil},
	} {
		var open []mapping.Interrupt
		for _, id := range c.open {
			open = append(open, mapping.Interrupt{ID: id, Nameless: id == ""})
		}
		err := CheckAnswer(json.RawMessage(c.answer), open)
		if (err != nil) != (c.names != nil) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, id := range c.names {
			if e := mapping.Classify(err); e.Class != mapping.Invalid || !strings.Contains(e.Message, id) {
				t.Errorf("%s: %v does not name %s", c.name, err, id)
			}
		}
	}
}

// TestCheckAnswerToNameless checks that an agent that receives no id gives an answer to the first question.
func TestCheckAnswerToNameless(t *testing.T) {
	t.Parallel()
	const one, two = "11111111111111111111111111111111", "22222222222222222222222222222222"
	open := []mapping.Interrupt{{ID: one, Nameless: true}, {ID: two, Nameless: true}}
	for answer, taken := range map[string]bool{
		`"yes"`: true, `null`: true, `{"` + one + `":"yes"}`: true,
		`{"` + two + `":"yes"}`: false, `{"` + one + `":1,"` + two + `":2}`: false,
	} {
		err := CheckAnswer(json.RawMessage(answer), open)
		if (err == nil) != taken {
			t.Errorf("%s: %v", answer, err)
		}
		if e := mapping.Classify(err); !taken && (e.Class != mapping.Invalid || !strings.Contains(e.Message, "Answer "+one+" first.")) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// asked returns a question of a task/step agent.
func asked(id string, ask mapping.Approval, tool string) mapping.Interrupt {
	info := mapping.StepInfo{Output: asRaw(`"out"`), Additional: asRaw(`{"use_tool":{"name":"` + tool + `","arguments":{"question":"Which?"}}}`)}
	in := stepQuestion(someRun, 1, info, ask)[0]
	in.ID = id
	return in
}

const firstID, secondID = "b0b513ed256784dcf1127144a9e81c61", "c0b513ed256784dcf1127144a9e81c62"

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	goOn, nothing := Answer{Continue: true, form: formConsent}, Answer{Continue: true, form: formNothing}
	say := func(s string) Answer { return Answer{Text: s, form: formWords} }
	edit := func(s string) Answer { return Answer{Text: s, form: formEdit} }
	reject := func(s string) Answer { return Answer{Text: s, form: formReject} }
	for _, c := range []struct {
		tool    string
		answers map[string]Answer
	}{
		{"write_file", map[string]Answer{
			``: nothing, `null`: nothing, `""`: nothing, `"  "`: nothing, `[]`: nothing, `{"decisions":[]}`: nothing,
			` true `: goOn, `"y"`: goOn, `" YES "`: goOn, `"true"`: goOn, `"accept"`: goOn, `"approve"`: goOn, `"OK"`: goOn,
			`{"type":"accept"}`: goOn, `[{"type":"accept","args":null}]`: goOn, `{"decisions":[{"type":"approve"}]}`: goOn,
			`"blue"`: say("blue"), `"no"`: say("no"), `false`: say("false"), `4.0`: say("4.0"), `[1, 2]`: say("[1,2]"), `{"a": 1}`: say(`{"a":1}`), `{}`: say("{}"),
			`{"type":"response","args":"blue"}`:                                              say("blue"),
			`[{"type":"response","args":"y"}]`:                                               goOn,
			`[{"type":"response","args":""}]`:                                                nothing,
			`{"decisions":[{"type":"respond","message":"blue"}]}`:                            say("blue"),
			`{"type":"edit","args":{"action":"ls","args":{"p": "/"}}}`:                       edit(`Do this instead: ls {"p":"/"}`),
			`{"type":"edit","args":"rather not"}`:                                            edit("rather not"),
			`{"type":"edit"}`:                                                                nothing,
			`{"decisions":[{"type":"edit","edited_action":{"name":"ls","args":{"p":"/"}}}]}`: edit(`Do this instead: ls {"p":"/"}`),
			`{"decisions":[{"type":"edit","editedAction":{"name":"ls","args":{"p":"/"}}}]}`:  edit(`Do this instead: ls {"p":"/"}`),
			`{"decisions":[{"type":"reject","message":"too risky"}]}`:                        reject("too risky"),
			`{"type":"reject"}`:                                                              {Text: "No, do not do that.", form: formNo},
			`{"type":"ignore"}`:                                                              {Text: "No, do not do that.", form: formIgnore},
			`{"decisions":[{"type":"approve"},{"type":"reject","message":"not this"}]}`:      {form: formSeveral},
			`[{"type":"accept"},{"type":"unknown"}]`:                                         say(`[{"type":"accept"},{"type":"unknown"}]`),
			`{"` + firstID + `":"blue"}`:                                                     say("blue"),
			`{"` + firstID + `":{"type":"accept"}}`:                                          goOn,
			`{"` + firstID + `":null}`:                                                       nothing,
		}},
		{askUser, map[string]Answer{
			`null`: nothing, `""`: nothing, `"yes"`: say("yes"), `"y"`: say("y"), `true`: say("true"), `" blue "`: say(" blue "), `{"` + firstID + `":["b",1.0]}`: say(`["b",1.0]`),
			`[{"type":"response","args":"yes"}]`: say("yes"),
			`{"type":"accept"}`:                  goOn,
			`{"decisions":[{"type":"edit","edited_action":{"name":"ask_user","args":{"question":"Which?","answer":"blue"}}}]}`: edit("blue"),
			`[{"type":"edit","args":{"action":"ask_user","args":{"question":"Which?","answer":"blue"}}}]`:                      edit("blue"),
			`{"decisions":[{"type":"edit","edited_action":{"name":"ask_user","args":{"question":"Which?","answer":""}}}]}`:     nothing,
			`{"decisions":[{"type":"reject","message":"purple"}]}`:                                                             reject("purple"),
		}},
	} {
		for in, want := range c.answers {
			got, err := ParseAnswer(&mapping.RunOptions{Resume: asRaw(in), Asked: []mapping.Interrupt{asked(firstID, mapping.ApprovalAsk, c.tool)}})
			if err != nil || got != want {
				t.Errorf("%s: ParseAnswer(%s) = %+v, %v, want %+v", c.tool, in, got, err, want)
			}
		}
	}
	if _, err := ParseAnswer(&mapping.RunOptions{Resume: asRaw(`{"a":`)}); mapping.Classify(err).Class != mapping.Invalid {
		t.Errorf("broken JSON: %v", err)
	}
	silent := mapping.RunOptions{Resume: asRaw(`[{"type":"response","args":"y"}]`), Guessed: "Which?", Asked: []mapping.Interrupt{asked(firstID, mapping.ApprovalAuto, askUser)}}
	if a, err := ParseAnswer(&silent); err != nil || !a.Continue || CheckStepAnswer(&silent) != nil {
		t.Errorf("a default answer of yes is %+v, %v, want a step without input", a, err)
	}
}

// An invalid answer to a question is refused with the question's id and the accepted answers.
func TestCheckStepAnswer(t *testing.T) {
	t.Parallel()
	command, user, each := asked(firstID, mapping.ApprovalAsk, "write_file"), asked(firstID, mapping.ApprovalAuto, askUser), asked(firstID, mapping.ApprovalStep, "write_file")
	old := mapping.Interrupt{ID: firstID, Value: asRaw(`[{"action_request":{"action":"ask_user","args":{"question":"Which?"}},"config":{"allow_accept":false,"allow_edit":false,"allow_respond":true,"allow_ignore":false},"description":"Which?"}]`)}
	second := asked(secondID, mapping.ApprovalAuto, askUser)
	const editUser = `{"decisions":[{"type":"edit","edited_action":{"name":"ask_user","args":{"answer":"blue"}}}]}`
	for _, c := range []struct {
		open    []mapping.Interrupt
		taken   []string
		refused []string
		says    string
	}{
		{[]mapping.Interrupt{command}, []string{`true`, `"yes"`, `{"decisions":[{"type":"approve"}]}`, `{"type":"edit","args":{"action":"ls"}}`, `{"type":"reject"}`, `"no, blue"`},
			[]string{`null`, `""`, `[]`, `{"type":"ignore"}`, `{"decisions":[{"type":"approve"},{"type":"approve"}]}`, `{"decisions":[{"type":"aprove"}]}`, `{"decisions":[true]}`, `{"` + firstID + `":null}`}, "to continue"},
		{[]mapping.Interrupt{user}, []string{`"yes"`, `"blue"`, editUser, `{"type":"reject","message":"none"}`, `false`},
			[]string{`null`, `""`, `{"type":"accept"}`, `{"decisions":[{"type":"approve"}]}`, `{"type":"reject"}`, `{"decisions":[]}`, `{"decisions":[{"type":"answer","message":"blue"}]}`}, `"name":"ask_user"`},
		{[]mapping.Interrupt{old}, []string{`"yes"`, `[{"type":"response","args":"blue"}]`, editUser}, []string{`null`, `[{"type":"accept"}]`}, `"name":"ask_user"`},
		{[]mapping.Interrupt{each}, []string{`true`, `"faster"`, `{"type":"reject"}`}, []string{`null`, `{"type":"edit","args":{"action":"ls"}}`}, "to continue"},
		{[]mapping.Interrupt{user, second}, []string{`{"` + secondID + `":"blue"}`},
			[]string{`"blue"`, `{"` + firstID + `":"a","` + secondID + `":"b"}`, `{"00000000000000000000000000000000":"x"}`, `{"` + firstID + `":"x","other":1}`}, secondID},
	} {
		for _, in := range c.taken {
			if err := CheckStepAnswer(&mapping.RunOptions{Resume: asRaw(in), Asked: c.open}); err != nil {
				t.Errorf("%s is refused: %v", in, err)
			}
		}
		for _, in := range c.refused {
			e := mapping.Classify(CheckStepAnswer(&mapping.RunOptions{Resume: asRaw(in), Asked: c.open}))
			if e == nil || e.Class != mapping.Invalid || !strings.Contains(e.Message, firstID) || !strings.Contains(e.Message, c.says) || e.Detail == nil {
				t.Errorf("%s: %v, want Invalid with the pending ids and %s", in, e, c.says)
			}
		}
	}
}

// Answers to a graph fit its schema.
func TestCheckSchemas(t *testing.T) {
	t.Parallel()
	days := mapping.Interrupt{ID: firstID, Value: asRaw(`"How many?"`), Schema: asRaw(`{"type":"integer","minimum":1}`)}
	any := mapping.Interrupt{ID: secondID, Value: asRaw(`"Which?"`)}
	for _, c := range []struct {
		open   []mapping.Interrupt
		answer string
		taken  bool
	}{
		{[]mapping.Interrupt{days}, `3`, true},
		{[]mapping.Interrupt{days}, `"three"`, false},
		{[]mapping.Interrupt{days}, `null`, false},
		{[]mapping.Interrupt{days}, `{"` + firstID + `":3}`, true},
		{[]mapping.Interrupt{days}, `{"` + firstID + `":0}`, false},
		{[]mapping.Interrupt{days, any}, `{"` + firstID + `":3,"` + secondID + `":"x"}`, true},
		{[]mapping.Interrupt{days, any}, `{"` + firstID + `":"x","` + secondID + `":"x"}`, false},
		{[]mapping.Interrupt{days, any}, `{"` + secondID + `":"x"}`, true},
		{[]mapping.Interrupt{any}, `"x"`, true},
	} {
		err := CheckSchemas(&mapping.RunOptions{Resume: asRaw(c.answer), Asked: c.open})
		if e := mapping.Classify(err); (err == nil) != c.taken || err != nil && (e.Class != mapping.Invalid || !strings.Contains(e.Message, firstID)) {
			t.Errorf("%s: %v, want accepted %t", c.answer, err, c.taken)
		}
	}
	if err := CheckSchemas(&mapping.RunOptions{Resume: asRaw(`"y"`), Asked: []mapping.Interrupt{days}, Guessed: "How many?"}); err != nil {
		t.Errorf("absent input is refused: %v", err)
	}
	for _, c := range [][3]string{
		{`{"type":"integer"}`, "3", `3`}, {`{"type":"string"}`, "3", `"3"`}, {`{"type":"boolean"}`, "yes", `true`}, {`{"type":"boolean"}`, "No", `false`},
		{`{"type":"object"}`, ` {"a":1} `, `{"a":1}`}, {`{"type":"integer"}`, "three", `"three"`}, {``, "3", `"3"`},
	} {
		if got := string(ResumeFor(mapping.Interrupt{Value: asRaw(`"?"`), Schema: asRaw(c[0])}, c[1])); got != c[2] {
			t.Errorf("ResumeFor(%q) for %s = %s, want %s", c[1], c[0], got, c[2])
		}
	}
}
