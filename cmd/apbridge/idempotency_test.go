package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// maker is a POST that makes something, on a thread or task of its own.
type maker struct {
	path, body, other string
	id                string                      // where the answer names what was made; "": in Content-Location
	at                func(*bridge) (path string) // what {at} stands for
}

func aThread(b *bridge) string { return b.thread() }

func aTopic(b *bridge) string {
	return "/ap/v2/topics/" + b.post("/ap/v2/topics", "").ok().text("topic_id")
}

func aTask(b *bridge) string {
	return "/ap/v1/agent/tasks/" + b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
}

// aQuestion is a thread whose agent has asked something.
func aQuestion(b *bridge) string {
	at := b.thread()
	b.post(at+"/runs/wait", oneRun).ok()
	return at
}

const (
	oneRun   = `{"assistant_id":"agent",` + saysHi + `}`
	otherRun = `{"assistant_id":"agent","input":"something else"}`
	anAP     = `{"agent_id":"agent","input":"hi"}`
	otherAP  = `{"agent_id":"agent","input":"something else"}`
	aCron    = `{"assistant_id":"agent","schedule":"0 0 1 1 *",` + saysHi + `}`
	noCron   = `{"assistant_id":"agent","schedule":"0 0 2 1 *",` + saysHi + `}`
	aWord    = `{"input":"hi"}`
	noWord   = `{"input":"something else"}`
)

var makers = map[string]maker{
	"thread":                     {path: "/threads", body: `{"metadata":{"a":1}}`, other: `{"metadata":{"a":2}}`, id: "thread_id"},
	"run":                        {path: "{at}/runs", body: oneRun, other: otherRun, id: "run_id", at: aThread},
	"run, wait":                  {path: "{at}/runs/wait", body: oneRun, other: otherRun, at: aThread},
	"run, stream":                {path: "{at}/runs/stream", body: oneRun, other: otherRun, at: aThread},
	"resume":                     {path: "{at}/runs", body: `{"assistant_id":"agent","command":{"resume":"this"}}`, other: `{"assistant_id":"agent","command":{"resume":"that"}}`, id: "run_id", at: aQuestion},
	"run without a thread":       {path: "/runs", body: oneRun, other: otherRun, id: "run_id"},
	"run without one, wait":      {path: "/runs/wait", body: oneRun, other: otherRun},
	"run without one, stream":    {path: "/runs/stream", body: oneRun, other: otherRun},
	"Agent Protocol run":         {path: "/runs", body: anAP, other: otherAP, id: "run_id"},
	"Agent Protocol run, wait":   {path: "/runs/wait", body: anAP, other: otherAP},
	"Agent Protocol run, stream": {path: "/runs/stream", body: anAP, other: otherAP},
	"batch":                      {path: "/runs/batch", body: "[" + oneRun + "," + otherRun + "]", other: "[" + oneRun + "," + oneRun + "]", id: "1.run_id"},
	"batch, its length":          {path: "/runs/batch", body: "[" + oneRun + "]", other: "[" + oneRun + "," + oneRun + "]", id: "0.run_id"},
	"cron":                       {path: "/runs/crons", body: aCron, other: noCron, id: "cron_id"},
	"cron on a thread":           {path: "{at}/runs/crons", body: aCron, other: noCron, id: "cron_id", at: aThread},
	"task":                       {path: "/ap/v1/agent/tasks", body: aWord, other: noWord, id: "task_id"},
	"step":                       {path: "{at}/steps", body: aWord, other: noWord, id: "step_id", at: aTask},
	"topic":                      {path: "/ap/v2/topics", body: `{"name":"a"}`, other: `{"name":"b"}`, id: "topic_id"},
	"task of a topic":            {path: "{at}/tasks", body: aWord, other: noWord, id: "task_id", at: aTopic},
	"interaction":                {path: "{at}/interactions", body: aWord, other: noWord, id: "interaction_id", at: aTopic},
	"interaction without a task": {path: "{at}/interactions", body: `{"input":"hi","additional_input":{"derive_task":false}}`, other: `{"input":"no","additional_input":{"derive_task":false}}`, id: "interaction_id", at: aTopic},
	"interaction that answers":   {path: "{at}/interactions", body: `{"input":"y"}`, other: `{"input":"n"}`, id: "interaction_id", at: aTopicThatAsks},
}

// aTopicThatAsks is a topic whose agent has asked something.
func aTopicThatAsks(b *bridge) string {
	topic := aTopic(b)
	task := b.post(topic+"/tasks", aWord).ok().text("task_id")
	if step := b.post(topic+"/tasks/"+task+"/steps", "").ok(); !strings.Contains(string(step.body), "Which?") {
		b.t.Fatalf("the agent did not ask: %s", step.body)
	}
	return topic
}

// askingAgent is an agent that asks after its first step.
func askingAgent() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
		{Output: `"Which?"`, Additional: `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`}, {Output: `"thanks"`, Last: true},
	}}
}

// made is the id that an answer names.
func (m maker) made(a answer) string {
	a.ok()
	if m.id != "" {
		return fmt.Sprint(a.at(m.id))
	}
	return a.header.Get("Content-Location")
}

// TestIdempotencyKeys: every POST that makes something makes it once for a key,
// in turn and at once; another request under the key is refused, and another
// key makes another.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	bridges := map[bool]*bridge{false: inFront(t, adaptertest.NewStepAgent(adaptertest.AutoGPT), lockstep), true: inFront(t, askingAgent(), lockstep)}
	for name, m := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks := name == "resume" || strings.HasSuffix(name, "answers")
			b := &bridge{t: t, url: bridges[asks].url}
			path := m.path
			if m.at != nil {
				path = strings.ReplaceAll(path, "{at}", m.at(b))
			}
			key := "key of " + name
			answers := make([]answer, 12)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() {
					a, err := b.try(context.Background(), "POST", path, m.body, "Idempotency-Key", key)
					if err != nil {
						a.t, a.body = t, []byte(err.Error())
					}
					answers[i] = a
				})
			}
			all.Wait()
			first := m.made(answers[0])
			for _, a := range append(answers, b.do("POST", path, m.body, "Idempotency-Key", key)) {
				if got := m.made(a); got != first || first == "" || first == "<nil>" {
					t.Errorf("one key made %s and %s", first, got)
				}
			}
			if a := b.do("POST", path, m.other, "Idempotency-Key", key); a.status != http.StatusUnprocessableEntity || !strings.Contains(string(a.body), "Idempotency-Key") {
				t.Errorf("another request: %d %s", a.status, a.body)
			}
			if asks { // there is nothing left to be answered
				if topic, ok := strings.CutSuffix(path, "/interactions"); ok && len(b.get(topic+"/tasks").ok().list("tasks")) != 1 {
					t.Error("it derived a task instead of answering")
				}
				return
			}
			if a := b.do("POST", path, m.body, "Idempotency-Key", key+"2"); a.status != http.StatusConflict && m.made(a) == first {
				t.Errorf("another key made %s again", first)
			}
		})
	}
}
