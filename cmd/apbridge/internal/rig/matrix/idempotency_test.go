package matrix

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// creation is a POST that creates an object on a separate thread or task.
type creation struct {
	path, body, other string                          // other is another request; "": the path is all there is to it
	id                string                          // where the answer names what was made; "": in Content-Location
	at                func(*rig.Bridge) (path string) // replaces {at}
}

func aThread(b *rig.Bridge) string { return b.Thread() }

func aTopic(b *rig.Bridge) string {
	return "/ap/v2/topics/" + b.Post("/ap/v2/topics", "").OK().Text("topic_id")
}

func aTask(b *rig.Bridge) string {
	return "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
}

// aQuestion returns a thread whose agent has asked a question.
func aQuestion(b *rig.Bridge) string {
	at := b.Thread()
	b.Post(at+"/runs/wait", rig.OneRun).OK()
	return at
}

var creations = map[string]creation{
	"thread":                     {path: "/threads", body: `{"metadata":{"a":1}}`, other: `{"metadata":{"a":2}}`, id: "thread_id"},
	"copy of a thread":           {path: "{at}/copy", id: "thread_id", at: aThread},
	"state":                      {path: "{at}/state", body: `{"values":{"a":1}}`, other: `{"values":{"a":2}}`, id: "checkpoint.checkpoint_id", at: aThread},
	"assistant":                  {path: "/assistants", body: `{"graph_id":"agent","name":"a"}`, other: `{"graph_id":"agent","name":"b"}`, id: "assistant_id"},
	"run":                        {path: "{at}/runs", body: rig.OneRun, other: rig.OtherRun, id: "run_id", at: aThread},
	"run, wait":                  {path: "{at}/runs/wait", body: rig.OneRun, other: rig.OtherRun, at: aThread},
	"run, stream":                {path: "{at}/runs/stream", body: rig.OneRun, other: rig.OtherRun, at: aThread},
	"resume":                     {path: "{at}/runs", body: `{"assistant_id":"agent","command":{"resume":"this"}}`, other: `{"assistant_id":"agent","command":{"resume":"that"}}`, id: "run_id", at: aQuestion},
	"run without a thread":       {path: "/runs", body: rig.OneRun, other: rig.OtherRun, id: "run_id"},
	"run without one, wait":      {path: "/runs/wait", body: rig.OneRun, other: rig.OtherRun},
	"run without one, stream":    {path: "/runs/stream", body: rig.OneRun, other: rig.OtherRun},
	"Agent Protocol run":         {path: "/runs", body: rig.AnAP, other: rig.OtherAP, id: "run_id"},
	"Agent Protocol run, wait":   {path: "/runs/wait", body: rig.AnAP, other: rig.OtherAP},
	"Agent Protocol run, stream": {path: "/runs/stream", body: rig.AnAP, other: rig.OtherAP},
	"batch":                      {path: "/runs/batch", body: "[" + rig.OneRun + "," + rig.OtherRun + "]", other: "[" + rig.OneRun + "," + rig.OneRun + "]", id: "1.run_id"},
	"batch, its length":          {path: "/runs/batch", body: "[" + rig.OneRun + "]", other: "[" + rig.OneRun + "," + rig.OneRun + "]", id: "0.run_id"},
	"cron":                       {path: "/runs/crons", body: rig.ACron, other: rig.NoCron, id: "cron_id"},
	"cron on a thread":           {path: "{at}/runs/crons", body: rig.ACron, other: rig.NoCron, id: "cron_id", at: aThread},
	"task":                       {path: "/ap/v1/agent/tasks", body: rig.AWord, other: rig.NoWord, id: "task_id"},
	"step":                       {path: "{at}/steps", body: rig.AWord, other: rig.NoWord, id: "step_id", at: aTask},
	"topic":                      {path: "/ap/v2/topics", body: `{"name":"a"}`, other: `{"name":"b"}`, id: "topic_id"},
	"task of a topic":            {path: "{at}/tasks", body: rig.AWord, other: rig.NoWord, id: "task_id", at: aTopic},
	"interaction":                {path: "{at}/interactions", body: rig.AWord, other: rig.NoWord, id: "interaction_id", at: aTopic},
	"interaction without a task": {path: "{at}/interactions", body: `{"input":"hi","additional_input":{"derive_task":false}}`, other: `{"input":"no","additional_input":{"derive_task":false}}`, id: "interaction_id", at: aTopic},
	"interaction that answers":   {path: "{at}/interactions", body: `{"input":"y"}`, other: `{"input":"n"}`, id: "interaction_id", at: aTopicThatAsks},
}

// aTopicThatAsks returns a topic whose agent has asked a question.
func aTopicThatAsks(b *rig.Bridge) string {
	topic := aTopic(b)
	task := b.Post(topic+"/tasks", rig.AWord).OK().Text("task_id")
	if step := b.Post(topic+"/tasks/"+task+"/steps", "").OK(); !strings.Contains(string(step.Body), "Which?") {
		b.T.Fatalf("the agent did not ask: %s", step.Body)
	}
	return topic
}

// askingAgent returns an agent that asks after its first step.
func askingAgent() *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
		{Output: `"Which?"`, Additional: `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`}, {Output: `"thanks"`, Last: true},
	}}
}

// made returns the id of the created object in a response.
func (m creation) made(a rig.Answer) string {
	a.OK()
	if m.id != "" {
		return fmt.Sprint(a.At(m.id))
	}
	return a.Header.Get("Content-Location")
}

// TestIdempotencyKeys checks that every POST that creates an object creates it once for a key, both sequentially and
// concurrently. Another request with the same key is refused, and another key creates another object.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	bridges := map[bool]*rig.Bridge{false: rig.InFront(t, adaptertest.NewStepAgent(adaptertest.AutoGPT), rig.Lockstep), true: rig.InFront(t, askingAgent(), rig.Lockstep)}
	for name, m := range creations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks := name == "resume" || strings.HasSuffix(name, "answers")
			b := &rig.Bridge{T: t, URL: bridges[asks].URL}
			path := m.path
			if m.at != nil {
				path = strings.ReplaceAll(path, "{at}", m.at(b))
			}
			key := "key of " + name
			answers := make([]rig.Answer, 12)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() {
					a, err := b.Try(context.Background(), "POST", path, m.body, "Idempotency-Key", key)
					if err != nil {
						a.T, a.Body = t, []byte(err.Error())
					}
					answers[i] = a
				})
			}
			all.Wait()
			first := m.made(answers[0])
			for _, a := range append(answers, b.Do("POST", path, m.body, "Idempotency-Key", key)) {
				if got := m.made(a); got != first || first == "" || first == "<nil>" {
					t.Errorf("one key created %s and %s", first, got)
				}
			}
			if m.other != "" {
				if a := b.Do("POST", path, m.other, "Idempotency-Key", key); a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Body), "Idempotency-Key") {
					t.Errorf("another request: %d %s", a.Status, a.Body)
				}
			}
			if asks { // there is nothing left to be answered
				if topic, ok := strings.CutSuffix(path, "/interactions"); ok && len(b.Get(topic+"/tasks").OK().List("tasks")) != 1 {
					t.Error("the request created a task instead of answering")
				}
				return
			}
			if a := b.Do("POST", path, m.body, "Idempotency-Key", key+"2"); a.Status != http.StatusConflict && m.made(a) == first {
				t.Errorf("another key returned %s again", first)
			}
		})
	}
}
