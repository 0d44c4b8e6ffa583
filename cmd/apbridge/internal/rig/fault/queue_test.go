package fault

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestQueueFull checks that runs beyond an agent's queue are refused in both dialects, with the limit's name and a
// Retry-After, and are not stored. Accepted runs are executed, and refused ones can then be requested again.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 1)
	b := rig.InFront(t, g, rig.Whole, func(a *config.Agent) { a.Concurrency, a.Queue = 1, 1 })
	running := b.Begin(b.Thread(), "")
	g.Await(t)
	queued, at := b.Begin(b.Thread(), ""), b.Thread()
	task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	topic := b.Post("/ap/v2/topics", "").OK().Text("topic_id")
	inTopic := b.Post("/ap/v2/topics/"+topic+"/tasks", `{"input":"hi"}`).Text("task_id")
	steps := []string{"/ap/v1/agent/tasks/" + task + "/steps", "/ap/v2/topics/" + topic + "/tasks/" + inTopic + "/steps"}
	requests := map[string]string{
		at + "/runs": rig.OneRun, at + "/runs/wait": rig.OneRun, at + "/runs/stream": rig.OneRun, "/runs": rig.AnAP, "/runs/wait": rig.OneRun, steps[0]: "", steps[1]: "",
	}
	for path, body := range requests {
		a := b.Post(path, body).Is(http.StatusTooManyRequests)
		if a.Header.Get("Retry-After") == "" || !rig.Says(string(a.Body), "full", "agents.agent.queue") {
			t.Errorf("%s: %s %s", path, a.Header.Get("Retry-After"), a.Body)
		}
	}
	if left := b.Get(at + "/runs").OK().List(""); len(left) != 0 {
		t.Errorf("a refused run was stored: %v", left)
	}
	b.Expect(at, "status", "idle")
	g.Open()
	for _, run := range []string{running, queued} {
		b.Get(run + "/join").OK()
		b.Expect(run, "status", "success")
	}
	for _, path := range steps {
		if a := b.Post(path, "").OK(); a.At("is_last") != true {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	b.Post(at+"/runs/wait", rig.OneRun).OK()
	if c := agent.Counts(); c.Creates != 5 {
		t.Errorf("the agent received %d tasks, want 5", c.Creates)
	}
}

// TestQueueLimitsOfThreadsAndKeys checks the separate limits of all agents together, a thread and a key, and that each
// refusal names its limit.
func TestQueueLimitsOfThreadsAndKeys(t *testing.T) {
	t.Parallel()
	const key = "a key of sixteen characters"
	for name, limit := range map[string]func(*config.Config){
		"limits.queue":        func(c *config.Config) { c.Limits.Queue = 1 },
		"limits.thread_queue": func(c *config.Config) { c.Limits.ThreadQueue = 1 },
		"auth.keys[].queue":   func(c *config.Config) { c.Auth.Keys = []config.Key{{ID: "alice", Key: key, Queue: 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
			cfg := rig.ConfigFor(t, rig.AgentsAt(adaptertest.Serve(t, g).URL))
			limit(cfg)
			b := rig.StartBridge(t, cfg)
			start := func() rig.Answer {
				return b.Do("POST", rig.CrashThread+"/runs", enqueuedRun, "X-Api-Key", key)
			}
			b.Do("POST", "/threads", `{"thread_id":"`+rig.CrashThread[len("/threads/"):]+`"}`, "X-Api-Key", key).OK()
			start().OK()
			g.Await(t)
			start().OK()
			a := start().Is(http.StatusTooManyRequests)
			if a.Header.Get("Retry-After") == "" || a.Text("code") != "queue_full" || !rig.Says(a.Text("message"), name) {
				t.Errorf("%s: %s", a.Header.Get("Retry-After"), a.Body)
			}
			g.Open()
		})
	}
}

// A key may use at most half of an agent's queue and a tenant three quarters, so that runs of others can wait.
func TestKeyMayNotFillTheQueue(t *testing.T) {
	t.Parallel()
	keyOf := func(id string) string { return "a key of sixteen characters " + id }
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, g).URL, func(a *config.Agent) { a.Concurrency, a.Queue = 1, 4 })})
	for _, id := range []string{"a1", "a2", "b1"} {
		cfg.Auth.Keys = append(cfg.Auth.Keys, config.Key{ID: id, Key: config.Secret(keyOf(id)), Tenant: id[:1]})
	}
	b := rig.StartBridge(t, cfg)
	start := func(id string) rig.Answer {
		thread := b.Do("POST", "/threads", `{}`, "X-Api-Key", keyOf(id)).OK().Text("thread_id")
		return b.Do("POST", "/threads/"+thread+"/runs", rig.OneRun, "X-Api-Key", keyOf(id))
	}
	start("a1").OK()
	g.Await(t)
	for _, step := range []struct {
		id, refused string
	}{
		{"a1", ""}, {"a1", ""}, {"a1", `Key "a1"`}, {"a2", ""}, {"a2", `Tenant "a"`}, {"b1", ""}, {"b1", `The queue of agent "agent" is full`},
	} {
		a := start(step.id)
		if step.refused == "" {
			a.OK()
			continue
		}
		if a.Status != http.StatusTooManyRequests || a.Text("code") != "queue_full" || !rig.Says(a.Text("message"), step.refused, "agents.agent.queue") || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", step.id, a.Status, a.Body)
		}
	}
	g.Open()
}

const enqueuedRun = `{"assistant_id":"agent","multitask_strategy":"enqueue",` + rig.SaysHi + `}`
