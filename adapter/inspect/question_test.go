package inspect

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

const (
	middleware = `{"action_requests":[{"name":"rm","args":{"p":"/"},"description":"Delete?"},{"name":"ls","args":{}}],
 "review_configs":[{"action_name":"rm","allowed_decisions":["approve","edit","reject"]},{"action_name":"ls","allowed_decisions":["approve"]}]}`
	card      = `{"action_request":{"action":"rm","args":{"p":"/"}},"config":{"allow_accept":true,"allow_edit":true,"allow_respond":true,"allow_ignore":false}}`
	ownAsk    = `{"action_requests":[{"name":"ask_user","args":{"question":"Which?","answer":""}}],"review_configs":[{"action_name":"ask_user","allowed_decisions":["edit"]}],"action_request":{"action":"ask_user","args":{}},"config":{"allow_respond":true}}`
	objSchema = `{"type":"object","properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer"},"sure":{"type":"boolean"},"size":{"enum":["s","m"]},"more":{}},"required":["name"]}`
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct{ value, schema, form, want string }{
		"words":               {`"How old?"`, ``, `words=very`, `"very"`},
		"words that are JSON": {`"How old?"`, ``, `words=7`, `"7"`},
		"JSON":                {`"How old?"`, ``, `json= 7 &words=x`, `7`},
		"nothing":             {`"How old?"`, ``, `words= `, ``},
		"no JSON":             {`"How old?"`, ``, `json={`, ``},
		"decisions": {middleware, ``, `decision-0=edit&args-0={"p":"x"}&decision-1=approve`,
			`{"decisions":[{"type":"edit","edited_action":{"name":"rm","args":{"p":"x"}}},{"type":"approve"}]}`},
		"a refusal":                {middleware, ``, `decision-0=reject&reason-0=no&decision-1=approve`, `{"decisions":[{"type":"reject","message":"no"},{"type":"approve"}]}`},
		"one decision missing":     {middleware, ``, `decision-0=approve`, ``},
		"a decision not allowed":   {middleware, ``, `decision-0=approve&decision-1=reject`, ``},
		"a card accepted":          {card, ``, `decision-0=approve`, `[{"type":"accept","args":null}]`},
		"a card edited":            {"[" + card + "]", ``, `decision-0=edit&args-0={}`, `[{"type":"edit","args":{"action":"rm","args":{}}}]`},
		"a card in words":          {card, ``, `words=no+way`, `[{"type":"response","args":"no way"}]`},
		"a card cannot be refused": {card, ``, `decision-0=ignore`, ``},
		"the bridge's own":         {ownAsk, ``, `words=blue`, `{"type":"response","args":"blue"}`},
		"the bridge's, edited":     {ownAsk, ``, `decision-0=edit&args-0={"answer":"blue"}`, `{"decisions":[{"type":"edit","edited_action":{"name":"ask_user","args":{"answer":"blue"}}}]}`},
		"fields":                   {`"Who?"`, objSchema, `field-0=Ann&field-1=7&field-2=true&field-3="m"&field-4=`, `{"name":"Ann","age":7,"sure":true,"size":"m"}`},
		"a required field":         {`"Who?"`, objSchema, `field-0=`, `{"name":""}`},
		"no number":                {`"Who?"`, objSchema, `field-0=Ann&field-1=seven`, ``},
		"a number as a text":       {`"Who?"`, objSchema, `field-0=Ann&field-1="7"`, ``},
		"a negative number":        {`"Who?"`, objSchema, `field-0=Ann&field-1= -0.5 `, `{"name":"Ann","age":-0.5}`},
		"none of the choices":      {`"Who?"`, objSchema, `field-0=Ann&field-3="l"`, ``},
		"a bare number":            {`"How many?"`, `{"type":"number"}`, `field-0=7`, `7`},
		"a bare text":              {`"What?"`, `{"type":"string"}`, `field-0=7`, `"7"`},
		"any schema":               {`"What?"`, `true`, `field-0=[1]`, `[1]`},
	} {
		in, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		got, err := formOf(mapping.Interrupt{ID: "q", Value: json.RawMessage(tt.value), Schema: json.RawMessage(tt.schema)}).answer(in)
		if string(got) != tt.want || (err == nil) != (tt.want != "") || err != nil && mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
}

// The confirmation of an answer shows it in words unless it was given as JSON.
func TestAnswersInWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ value, schema, form, want string }{
		{`"How old?"`, ``, `words=very`, `very`},
		{`"How old?"`, ``, `json= {"a":1} `, `{"a":1}`},
		{middleware, ``, `decision-0=edit&args-0={"p":"x"}&decision-1=approve`, "edit rm with {\"p\":\"x\"}\napprove ls"},
		{middleware, ``, `decision-0=reject&reason-0=no&decision-1=approve`, "reject rm: no\napprove ls"},
		{`"Who?"`, objSchema, `field-0=Ann&field-1=7&field-3="m"`, "Name: Ann\nage: 7\nsize: \"m\""},
		{`"How many?"`, `{"type":"number"}`, `field-0=7`, `7`},
	} {
		in, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		if got := formOf(mapping.Interrupt{Value: json.RawMessage(tt.value), Schema: json.RawMessage(tt.schema)}).inWords(in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.form, got, tt.want)
		}
	}
}

// An answer is valid JSON or refused as invalid.
func FuzzQuestion(f *testing.F) {
	for _, value := range []string{middleware, card, ownAsk, `"x"`, `null`, `[]`} {
		f.Add(value, objSchema, "decision-0=approve&words=x&field-0=1&reason-0=r&args-0={}")
	}
	f.Fuzz(func(t *testing.T, value, schema, form string) {
		if !rawjson.Valid([]byte(value)) || schema != "" && !rawjson.Valid([]byte(schema)) {
			return
		}
		in, err := url.ParseQuery(form)
		if err != nil {
			return
		}
		got, err := formOf(mapping.Interrupt{Value: json.RawMessage(value), Schema: json.RawMessage(schema)}).answer(in)
		if err == nil && !json.Valid([]byte(strings.ToValidUTF8(string(got), "?"))) && got != nil {
			t.Errorf("%s", got)
		}
	})
}

// A run that asked is answered once none of its questions is open. A run that was cancelled did not ask.
func TestRunsAreAnswered(t *testing.T) {
	t.Parallel()
	open := []mapping.Interrupt{{ID: "q", Run: "r"}}
	for name, c := range map[string]struct {
		run    mapping.Run
		thread mapping.Thread
		want   bool
	}{
		"open":                  {mapping.Run{ID: "r", Status: mapping.RunInterrupted}, mapping.Thread{Status: mapping.ThreadInterrupted, Interrupts: open}, false},
		"asked again":           {mapping.Run{ID: "old", Status: mapping.RunInterrupted}, mapping.Thread{Status: mapping.ThreadInterrupted, Interrupts: open}, true},
		"answered":              {mapping.Run{ID: "r", Status: mapping.RunInterrupted}, mapping.Thread{Status: mapping.ThreadIdle}, true},
		"stopped before a node": {mapping.Run{ID: "r", Status: mapping.RunInterrupted}, mapping.Thread{Status: mapping.ThreadInterrupted}, false},
		"cancelled":             {mapping.Run{ID: "r", Status: mapping.RunInterrupted, CancelReason: mapping.CancelledByRequest}, mapping.Thread{Status: mapping.ThreadIdle}, false},
		"success":               {mapping.Run{ID: "r", Status: mapping.RunSuccess}, mapping.Thread{Status: mapping.ThreadIdle}, false},
	} {
		if got := answered(&c.run, &c.thread); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
