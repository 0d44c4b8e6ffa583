package threadrun

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// explained is a bridge with a waiting run.
type explained struct {
	*rig.Bridge
	run string // its path
}

func hanging(t *testing.T, change ...func(*config.Agent)) (*rig.Bridge, *rig.Gate) {
	t.Helper()
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 1)
	t.Cleanup(g.Open)
	return rig.InFront(t, g, append(change, func(a *config.Agent) { a.Dialect = "taskstep" })...), g
}

// waits makes a run wait for the named reason, and returns the expected part of the response.
var waits = map[string]func(*testing.T) (explained, map[string]string){
	"queue": func(t *testing.T) (explained, map[string]string) {
		b, g := hanging(t)
		at := b.Thread()
		first := b.Begin(at, "")
		g.Await(t)
		second := b.Begin(at, `"multitask_strategy":"enqueue",`)
		third := b.Begin(at, `"multitask_strategy":"enqueue",`)
		id := func(run string) string { return run[strings.LastIndex(run, "/")+1:] }
		return explained{b, third}, map[string]string{
			"queue.place": "2", "queue.before.0.run_id": id(first), "queue.before.0.status": "running", "queue.before.1.run_id": id(second), "status": "pending",
		}
	},
	"update": func(t *testing.T) (explained, map[string]string) {
		g := rig.NewGate(rig.Chats(), func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/state")
		}, 1)
		b := rig.InFront(t, g, rig.AsThreads)
		at := b.Thread()
		b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
		updated := make(chan struct{})
		go func() {
			defer close(updated)
			b.Post(at+"/state", `{"values":{"messages":[]}}`)
		}()
		t.Cleanup(func() { g.Open(); <-updated })
		g.Await(t)
		run := b.Begin(at, "")
		return explained{b, run}, map[string]string{"status": "pending", "update.here": "true", "queue": "<nil>"}
	},
	"limit": func(t *testing.T) (explained, map[string]string) {
		b, g := hanging(t, func(a *config.Agent) { a.Concurrency = 1 })
		b.Begin(b.Thread(), "")
		g.Await(t)
		b.Begin(b.Thread(), "")
		return explained{b, b.Begin(b.Thread(), "")}, map[string]string{
			"limit.name": "agents.agent.concurrency", "limit.value": "1", "limit.used": "1", "limit.place": "2",
		}
	},
	"delayed": func(t *testing.T) (explained, map[string]string) {
		b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
		return explained{b, b.Begin(b.Thread(), `"after_seconds":3600,`)}, map[string]string{"queue": "<nil>"}
	},
	"upstream": func(t *testing.T) (explained, map[string]string) {
		g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
		t.Cleanup(g.Open)
		b := rig.InFront(t, g, func(a *config.Agent) { a.Dialect = "taskstep" })
		run := b.Begin(b.Thread(), "")
		g.Await(t)
		rig.Eventually(t, "the first step is logged", func() bool { return b.Get(run+"/explain").OK().At("upstream.step") != 1.0 })
		return explained{b, run}, map[string]string{"upstream.step": "2", "upstream.attempt": "1", "lease.here": "true"}
	},
	"question": func(t *testing.T) (explained, map[string]string) {
		b := rig.InFront(t, &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
			{Output: `"Which?"`, Additional: `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`}, {Output: `"thanks"`, Last: true},
		}})
		run := b.Begin(b.Thread(), "")
		rig.Eventually(t, "the question", func() bool { return b.Get(run).OK().At("status") == "interrupted" })
		return explained{b, run}, map[string]string{"status": "interrupted", "question.interrupts.0.value.description": "Which?",
			"message": "It is waiting for an answer. Start a run with command.resume on its thread, or request the next step of its task."}
	},
	"parked": func(t *testing.T) (explained, map[string]string) {
		b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain), rig.Lockstep)
		task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
		b.Post("/ap/v1/agent/tasks/"+task+"/steps", "").OK()
		run := b.Get("/threads/" + task + "/runs").OK().Text("0.run_id")
		return explained{b, "/threads/" + task + "/runs/" + run}, map[string]string{"parked.step": "2", "status": "running", "lease": "<nil>"}
	},
	"finished": func(t *testing.T) (explained, map[string]string) {
		b := rig.InFrontOf(t, "http://127.0.0.1:1")
		run := b.Begin(b.Thread(), "")
		b.Get(run + "/join").OK()
		return explained{b, run}, map[string]string{"finished.error.code": "upstream_unreachable", "status": "error"}
	},
}

// TestExplain checks that a run reports what it waits for, on both of its paths. A reason that only the store can cause
// (an expired lease) is tested in proxy/service.
func TestExplain(t *testing.T) {
	t.Parallel()
	for reason, bring := range waits {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			e, want := bring(t)
			_, alone, _ := strings.Cut(e.run, "/runs/")
			for _, path := range []string{e.run, "/runs/" + alone} {
				got := e.Get(path + "/explain").OK()
				want["reason"] = reason
				for member, text := range want {
					if v := fmt.Sprint(got.At(member)); v != text {
						t.Errorf("%s is %s, want %s: %s", member, v, text, got.Body)
					}
				}
				if got.Text("message") == "" || got.At(reason) == nil {
					t.Errorf("it does not say more: %s", got.Body)
				}
			}
			e.Get("/threads/0190c9a2-0000-7000-8000-000000000001/runs/" + alone + "/explain").Is(http.StatusNotFound)
		})
	}
}
