package operate

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/mapping"
)

// agentProofs has the proofs of keys about calls of agents.
var agentProofs = map[string]func(*testing.T){
	"agents.*.allow_concurrent":  rig.ProvenBy("cmd/apbridge", "TestStrategies"),
	"agents.*.description":       rig.ProvenBy("cmd/apbridge/internal/rig/a2a", "TestSettingsOfA2A"),
	"agents.*.answer_by_message": rig.ProvenBy("cmd/apbridge/internal/rig/threadrun", "TestMessagesAreNotApproval"),
	"agents.*.multitask_default": rig.ProvenBy("cmd/apbridge", "TestDefaultStrategyOfAnAgent"),
	"agents.*.url": func(t *testing.T) {
		rig.Configured(t, rig.OneAgent, rig.Legacy()).Wait("hi").Want(t, 200, `"status":"success"`)
		rig.Configured(t, "agents: {a: {url: 'http://127.0.0.1:1'}}", nil).Wait("hi").Want(t, 200, mapping.CodeUpstreamUnreachable)
	},
	"agents.*.dialect": func(t *testing.T) {
		rig.Configured(t, "agents: {a: {url: $A, dialect: taskstep}}", rig.Legacy()).Wait("hi").Want(t, 200, `"status":"success"`)
		rig.Configured(t, "agents: {a: {url: $A, dialect: threadrun}}", rig.Legacy()).Wait("hi").Want(t, 200, `"status":"error"`)
	},
	"agents.*.assistant": func(t *testing.T) {
		two := func() *adaptertest.ThreadAgent {
			one := `{"assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","graph_id":"agent","name":"agent","metadata":{"created_by":"system"}}`
			return &adaptertest.ThreadAgent{
				Plays:  []adaptertest.ThreadPlay{adaptertest.ChatPlay()},
				Canned: map[string]*adaptertest.Canned{"POST /assistants/search": {Status: 200, Type: "application/json", Body: "[" + one + "," + strings.ReplaceAll(strings.ReplaceAll(one, "agent\"", "other\""), "fe09", "ee09") + "]"}},
			}
		}
		rig.Configured(t, rig.OneAgent, map[string]http.Handler{"a": two()}).Wait("hi").Want(t, 200, `"status":"error"`, "assistant")
		a := two()
		rig.Configured(t, "agents: {a: {url: $A, assistant: agent}}", map[string]http.Handler{"a": a}).Wait("hi").Want(t, 200, `"status":"success"`)
		if bodies := a.Bodies("POST /threads/{t}/runs/stream"); len(bodies) != 1 || !strings.Contains(string(bodies[0]), "fe096781") {
			t.Errorf("the agent received %s", bodies)
		}
	},
	"agents.*.headers": func(t *testing.T) {
		seen := make(chan string, 100)
		agent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Get("Authorization")
			legacyagent.Handler().ServeHTTP(w, r)
		})
		rig.Configured(t, "agents: {a: {url: $A, headers: {Authorization: 'env:TOKEN'}}}", map[string]http.Handler{"a": agent}, "TOKEN=Bearer x").Wait("hi", "Authorization", "Bearer mine")
		if got := <-seen; got != "Bearer x" {
			t.Errorf("the agent received %q", got)
		}
	},
	"agents.*.tls.ca":          rig.ProvenBy("cmd/apbridge", "TestTLSTowardsAnAgent"),
	"agents.*.tls.cert":        rig.ProvenBy("cmd/apbridge", "TestTLSTowardsAnAgent"),
	"agents.*.tls.key":         rig.ProvenBy("cmd/apbridge", "TestTLSTowardsAnAgent"),
	"agents.*.tls.server_name": rig.ProvenBy("cmd/apbridge", "TestTLSTowardsAnAgent"),
	"agents.*.concurrency":     rig.ProvenBy("proxy/engine", "TestAgentConcurrencyQueuesTheRest"),
	"agents.*.queue": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		r := rig.Configured(t, "agents: {a: {url: $A, dialect: taskstep, concurrency: 1, queue: 1}}", map[string]http.Handler{"a": agent})
		r.Do("POST", "/runs", `{"input":"1"}`).Want(t, 200)
		r.Do("POST", "/runs", `{"input":"2"}`).Want(t, 200)
		r.Do("POST", "/runs", `{"input":"3"}`).Want(t, 429, "agents.a.queue")
	},
	"agents.*.max_steps": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"more"`, Repeat: true}}}
		rig.Configured(t, "agents: {a: {url: $A, max_steps: 3}}", map[string]http.Handler{"a": agent}).Wait("hi").Want(t, 200, mapping.CodeStepLimit)
		if agent.Work() != 3 {
			t.Errorf("the agent worked on %d steps", agent.Work())
		}
	},
	"agents.*.step_timeout": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		rig.Configured(t, "agents: {a: {url: $A, step_timeout: 1s}}", map[string]http.Handler{"a": agent}).Wait("hi").Want(t, 200, `"status":"timeout"`, mapping.CodeStepTimeout)
	},
	"agents.*.run_timeout": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		rig.Configured(t, "agents: {a: {url: $A, run_timeout: 200ms}}", map[string]http.Handler{"a": agent}).Wait("hi").Want(t, 200, `"status":"timeout"`, mapping.CodeRunTimeout)
	},
	"agents.*.retries": rig.ProvenBy("cmd/apbridge", "TestRetries"),
	"agents.*.passthrough": func(t *testing.T) {
		rig.Configured(t, rig.OneAgent, rig.Legacy()).Do("GET", "/agents/a/upstream/ap/v1/agent/tasks", "").Want(t, 404, mapping.CodeRouteNotFound, `"detail"`)
		r := rig.Configured(t, "agents: {a: {url: $A, passthrough: true}, b: {url: $A}}", rig.Legacy())
		r.Do("GET", "/agents/a/upstream/ap/v1/agent/tasks", "").Want(t, 200, `"tasks"`)
		r.Do("GET", "/agents/b/upstream/ap/v1/agent/tasks", "").Want(t, 404, mapping.CodeRouteNotFound)
	},
	"agents.*.delete_upstream_threads": func(t *testing.T) {
		for keep, calls := range map[string]int{"false": 0, "true": 1} {
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			r := rig.Configured(t, "agents: {a: {url: $A, delete_upstream_threads: "+keep+"}}", map[string]http.Handler{"a": agent})
			th := r.Thread()
			r.On(th, `{"assistant_id":"a","input":{"messages":[{"type":"human","content":"hi"}]}}`).Want(t, 200)
			r.Do("DELETE", th, "").Want(t, 204)
			rig.Eventually(t, "the upstream thread is deleted", func() bool { return agent.Calls("DELETE /threads/{t}") >= calls })
			if got := agent.Calls("DELETE /threads/{t}"); got != calls {
				t.Errorf("%s: %d deletions upstream", keep, got)
			}
		}
	},
	"agents.*.approval": func(t *testing.T) {
		for approval, texts := range map[string][]string{
			"auto": {`"status":"success"`},
			"ask":  {`"status":"interrupted"`, `"write_file"`},
			"step": {`"status":"interrupted"`, `"continue"`},
		} {
			agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
				{Output: `"one"`, Additional: `{"use_tool":{"name":"write_file","arguments":{}}}`}, {Output: `"two"`, Last: true},
			}}
			r := rig.Configured(t, "agents: {a: {url: $A, approval: "+approval+"}}", map[string]http.Handler{"a": agent})
			r.Wait("hi").Want(t, 200, texts...)
		}
	},
}

func TestRetries(t *testing.T) {
	t.Parallel()
	script := func() *adaptertest.StepAgent {
		return &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
			{Output: `"one"`}, {Output: `"two"`, Fault: adaptertest.HTML500}, {Output: `"three"`, Last: true},
		}}
	}
	for _, tt := range []struct {
		name, config, header, status string
		tasks                        int
	}{
		{"not asked for", "", "", "error", 1},
		{"by configuration", "retries: 1, ", "", "success", 2},
		{"by request", "", "1", "success", 2},
		{"the request says no", "retries: 1, ", "0", "error", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := script()
			r := rig.Configured(t, "agents: {a: {"+tt.config+"url: $A}}", map[string]http.Handler{"a": agent})
			var headers []string
			if tt.header != "" {
				headers = []string{"X-Apbridge-Retries", tt.header}
			}
			got := r.Wait("hi", headers...).Want(t, 200, `"status":"`+tt.status+`"`)
			if n := len(agent.Creates()); n != tt.tasks {
				t.Errorf("%d tasks were created, want %d", n, tt.tasks)
			}
			if tt.status == "success" {
				got.Want(t, 200, `"run_attempt":2`)
				if n := strings.Count(got.Member("values"), `"ai"`); n != 3 {
					t.Errorf("%d AI messages, want only those of the successful attempt: %s", n, got.String())
				}
			}
		})
	}
	t.Run("a thread/run agent", func(t *testing.T) {
		t.Parallel()
		// The second run on a thread would succeed, so each attempt has its own.
		agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.FailPlay(), adaptertest.ChatPlay()}}
		r := rig.Configured(t, "agents: {a: {retries: 2, url: $A}}", map[string]http.Handler{"a": agent})
		r.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[{"type":"human","content":"hi"}]}}`).Want(t, 200, "__error__", "on purpose")
		if n := agent.Work(); n != 3 {
			t.Errorf("%d upstream runs, want 3", n)
		}
	})
	t.Run("the stream starts once", func(t *testing.T) {
		t.Parallel()
		r := rig.Configured(t, "agents: {a: {retries: 1, url: $A}}", map[string]http.Handler{"a": script()})
		got := r.Do("POST", "/runs/stream", `{"assistant_id":"a","input":"hi","stream_mode":["updates"]}`).Want(t, 200)
		if n := strings.Count(got.String(), "event: metadata"); n != 1 || strings.Contains(got.String(), "event: error") || strings.Count(got.String(), "event: updates") != 4 {
			t.Errorf("the stream:\n%s", got.String())
		}
	})
}
