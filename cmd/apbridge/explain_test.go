package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// explained is a bridge with a run that waits for something.
type explained struct {
	*bridge
	run string // its path
}

func hanging(t *testing.T, change ...func(*config.Agent)) (*bridge, *gate) {
	t.Helper()
	g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 1)
	t.Cleanup(g.open)
	return inFront(t, g, append(change, func(a *config.Agent) { a.Dialect = "taskstep" })...), g
}

// waits brings a run to where it waits for what it is named by, and says what
// the answer has to hold.
var waits = map[string]func(*testing.T) (explained, map[string]string){
	"queue": func(t *testing.T) (explained, map[string]string) {
		b, g := hanging(t)
		at := b.thread()
		first := b.begin(at, "")
		g.await(t)
		second := b.begin(at, `"multitask_strategy":"enqueue",`)
		third := b.begin(at, `"multitask_strategy":"enqueue",`)
		id := func(run string) string { return run[strings.LastIndex(run, "/")+1:] }
		return explained{b, third}, map[string]string{
			"queue.place": "2", "queue.before.0.run_id": id(first), "queue.before.0.status": "running", "queue.before.1.run_id": id(second), "status": "pending",
		}
	},
	"update": func(t *testing.T) (explained, map[string]string) {
		g := newGate(chats(), func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/state")
		}, 1)
		b := inFront(t, g, asThreads)
		at := b.thread()
		b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
		updated := make(chan struct{})
		go func() {
			defer close(updated)
			b.post(at+"/state", `{"values":{"messages":[]}}`)
		}()
		t.Cleanup(func() { g.open(); <-updated })
		g.await(t)
		run := b.begin(at, "")
		return explained{b, run}, map[string]string{"status": "pending", "update.here": "true", "queue": "<nil>"}
	},
	"limit": func(t *testing.T) (explained, map[string]string) {
		b, g := hanging(t, func(a *config.Agent) { a.Concurrency = 1 })
		b.begin(b.thread(), "")
		g.await(t)
		b.begin(b.thread(), "")
		return explained{b, b.begin(b.thread(), "")}, map[string]string{
			"limit.name": "agents.agent.concurrency", "limit.value": "1", "limit.used": "1", "limit.place": "2",
		}
	},
	"delayed": func(t *testing.T) (explained, map[string]string) {
		b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
		return explained{b, b.begin(b.thread(), `"after_seconds":3600,`)}, map[string]string{"queue": "<nil>"}
	},
	"upstream": func(t *testing.T) (explained, map[string]string) {
		g := newGate(adaptertest.NewStepAgent(adaptertest.Plain), stepPosts, 2)
		t.Cleanup(g.open)
		b := inFront(t, g, func(a *config.Agent) { a.Dialect = "taskstep" })
		run := b.begin(b.thread(), "")
		g.await(t)
		eventually(t, "the first step is logged", func() bool { return b.get(run+"/explain").ok().at("upstream.step") != 1.0 })
		return explained{b, run}, map[string]string{"upstream.step": "2", "upstream.attempt": "1", "lease.here": "true"}
	},
	"question": func(t *testing.T) (explained, map[string]string) {
		b := inFront(t, &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
			{Output: `"Which?"`, Additional: `{"use_tool":{"name":"ask_user","arguments":{"question":"Which?"}}}`}, {Output: `"thanks"`, Last: true},
		}})
		run := b.begin(b.thread(), "")
		eventually(t, "the question", func() bool { return b.get(run).ok().at("status") == "interrupted" })
		return explained{b, run}, map[string]string{"status": "interrupted", "question.interrupts.0.value.0.description": "Which?"}
	},
	"parked": func(t *testing.T) (explained, map[string]string) {
		b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain), lockstep)
		task := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
		b.post("/ap/v1/agent/tasks/"+task+"/steps", "").ok()
		run := b.get("/threads/" + task + "/runs").ok().text("0.run_id")
		return explained{b, "/threads/" + task + "/runs/" + run}, map[string]string{"parked.step": "2", "status": "running", "lease": "<nil>"}
	},
	"finished": func(t *testing.T) (explained, map[string]string) {
		b := inFrontOf(t, "http://127.0.0.1:1")
		run := b.begin(b.thread(), "")
		b.get(run + "/join").ok()
		return explained{b, run}, map[string]string{"finished.error.code": "upstream_unreachable", "status": "error"}
	},
}

// TestExplain: a run says what it waits for, on both its paths. What only the
// store can bring about (a lease that is over) is in proxy/service.
func TestExplain(t *testing.T) {
	t.Parallel()
	for reason, bring := range waits {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			e, want := bring(t)
			_, alone, _ := strings.Cut(e.run, "/runs/")
			for _, path := range []string{e.run, "/runs/" + alone} {
				got := e.get(path + "/explain").ok()
				want["reason"] = reason
				for member, text := range want {
					if v := fmt.Sprint(got.at(member)); v != text {
						t.Errorf("%s is %s, want %s: %s", member, v, text, got.body)
					}
				}
				if got.text("message") == "" || got.at(reason) == nil {
					t.Errorf("it does not say more: %s", got.body)
				}
			}
			e.get("/threads/0190c9a2-0000-7000-8000-000000000001/runs/" + alone + "/explain").is(http.StatusNotFound)
		})
	}
}
