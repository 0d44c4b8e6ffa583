package matrix

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
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
		addr := rig.FreeAddress(t)
		r := rig.Configured(t, "listen: "+addr+oneAgent, legacy())
		if r.URL != "http://"+addr {
			t.Errorf("it listens on %s", r.URL)
		}
	},
	"admin": func(t *testing.T) {
		addr := rig.FreeAddress(t)
		r := rig.Configured(t, "admin: "+addr+oneAgent, legacy())
		r.Do("GET", "/debug/pprof/", "").Want(t, 404)
		if status := rig.Status(t, "http://"+addr+"/debug/pprof/"); status != 200 {
			t.Errorf("pprof on the admin listener: %d", status)
		}
	},
	"log.level":  rig.ProvenBy("cmd/apbridge", "TestLogIsSet"),
	"log.format": rig.ProvenBy("cmd/apbridge", "TestLogIsSet"),
	"database": func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "elsewhere.db")
		rig.Configured(t, "database: "+file+oneAgent, legacy())
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	},
	"tls.cert":      rig.ProvenBy("proxy", "TestTLSWithEitherVersionOfHTTP"),
	"tls.client_ca": rig.ProvenBy("proxy", "TestClientsShowACertificate"),
	"tls.key":       rig.ProvenBy("proxy", "TestTLSWithEitherVersionOfHTTP"),
	"synchronous":   rig.ProvenBy("proxy/store/sqldb", "TestSynchronousIsAsConfigured"),
	"secure_delete": func(t *testing.T) {
		storetest.File(t)
		for key, want := range map[string]bool{"": true, "secure_delete: true\n": false} {
			file := filepath.Join(t.TempDir(), "a.db")
			r := rig.Configured(t, "database: "+file+"\n"+key+oneAgent, legacy())
			const path, text = "/threads/01980000-0000-7000-8000-0000000000aa", "what nobody is to find again"
			r.Do("POST", "/threads", `{"thread_id":"01980000-0000-7000-8000-0000000000aa","metadata":{"said":"`+text+`"}}`).Want(t, 200, text)
			r.Do("DELETE", path, "").Want(t, 204)
			r.End()
			data, err := os.ReadFile(file)
			if found := bytes.Contains(data, []byte(text)); err != nil || found != want {
				t.Errorf("%q: the text is in the file: %v, want %v, %v", key, found, want, err)
			}
		}
	},
	"encryption.keys": rig.ProvenBy("cmd/apbridge/internal/rig/matrix", "TestNothingSealedIsInAnyFile"),
	"encryption.write": func(t *testing.T) {
		storetest.File(t)
		file := filepath.Join(t.TempDir(), "a.db")
		text := "database: " + file + oneAgent + "\nencryption: {keys: ['env:KEY']}"
		key := "KEY=" + sealingKey
		r := rig.Configured(t, text, legacy(), key)
		at := saysMuch(t, r)
		r.End()
		r = rig.Configured(t, strings.Replace(text, "['env:KEY']", "['env:KEY'], write: plain", 1), legacy(), key)
		done := "all bodies of the database are as this bridge writes them"
		rig.Eventually(t, "what was sealed is plain", func() bool { return r.Logs.FilterMessage(done).Len() > 0 })
		r.End()
		rig.Configured(t, "database: "+file+oneAgent, legacy()).Get(at+"/state").Want(t, 200, privateWord)
	},
	"shutdown_grace": rig.ProvenBy("cmd/apbridge", "TestA6HangingStepDoesNotKeepTheProcess"),
	"default_agent": func(t *testing.T) {
		two := "\nagents: {a: {url: $A}, b: {url: $A}}"
		rig.Configured(t, two, legacy()).Wait("hi").Want(t, 422, "default_agent")
		rig.Configured(t, "default_agent: b"+two, legacy()).Wait("hi").Want(t, 200, `"agent_id":"b"`)
	},
	"hosts": func(t *testing.T) {
		r := rig.Configured(t, "hosts: [bridge.local]"+oneAgent, legacy())
		r.Do("GET", "/ok", "", "Host", "bridge.local").Want(t, 200)
		r.Do("GET", "/ok", "", "Host", "other.local").Want(t, 403, "hosts")
	},
	"trusted_proxies": func(t *testing.T) {
		for text, from := range map[string]string{"": "127.0.0.1", "trusted_proxies: [127.0.0.1]": "10.1.2.3"} {
			r := rig.Configured(t, text+oneAgent, legacy())
			r.Do("GET", "/ok", "", "X-Forwarded-For", "10.1.2.3").Want(t, 200)
			rig.Eventually(t, "the access log", func() bool {
				return len(r.Logs.FilterMessage("request").FilterField(zap.String("from", from)).All()) > 0
			})
		}
	},
	"limits.body": func(t *testing.T) {
		r := rig.Configured(t, "limits: {body: 1KiB}"+oneAgent, legacy())
		r.Wait(strings.Repeat("x", 900)).Want(t, 200)
		r.Wait(strings.Repeat("x", 1100)).Want(t, 413, "limits.body")
	},
	"limits.depth": func(t *testing.T) {
		r := rig.Configured(t, "limits: {depth: 5}"+oneAgent, legacy())
		deep := func(n int) string {
			return `{"metadata":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n+1)
		}
		r.Do("POST", "/threads", deep(4)).Want(t, 200)
		if got := r.Do("POST", "/threads", deep(5)); got.Status/100 != 4 {
			t.Errorf("too deep: %d %s", got.Status, got.String())
		}
		if got := r.Do("POST", "/ap/v1/agent/tasks", strings.Replace(deep(5), "metadata", "additional_input", 1)); got.Status/100 != 4 {
			t.Errorf("too deep, v1: %d %s", got.Status, got.String())
		}
	},
	"limits.artifact": func(t *testing.T) {
		r := rig.Configured(t, "limits: {artifact: 1KiB}"+oneAgent, legacy())
		task := r.Task(`{"input":"hi"}`)
		form := func(n int) string {
			return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\n" + strings.Repeat("x", n) + "\r\n--b--\r\n"
		}
		upload := func(n int) rig.Answer {
			return r.Do("POST", task+"/artifacts", form(n), "Content-Type", "multipart/form-data; boundary=b")
		}
		upload(1024).Want(t, 200)
		upload(1025).Want(t, 413, "1024 bytes")
	},
	"limits.event": func(t *testing.T) {
		long := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"` + strings.Repeat("x", 5000) + `"`, Last: true}}}
		agents := map[string]http.Handler{"a": long}
		rig.Configured(t, oneAgent, agents).Wait("hi").Want(t, 200, `"status":"success"`)
		rig.Configured(t, "limits: {event: 4KiB}"+oneAgent, agents).Wait("hi").Want(t, 200, `"status":"error"`, "limits.event")
	},
	"limits.database": func(t *testing.T) {
		storetest.File(t)
		r := rig.Configured(t, "limits: {database: 1MiB}"+oneAgent, legacy())
		item := `{"namespace":["n"],"key":"k","value":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
		r.Do("PUT", "/store/items", item).Want(t, 507, "storage_full")
		r.Wait("hi").Want(t, 200, `"status":"success"`)
	},
	"limits.upload_rate":    rig.ProvenBy("proxy", "TestE17SlowUploadIsAnswered"),
	"limits.run_events":     rig.ProvenBy("cmd/apbridge", "TestA18_RunThatLogsForEver"),
	"limits.run_bytes":      rig.ProvenBy("cmd/apbridge", "TestA18_RunThatLogsForEver"),
	"limits.queue":          rig.ProvenBy("cmd/apbridge", "TestD6_FurtherQueues"),
	"limits.files":          rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestE24Quotas"),
	"limits.messages":       rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestE24Quotas"),
	"limits.keys":           rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestE24Quotas"),
	"limits.states":         rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestE24Quotas"),
	"limits.prune":          rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestE24Quotas"),
	"limits.crons":          rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestE24Quotas"),
	"limits.bodies":         rig.ProvenBy("proxy", "TestD5BodiesTogether"),
	"limits.thread_queue":   rig.ProvenBy("cmd/apbridge", "TestD6_FurtherQueues"),
	"retention.events":      rig.ProvenBy("proxy/chore", "TestRetention"),
	"retention.checkpoints": rig.ProvenBy("proxy/chore", "TestRetention"),
	"retention.failed":      rig.ProvenBy("proxy/chore", "TestAFailedStatelessRunStaysAnHour"),
	"retention.threads":     rig.ProvenBy("proxy/chore", "TestRetention"),
	"webhooks.allow_private_networks": func(t *testing.T) {
		const body = `{"input":"hi","webhook":"http://127.0.0.1:1/hook"}`
		rig.Configured(t, oneAgent, legacy()).Do("POST", "/runs/wait", body).Want(t, 422, "webhook")
		rig.Configured(t, "webhooks: {allow_private_networks: true}"+oneAgent, legacy()).Do("POST", "/runs/wait", body).Want(t, 200, `"status":"success"`)
	},
	"webhooks.hosts": func(t *testing.T) {
		webhook := func(host string) string {
			return `{"agent_id":"a","webhook":"https://` + host + `/x","input":{"messages":[{"role":"user","content":"hi"}]}}`
		}
		b := rig.Configured(t, "webhooks: {hosts: ['*.hooks.example']}"+oneAgent, legacy())
		b.Do("POST", "/runs/wait", webhook("a.hooks.example")).Want(t, 200, `"status":"success"`)
		b.Do("POST", "/runs/wait", webhook("hooks.example.net")).Want(t, 422, "webhooks.hosts")
	},
	"webhooks.secret":          rig.ProvenBy("proxy/webhook", "TestADeliveryIsSignedAndNamed"),
	"webhooks.previous_secret": rig.ProvenBy("proxy/webhook", "TestSecretsAreExchanged"),
}

// agentProofs are about how an agent is called.
var agentProofs = map[string]func(*testing.T){
	"agents.*.allow_concurrent":  rig.ProvenBy("cmd/apbridge", "TestStrategies"),
	"agents.*.answer_by_message": rig.ProvenBy("cmd/apbridge/internal/rig/threadrun", "TestMessagesThatAnswerNothing"),
	"agents.*.multitask_default": rig.ProvenBy("cmd/apbridge", "TestDefaultStrategyOfAnAgent"),
	"agents.*.url": func(t *testing.T) {
		rig.Configured(t, oneAgent, legacy()).Wait("hi").Want(t, 200, `"status":"success"`)
		rig.Configured(t, "agents: {a: {url: 'http://127.0.0.1:1'}}", nil).Wait("hi").Want(t, 200, mapping.CodeUpstreamUnreachable)
	},
	"agents.*.dialect": func(t *testing.T) {
		rig.Configured(t, "agents: {a: {url: $A, dialect: taskstep}}", legacy()).Wait("hi").Want(t, 200, `"status":"success"`)
		rig.Configured(t, "agents: {a: {url: $A, dialect: threadrun}}", legacy()).Wait("hi").Want(t, 200, `"status":"error"`)
	},
	"agents.*.assistant": func(t *testing.T) {
		two := func() *adaptertest.ThreadAgent {
			one := `{"assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","graph_id":"agent","name":"agent","metadata":{"created_by":"system"}}`
			return &adaptertest.ThreadAgent{
				Plays:  []adaptertest.ThreadPlay{adaptertest.ChatPlay()},
				Canned: map[string]*adaptertest.Canned{"POST /assistants/search": {Status: 200, Type: "application/json", Body: "[" + one + "," + strings.ReplaceAll(strings.ReplaceAll(one, "agent\"", "other\""), "fe09", "ee09") + "]"}},
			}
		}
		rig.Configured(t, oneAgent, map[string]http.Handler{"a": two()}).Wait("hi").Want(t, 200, `"status":"error"`, "assistant")
		a := two()
		rig.Configured(t, "agents: {a: {url: $A, assistant: agent}}", map[string]http.Handler{"a": a}).Wait("hi").Want(t, 200, `"status":"success"`)
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
		rig.Configured(t, "agents: {a: {url: $A, headers: {Authorization: 'env:TOKEN'}}}", map[string]http.Handler{"a": agent}, "TOKEN=Bearer x").Wait("hi", "Authorization", "Bearer mine")
		if got := <-seen; got != "Bearer x" {
			t.Errorf("the agent got %q", got)
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
			t.Errorf("%d steps were made", agent.Work())
		}
	},
	"agents.*.step_timeout": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		rig.Configured(t, "agents: {a: {url: $A, step_timeout: 100ms}}", map[string]http.Handler{"a": agent}).Wait("hi").Want(t, 200, `"status":"timeout"`, mapping.CodeStepTimeout)
	},
	"agents.*.run_timeout": func(t *testing.T) {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Fault: adaptertest.Hang}}}
		rig.Configured(t, "agents: {a: {url: $A, run_timeout: 200ms}}", map[string]http.Handler{"a": agent}).Wait("hi").Want(t, 200, `"status":"timeout"`, mapping.CodeRunTimeout)
	},
	"agents.*.retries": rig.ProvenBy("cmd/apbridge", "TestRetries"),
	"agents.*.passthrough": func(t *testing.T) {
		rig.Configured(t, oneAgent, legacy()).Do("GET", "/agents/a/upstream/ap/v1/agent/tasks", "").Want(t, 404, mapping.CodeRouteNotFound, `"detail"`)
		r := rig.Configured(t, "agents: {a: {url: $A, passthrough: true}, b: {url: $A}}", legacy())
		r.Do("GET", "/agents/a/upstream/ap/v1/agent/tasks", "").Want(t, 200, `"tasks"`)
		r.Do("GET", "/agents/b/upstream/ap/v1/agent/tasks", "").Want(t, 404, mapping.CodeRouteNotFound)
	},
	"agents.*.upstream_threads": func(t *testing.T) {
		for keep, calls := range map[string]int{"keep": 0, "delete": 1} {
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			r := rig.Configured(t, "agents: {a: {url: $A, upstream_threads: "+keep+"}}", map[string]http.Handler{"a": agent})
			th := r.Thread()
			r.On(th, `{"assistant_id":"a","input":{"messages":[{"type":"human","content":"hi"}]}}`).Want(t, 200)
			r.Do("DELETE", th, "").Want(t, 204)
			rig.Eventually(t, "the deletion", func() bool { return agent.Calls("DELETE /threads/{t}") >= calls })
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
		r := rig.Configured(t, "agents: {a: {url: $A, memory: {namespaces: ['users/{user}']}}}", map[string]http.Handler{"a": agent})
		r.Do("PUT", "/store/items", `{"namespace":["users","u1"],"key":"k","value":{"likes":"tea"}}`).Want(t, 204)
		r.Do("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"u1"}}}`).Want(t, 200)
		r.Do("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"u2"}}}`).Want(t, 200)
		if c := agent.Creates(); len(c) != 2 || !strings.Contains(c[0], "tea") || strings.Contains(c[1], "tea") {
			t.Errorf("told: %s", c)
		}
	},
	"agents.*.memory.writes": func(t *testing.T) {
		for writes, status := range map[string]int{"true": 200, "false": 404} {
			agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
				{Output: `"one"`, Additional: `{"memory":[{"namespace":["notes"],"key":"k","value":{"a":1}}]}`, Last: true},
			}}
			r := rig.Configured(t, "agents: {a: {url: $A, memory: {namespaces: [notes], writes: "+writes+"}}}", map[string]http.Handler{"a": agent})
			r.Wait("hi").Want(t, 200)
			r.Do("GET", "/store/items?namespace=notes&key=k&flavour=agentprotocol", "").Want(t, status)
		}
	},
}

// lastPrompt is the body by which an agent is given the last of several turns.
func lastPrompt(t *testing.T, memory string, turns ...string) string {
	t.Helper()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"Done"`, Last: true}}}
	r := rig.Configured(t, "agents: {a: {url: $A, memory: {"+memory+"}}}", map[string]http.Handler{"a": agent})
	th := r.Thread()
	for _, words := range turns {
		r.On(th, `{"input":{"messages":[{"type":"human","content":"`+words+`"}]}}`).Want(t, 200)
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
	r := rig.Configured(t, oneAgent, legacy())
	for key, rest := range map[string]string{"a": "", "b": `,"index":["title"]`, "c": `,"index":false`} {
		r.Do("PUT", "/store/items", `{"namespace":["n"],"key":"`+key+`","value":{"title":"tea","text":"strong coffee"}`+rest+`}`).Want(t, 204)
	}
	for query, want := range map[string]string{"tea": `"key":"a" "key":"b"`, "coffee": `"key":"a"`, "milk": ""} {
		got := r.Do("POST", "/store/items/search", `{"namespace_prefix":["n"],"query":"`+query+`"}`).Want(t, 200)
		var keys []string
		for _, key := range []string{"a", "b", "c"} {
			if at := `"key":"` + key + `"`; strings.Contains(got.String(), at) {
				keys = append(keys, at)
			}
		}
		if strings.Join(keys, " ") != want || len(keys) > 0 != strings.Contains(got.String(), `"score":0.`) {
			t.Errorf("%s: %s", query, got.String())
		}
	}
}
