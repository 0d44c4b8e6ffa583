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
		names        []string // that the refusal must have; nil: it is taken
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
			open = append(open, mapping.Interrupt{ID: id})
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

// Ids of questions that a database holds from before have dashes; clients may write
// either form.
func TestAnswerNamesEitherSpelling(t *testing.T) {
	t.Parallel()
	const dashed, digits = "b93f4bd6-44d2-5c28-ac2a-1bfa61d8dbfa", "b93f4bd644d25c28ac2a1bfa61d8dbfa"
	for asked, named := range map[string]string{dashed: digits, digits: dashed} {
		open := []mapping.Interrupt{{ID: asked}, {ID: "b0b513ed256784dcf1127144a9e81c61"}}
		for in, want := range map[string]string{
			`{"` + named + `":"blue"}`:         `{"` + asked + `":"blue"}`,
			`{"` + asked + `": "blue"}`:        `{"` + asked + `": "blue"}`,
			`{"colour":"blue"}`:                `{"colour":"blue"}`,
			`"` + named + `"`:                  `"` + named + `"`,
			`{"` + named[:30] + `00":"blue"}`:  `{"` + named[:30] + `00":"blue"}`,
			`{"` + named + `":{"a":1},"x":[]}`: `{"` + asked + `":{"a":1},"x":[]}`,
		} {
			if got := string(AnswerAsAsked(asRaw(in), open)); got != want {
				t.Errorf("asked as %s: %s becomes %s, want %s", asked, in, got, want)
			}
		}
	}
}
