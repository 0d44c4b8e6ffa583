package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

func legacy() map[string]http.Handler { return map[string]http.Handler{"a": legacyagent.Handler()} }

const oneAgent = "\nagents: {a: {url: $A}}"

// serverProofs are about the process as a whole.
var serverProofs = map[string]func(*testing.T){
	"listen": func(t *testing.T) {
		addr := aFreeAddress(t)
		r := rig(t, "listen: "+addr+oneAgent, legacy())
		if r.url != "http://"+addr {
			t.Errorf("it listens on %s", r.url)
		}
	},
	"admin": func(t *testing.T) {
		addr := aFreeAddress(t)
		r := rig(t, "admin: "+addr+oneAgent, legacy())
		r.send("GET", "/debug/pprof/", "").want(t, 404)
		if status := get(t, "http://"+addr+"/debug/pprof/"); status != 200 {
			t.Errorf("pprof on the admin listener: %d", status)
		}
	},
	"database": func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "elsewhere.db")
		rig(t, "database: "+file+oneAgent, legacy())
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	},
	"synchronous":    provenBy("proxy/store", "TestSynchronousIsAsConfigured"),
	"shutdown_grace": provenBy("cmd/apbridge", "TestA6HangingStepDoesNotKeepTheProcess"),
	"default_agent": func(t *testing.T) {
		two := "\nagents: {a: {url: $A}, b: {url: $A}}"
		rig(t, two, legacy()).wait("hi").want(t, 422, "default_agent")
		rig(t, "default_agent: b"+two, legacy()).wait("hi").want(t, 200, `"agent_id":"b"`)
	},
	"hosts": func(t *testing.T) {
		r := rig(t, "hosts: [bridge.local]"+oneAgent, legacy())
		r.send("GET", "/ok", "", "Host", "bridge.local").want(t, 200)
		r.send("GET", "/ok", "", "Host", "other.local").want(t, 403, "hosts")
	},
	"trusted_proxies": func(t *testing.T) {
		for text, from := range map[string]string{"": "127.0.0.1", "trusted_proxies: [127.0.0.1]": "10.1.2.3"} {
			r := rig(t, text+oneAgent, legacy())
			r.send("GET", "/ok", "", "X-Forwarded-For", "10.1.2.3").want(t, 200)
			soon(t, "the access log", func() bool {
				return len(r.logs.FilterMessage("request").FilterField(zap.String("from", from)).All()) > 0
			})
		}
	},
	"limits.body": func(t *testing.T) {
		r := rig(t, "limits: {body: 1KiB}"+oneAgent, legacy())
		r.wait(strings.Repeat("x", 900)).want(t, 200)
		r.wait(strings.Repeat("x", 1100)).want(t, 413, "limits.body")
	},
	"limits.depth": func(t *testing.T) {
		r := rig(t, "limits: {depth: 5}"+oneAgent, legacy())
		deep := func(n int) string {
			return `{"metadata":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n+1)
		}
		r.send("POST", "/threads", deep(4)).want(t, 200)
		if got := r.send("POST", "/threads", deep(5)); got.status/100 != 4 {
			t.Errorf("too deep: %d %s", got.status, got.body)
		}
		if got := r.send("POST", "/ap/v1/agent/tasks", strings.Replace(deep(5), "metadata", "additional_input", 1)); got.status/100 != 4 {
			t.Errorf("too deep, v1: %d %s", got.status, got.body)
		}
	},
	"limits.artifact": func(t *testing.T) {
		r := rig(t, "limits: {artifact: 1KiB}"+oneAgent, legacy())
		task := r.task("hi")
		form := func(n int) string {
			return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\n" + strings.Repeat("x", n) + "\r\n--b--\r\n"
		}
		upload := func(n int) told {
			return r.send("POST", task+"/artifacts", form(n), "Content-Type", "multipart/form-data; boundary=b")
		}
		upload(1024).want(t, 200)
		upload(1025).want(t, 413, "1024 bytes")
	},
	"limits.event": func(t *testing.T) {
		long := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"` + strings.Repeat("x", 5000) + `"`, Last: true}}}
		agents := map[string]http.Handler{"a": long}
		rig(t, oneAgent, agents).wait("hi").want(t, 200, `"status":"success"`)
		rig(t, "limits: {event: 4KiB}"+oneAgent, agents).wait("hi").want(t, 200, `"status":"error"`, "limits.event")
	},
	"limits.database": func(t *testing.T) {
		storetest.File(t)
		r := rig(t, "limits: {database: 1MiB}"+oneAgent, legacy())
		item := `{"namespace":["n"],"key":"k","value":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
		r.send("PUT", "/store/items", item).want(t, 507, "storage_full")
		r.wait("hi").want(t, 200, `"status":"success"`)
	},
	"limits.upload_rate":    provenBy("proxy", "TestE17SlowUploadIsAnswered"),
	"limits.run_events":     provenBy("cmd/apbridge", "TestA18_RunThatLogsForEver"),
	"limits.run_bytes":      provenBy("cmd/apbridge", "TestA18_RunThatLogsForEver"),
	"limits.queue":          provenBy("cmd/apbridge", "TestD6_FurtherQueues"),
	"limits.files":          provenBy("cmd/apbridge", "TestE24Quotas"),
	"limits.messages":       provenBy("cmd/apbridge", "TestE24Quotas"),
	"limits.keys":           provenBy("cmd/apbridge", "TestE24Quotas"),
	"limits.states":         provenBy("cmd/apbridge", "TestE24Quotas"),
	"limits.prune":          provenBy("cmd/apbridge", "TestE24Quotas"),
	"limits.crons":          provenBy("cmd/apbridge", "TestE24Quotas"),
	"limits.bodies":         provenBy("proxy", "TestD5BodiesTogether"),
	"limits.thread_queue":   provenBy("cmd/apbridge", "TestD6_FurtherQueues"),
	"retention.events":      provenBy("proxy/engine", "TestRetention"),
	"retention.checkpoints": provenBy("proxy/engine", "TestRetention"),
	"retention.threads":     provenBy("proxy/engine", "TestRetention"),
	"webhooks.allow_private_networks": func(t *testing.T) {
		const body = `{"input":"hi","webhook":"http://127.0.0.1:1/hook"}`
		rig(t, oneAgent, legacy()).send("POST", "/runs/wait", body).want(t, 422, "webhook")
		rig(t, "webhooks: {allow_private_networks: true}"+oneAgent, legacy()).send("POST", "/runs/wait", body).want(t, 200, `"status":"success"`)
	},
	"webhooks.secret": provenBy("proxy/webhook", "TestADeliveryIsSignedAndNamed"),
}

// agentProofs are about how an agent is called.
var agentProofs = map[string]func(*testing.T){
	"agents.*.allow_concurrent":  provenBy("cmd/apbridge", "TestStrategies"),
	"agents.*.multitask_default": provenBy("cmd/apbridge", "TestDefaultStrategyOfAnAgent"),
	"agents.*.url": func(t *testing.T) {
		rig(t, oneAgent, legacy()).wait("hi").want(t, 200, `"status":"success"`)
		rig(t, "agents: {a: {url: 'http://127.0.0.1:1'}}", nil).wait("hi").want(t, 200, mapping.CodeUpstreamUnreachable)
	},
	"agents.*.dialect": func(t *testing.T) {
		rig(t, "agents: {a: {url: $A, dialect: taskstep}}", legacy()).wait("hi").want(t, 200, `"status":"success"`)
		rig(t, "agents: {a: {url: $A, dialect: threadrun}}", legacy()).wait("hi").want(t, 200, `"status":"error"`)
	},
	"agents.*.assistant": func(t *testing.T) {
		two := func() *adaptertest.ThreadAgent {
			one := `{"assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","graph_id":"agent","name":"agent","metadata":{"created_by":"system"}}`
			return &adaptertest.ThreadAgent{
				Plays:  []adaptertest.ThreadPlay{adaptertest.ChatPlay()},
				Canned: map[string]*adaptertest.Canned{"POST /assistants/search": {Status: 200, Type: "application/json", Body: "[" + one + "," + strings.ReplaceAll(strings.ReplaceAll(one, "agent\"", "other\""), "fe09", "ee09") + "]"}},
			}
		}
		rig(t, oneAgent, map[string]http.Handler{"a": two()}).wait("hi").want(t, 200, `"status":"error"`, "assistant")
		a := two()
		rig(t, "agents: {a: {url: $A, assistant: agent}}", map[string]http.Handler{"a": a}).wait("hi").want(t, 200, `"status":"success"`)
		if bodies := a.Bodies("POST /threads/{t}/runs/stream"); len(bodies) != 1 || !strings.Contains(string(bodies[0]), "fe096781") {
			t.Errorf("asked for %s", bodies)
		}
	},
	"agents.*.headers": func(t *testing.T) {
		seen := make(chan string, 100)
		agent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Get("Authorization")
			legacyagent.Handler().ServeHTTP(w, r)
		})
		rig(t, "agents: {a: {url: $A, headers: {Authorization: 'env:TOKEN'}}}", map[string]http.Handler{"a": agent}, "TOKEN=Bearer x").wait("hi", "Authorization", "Bearer mine")
		if got := <-seen; got != "Bearer x" {
			t.Errorf("the agent got %q", got)
		}
	},
	"agents.*.concurrency": provenBy("proxy/engine", "TestAgentConcurrencyQueuesTheRest"),
	"agents.*.queue": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		r := rig(t, "agents: {a: {url: $A, dialect: taskstep, concurrency: 1, queue: 1}}", map[string]http.Handler{"a": agent})
		r.send("POST", "/runs", `{"input":"1"}`).want(t, 200)
		r.send("POST", "/runs", `{"input":"2"}`).want(t, 200)
		r.send("POST", "/runs", `{"input":"3"}`).want(t, 429, "agents.a.queue")
	},
	"agents.*.max_steps": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"more"`, Repeat: true}}}
		rig(t, "agents: {a: {url: $A, max_steps: 3}}", map[string]http.Handler{"a": agent}).wait("hi").want(t, 200, mapping.CodeStepLimit)
		if agent.Work() != 3 {
			t.Errorf("%d steps were made", agent.Work())
		}
	},
	"agents.*.step_timeout": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		rig(t, "agents: {a: {url: $A, step_timeout: 100ms}}", map[string]http.Handler{"a": agent}).wait("hi").want(t, 200, `"status":"timeout"`, mapping.CodeStepTimeout)
	},
	"agents.*.run_timeout": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		rig(t, "agents: {a: {url: $A, run_timeout: 200ms}}", map[string]http.Handler{"a": agent}).wait("hi").want(t, 200, `"status":"timeout"`, mapping.CodeRunTimeout)
	},
	"agents.*.retries": provenBy("cmd/apbridge", "TestRetries"),
	"agents.*.passthrough": func(t *testing.T) {
		rig(t, oneAgent, legacy()).send("GET", "/agents/a/upstream/ap/v1/agent/tasks", "").want(t, 404, mapping.CodeRouteNotFound, `"detail"`)
		r := rig(t, "agents: {a: {url: $A, passthrough: true}, b: {url: $A}}", legacy())
		r.send("GET", "/agents/a/upstream/ap/v1/agent/tasks", "").want(t, 200, `"tasks"`)
		r.send("GET", "/agents/b/upstream/ap/v1/agent/tasks", "").want(t, 404, mapping.CodeRouteNotFound)
	},
	"agents.*.upstream_threads": func(t *testing.T) {
		for keep, calls := range map[string]int{"keep": 0, "delete": 1} {
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			r := rig(t, "agents: {a: {url: $A, upstream_threads: "+keep+"}}", map[string]http.Handler{"a": agent})
			th := r.thread()
			r.on(th, `{"assistant_id":"a","input":{"messages":[{"type":"human","content":"hi"}]}}`).want(t, 200)
			r.send("DELETE", "/threads/"+th, "").want(t, 204)
			ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer stop()
			for calls > 0 && agent.Calls("DELETE /threads/{t}") == 0 && ctx.Err() == nil {
				<-time.After(5 * time.Millisecond)
			}
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
			r := rig(t, "agents: {a: {url: $A, approval: "+approval+"}}", map[string]http.Handler{"a": agent})
			r.wait("hi").want(t, 200, texts...)
		}
	},
	"agents.*.memory.transcript": func(t *testing.T) {
		for mode, want := range map[string][2]bool{"full": {true, true}, "last": {false, true}, "none": {false, false}} {
			body := lastPrompt(t, "transcript: "+mode, "first words", "second words", "third")
			if got := [2]bool{strings.Contains(body, "first words"), strings.Contains(body, "second words")}; got != want {
				t.Errorf("%s: the third task is told of the first and second turn: %v in %s", mode, got, body)
			}
		}
	},
	"agents.*.memory.deliver": func(t *testing.T) {
		for mode, want := range map[string][2]bool{"prompt": {true, false}, "additional_input": {false, true}, "both": {true, true}} {
			body := lastPrompt(t, "deliver: "+mode, "first words", "second")
			var task struct {
				Input      string
				Additional json.RawMessage `json:"additional_input"`
			}
			if err := json.Unmarshal([]byte(body), &task); err != nil {
				t.Fatal(err)
			}
			got := [2]bool{strings.Contains(task.Input, "first words"), strings.Contains(string(task.Additional), "first words")}
			if got != want {
				t.Errorf("%s: told in prompt, in additional_input: %v in %s", mode, got, body)
			}
		}
	},
	"agents.*.memory.namespaces": func(t *testing.T) {
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		r := rig(t, "agents: {a: {url: $A, memory: {namespaces: ['users/{user}']}}}", map[string]http.Handler{"a": agent})
		r.send("PUT", "/store/items", `{"namespace":["users","u1"],"key":"k","value":{"likes":"tea"}}`).want(t, 204)
		r.send("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"u1"}}}`).want(t, 200)
		r.send("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"u2"}}}`).want(t, 200)
		if c := agent.Creates(); len(c) != 2 || !strings.Contains(c[0], "tea") || strings.Contains(c[1], "tea") {
			t.Errorf("told: %s", c)
		}
	},
	"agents.*.memory.writes": func(t *testing.T) {
		for writes, status := range map[string]int{"true": 200, "false": 404} {
			agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
				{Output: `"one"`, Additional: `{"memory":[{"namespace":["notes"],"key":"k","value":{"a":1}}]}`, Last: true},
			}}
			r := rig(t, "agents: {a: {url: $A, memory: {writes: "+writes+"}}}", map[string]http.Handler{"a": agent})
			r.wait("hi").want(t, 200)
			r.send("GET", "/store/items?namespace=notes&key=k&flavour=agentprotocol", "").want(t, status)
		}
	},
}

// lastPrompt is the body by which an agent is given the last of several turns.
func lastPrompt(t *testing.T, memory string, turns ...string) string {
	t.Helper()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"Done"`, Last: true}}}
	r := rig(t, "agents: {a: {url: $A, memory: {"+memory+"}}}", map[string]http.Handler{"a": agent})
	th := r.thread()
	for _, words := range turns {
		r.on(th, `{"input":{"messages":[{"type":"human","content":"`+words+`"}]}}`).want(t, 200)
	}
	c := agent.Creates()
	if len(c) != len(turns) {
		t.Fatalf("%d tasks were made", len(c))
	}
	return c[len(c)-1]
}

// TestStoreSearchByText: without embeddings, query is a text search.
func TestStoreSearchByText(t *testing.T) {
	t.Parallel()
	r := rig(t, oneAgent, legacy())
	for key, rest := range map[string]string{"a": "", "b": `,"index":["title"]`, "c": `,"index":false`} {
		r.send("PUT", "/store/items", `{"namespace":["n"],"key":"`+key+`","value":{"title":"tea","text":"strong coffee"}`+rest+`}`).want(t, 204)
	}
	for query, want := range map[string]string{"tea": `"key":"a" "key":"b"`, "coffee": `"key":"a"`, "milk": ""} {
		got := r.send("POST", "/store/items/search", `{"namespace_prefix":["n"],"query":"`+query+`"}`).want(t, 200)
		var keys []string
		for _, key := range []string{"a", "b", "c"} {
			if at := `"key":"` + key + `"`; strings.Contains(got.body, at) {
				keys = append(keys, at)
			}
		}
		if strings.Join(keys, " ") != want || len(keys) > 0 && !strings.Contains(got.body, `"score":1`) {
			t.Errorf("%s: %s", query, got.body)
		}
	}
}
