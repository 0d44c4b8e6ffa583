package main

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// TestD6_QueueFull: what does not fit in an agent's queue is refused in both dialects
// with the limit's name and when to come again, and is not there; what was accepted
// is done, and then what was refused may be asked for again.
func TestD6_QueueFull(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := newGate(agent, stepPosts, 1)
	b := inFront(t, g, whole, func(a *config.Agent) { a.Concurrency, a.Queue = 1, 1 })
	running := b.begin(b.thread(), "")
	g.await(t)
	queued, at := b.begin(b.thread(), ""), b.thread()
	task := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
	topic := b.post("/ap/v2/topics", "").ok().text("topic_id")
	inTopic := b.post("/ap/v2/topics/"+topic+"/tasks", `{"input":"hi"}`).text("task_id")
	steps := []string{"/ap/v1/agent/tasks/" + task + "/steps", "/ap/v2/topics/" + topic + "/tasks/" + inTopic + "/steps"}
	requests := map[string]string{
		at + "/runs": oneRun, at + "/runs/wait": oneRun, at + "/runs/stream": oneRun, "/runs": anAP, "/runs/wait": oneRun, steps[0]: "", steps[1]: "",
	}
	for path, body := range requests {
		a := b.post(path, body).is(http.StatusTooManyRequests)
		if a.header.Get("Retry-After") == "" || !says(string(a.body), "full", "agents.agent.queue") {
			t.Errorf("%s: %s %s", path, a.header.Get("Retry-After"), a.body)
		}
	}
	if left := b.get(at + "/runs").ok().list(""); len(left) != 0 {
		t.Errorf("refused, and there: %v", left)
	}
	b.expect(at, "status", "idle")
	g.open()
	for _, run := range []string{running, queued} {
		b.get(run + "/join").ok()
		b.expect(run, "status", "success")
	}
	for _, path := range steps {
		if a := b.post(path, "").ok(); a.at("is_last") != true {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	b.post(at+"/runs/wait", oneRun).ok()
	if c := agent.Counts(); c.Creates != 5 {
		t.Errorf("the agent was given %d tasks, want 5", c.Creates)
	}
}

// TestD6_FurtherQueues: all agents together, a thread and a key have limits of their
// own, each refused by its name.
func TestD6_FurtherQueues(t *testing.T) {
	t.Parallel()
	const key = "a key of sixteen characters"
	for name, limit := range map[string]func(*config.Config){
		"limits.queue":        func(c *config.Config) { c.Limits.Queue = 1 },
		"limits.thread_queue": func(c *config.Config) { c.Limits.ThreadQueue = 1 },
		"auth.keys[].queue":   func(c *config.Config) { c.Auth.Keys = []config.Key{{ID: "alice", Key: key, Queue: 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 1)
			cfg := configFor(t, agentsAt(adaptertest.Serve(t, g).URL))
			limit(cfg)
			b := startBridge(t, cfg)
			start := func() answer {
				return b.do("POST", crashThread+"/runs", enqueuedRun, "X-Api-Key", key)
			}
			b.do("POST", "/threads", `{"thread_id":"`+crashThread[len("/threads/"):]+`"}`, "X-Api-Key", key).ok()
			start().ok()
			g.await(t)
			start().ok()
			a := start().is(http.StatusTooManyRequests)
			if a.header.Get("Retry-After") == "" || a.text("code") != "queue_full" || !says(a.text("message"), name) {
				t.Errorf("%s: %s", a.header.Get("Retry-After"), a.body)
			}
			g.open()
		})
	}
}

const enqueuedRun = `{"assistant_id":"agent","multitask_strategy":"enqueue",` + saysHi + `}`
