package field

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

const oneAssistant = `{"graph_id":"agent","name":"Ada","description":"counts","metadata":{"team":"a"},
 "config":{"tags":["t"],"recursion_limit":7,"configurable":{"model":"small","user":"ada"}},"context":{"tone":"dry","lang":"en"}}`

// threadAgent returns a bridge in front of a scripted thread/run agent, and the agent.
func threadAgent(t *testing.T) (*rig.Bridge, *adaptertest.ThreadAgent) {
	t.Helper()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	return rig.InFront(t, agent), agent
}

func TestAssistantIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	made := b.Post("/assistants", oneAssistant).OK()
	id := made.Text("assistant_id")
	if !mapping.IsUUID(id) || id == mapping.AssistantID("agent") || made.At("version") != 1.0 || made.Text("graph_id") != "agent" {
		t.Fatalf("%s", made.Body)
	}
	if got := b.Get("/assistants/" + strings.ToUpper(id)).OK(); string(got.Body) != string(made.Body) {
		t.Errorf("read %s\ncreated %s", got.Body, made.Body)
	}
	changed := b.Do("PATCH", "/assistants/"+id, `{"name":"Bea","metadata":{"level":2},"config":{},"graph_id":null}`).OK()
	if changed.At("version") != 2.0 || changed.Text("name") != "Bea" || changed.Text("metadata.team") != "a" || changed.At("metadata.level") != 2.0 ||
		changed.At("config.tags") != nil || changed.Text("context.tone") != "dry" || changed.Text("description") != "counts" {
		t.Errorf("%s", changed.Body)
	}
	if v := b.Post("/assistants/"+id+"/versions", `{}`).OK().List(""); len(v) != 2 || rig.Dig(v[0], "version") != 2.0 || rig.Dig(v[1], "name") != "Ada" || rig.Dig(v[1], "config.recursion_limit") != 7.0 {
		t.Errorf("%v", v)
	}
	if v := b.Post("/assistants/"+id+"/versions", `{"metadata":{"level":2}}`).OK().List(""); len(v) != 1 {
		t.Errorf("%v", v)
	}
	if back := b.Post("/assistants/"+id+"/latest", `{"version":1}`).OK(); back.Text("name") != "Ada" || back.At("version") != 1.0 {
		t.Errorf("%s", back.Body)
	}
	b.Post("/assistants/"+id+"/latest", `{"version":3}`).Is(404)
	b.Do("DELETE", "/assistants/"+id, "").Is(204)
	for _, path := range []string{"", "/graph", "/schemas", "/subgraphs"} {
		b.Get("/assistants/" + id + path).Is(404)
	}
	b.Do("DELETE", "/assistants/"+id, "").Is(404)
	b.Post("/runs/wait", `{"assistant_id":"`+id+`","input":"hi"}`).Is(404)
}

func TestExistingAssistantIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	const id = "0190e1f2-0000-4000-8000-00000000000a"
	b.Post("/assistants", `{"graph_id":"agent","assistant_id":"`+id+`","name":"first"}`).OK()
	if got := b.Post("/assistants", `{"graph_id":"agent","assistant_id":"`+id+`"}`).Is(409); got.Text("code") != mapping.CodeAssistantThere {
		t.Errorf("%s", got.Body)
	}
	if got := b.Post("/assistants", `{"graph_id":"agent","assistant_id":"`+id+`","name":"second","if_exists":"do_nothing"}`).OK(); got.Text("name") != "first" {
		t.Errorf("%s", got.Body)
	}
	own := mapping.AssistantID("agent")
	b.Post("/assistants", `{"graph_id":"agent","assistant_id":"`+own+`"}`).Is(409)
	if got := b.Post("/assistants", `{"graph_id":"agent","assistant_id":"`+own+`","if_exists":"do_nothing"}`).OK(); got.Text("name") != "agent" {
		t.Errorf("%s", got.Body)
	}
	b.Post("/assistants", `{"graph_id":"nobody"}`).Is(404)
	b.Do("PATCH", "/assistants/"+id, `{"graph_id":"nobody"}`).Is(404)
	for _, name := range []string{"agent", own} {
		for _, res := range []rig.Answer{b.Do("PATCH", "/assistants/"+name, `{"name":"x"}`), b.Do("DELETE", "/assistants/"+name, "")} {
			if res.Is(422).Text("code") != mapping.CodeNotSupported || !rig.Says(res.Text("message"), "configuration") {
				t.Errorf("%s: %s", res.Name, res.Body)
			}
		}
	}
}

func TestAssistantsAreSearched(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL), "other": rig.AgentAt("http://127.0.0.1:1"),
	})
	b := rig.StartBridge(t, cfg)
	for _, body := range []string{
		`{"graph_id":"agent","name":"Ada Lovelace","metadata":{"team":"a"}}`, `{"graph_id":"other","name":"bea","metadata":{"team":"b"}}`, `{"graph_id":"agent","name":"Cleo","metadata":{"team":"a","x":{"y":1,"z":2}}}`,
	} {
		b.Post("/assistants", body).OK()
	}
	for body, want := range map[string]string{
		`{"sort_by":"name","sort_order":"asc"}`:                             "Ada Lovelace,Cleo,agent,bea,other",
		`{"sort_by":"name","sort_order":"desc"}`:                            "other,bea,agent,Cleo,Ada Lovelace",
		`{"sort_by":"name","sort_order":"asc","limit":2,"offset":1}`:        "Cleo,agent",
		`{"sort_by":"name","sort_order":"asc","graph_id":"agent"}`:          "Ada Lovelace,Cleo,agent",
		`{"sort_by":"graph_id","sort_order":"asc","metadata":{"team":"b"}}`: "bea",
		`{"name":"LOVE"}`:            "Ada Lovelace",
		`{"metadata":{"x":{"z":2}}}`: "Cleo",
		`{"metadata":{"created_by":"system"},"sort_by":"name"}`:                  "other,agent",
		`{"metadata":{"team":"a"},"sort_by":"created_at"}`:                       "Cleo,Ada Lovelace",
		`{"metadata":{"team":"a"},"sort_by":"created_at","sort_order":"asc"}`:    "Ada Lovelace,Cleo",
		`{"graph_id":"nobody"}`:                                                  "",
		`{"metadata":{"team":"a"},"select":["name"],"sort_by":"name","limit":1}`: "Cleo",
	} {
		res := b.Post("/assistants/search", body).OK()
		var names []string
		for _, a := range res.List("") {
			names = append(names, rig.Dig(a, "name").(string))
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		var q map[string]any
		_ = json.Unmarshal([]byte(body), &q)
		delete(q, "limit")
		filter, _ := json.Marshal(q)
		if count := string(b.Post("/assistants/count", string(filter)).OK().Body); count != res.Header.Get("X-Pagination-Total") {
			t.Errorf("%s: count %s, total %s", body, count, res.Header.Get("X-Pagination-Total"))
		}
	}
	if res := b.Post("/assistants/search", `{"select":["name","version"],"limit":1}`).OK(); res.Header.Get("X-Pagination-Next") != "1" || len(res.List("")[0].(map[string]any)) != 2 {
		t.Errorf("%v %s", res.Header, res.Body)
	}
}

// An assistant's configuration is sent to the agent. The request's configuration has priority.
func TestAssistantIsUsedForRuns(t *testing.T) {
	t.Parallel()
	b, agent := threadAgent(t)
	id := b.Post("/assistants", oneAssistant).OK().Text("assistant_id")
	thread := b.Thread()
	b.Post(thread+"/runs/wait", `{"assistant_id":"`+id+`",`+rig.SaysHi+`,"config":{"configurable":{"user":"bob"}},"context":{"lang":"de"}}`).OK()
	sent := agent.Bodies("POST /threads/{t}/runs/stream")
	var got struct {
		Config struct {
			Tags         []string
			Limit        int `json:"recursion_limit"`
			Configurable map[string]any
		}
		Context     map[string]any
		AssistantID string `json:"assistant_id"`
	}
	if len(sent) != 1 || json.Unmarshal(sent[0], &got) != nil {
		t.Fatalf("%s", sent)
	}
	if len(got.Config.Tags) != 1 || got.Config.Limit != 7 || got.Config.Configurable["model"] != "small" || got.Config.Configurable["user"] != "bob" ||
		got.Context["tone"] != "dry" || got.Context["lang"] != "de" || got.AssistantID == id {
		t.Errorf("the agent got %s", sent[0])
	}
	run := b.Get(thread + "/runs").OK().List("")[0]
	if rig.Dig(run, "assistant_id") != id || rig.Dig(run, "metadata.team") != "a" || rig.Dig(run, "metadata.graph_id") != "agent" || rig.Dig(run, "metadata.assistant_id") != id ||
		rig.Dig(run, "kwargs.config.configurable.assistant_id") != id || rig.Dig(run, "kwargs.config.configurable.model") != "small" || rig.Dig(run, "kwargs.context.tone") != "dry" {
		t.Errorf("%v", run)
	}
	if th := b.Get(thread).OK(); th.Text("metadata.assistant_id") != id || th.Text("metadata.graph_id") != "agent" {
		t.Errorf("%s", th.Body)
	}
	// It also runs through the Agent Protocol, and filters distinguish it from the agent.
	if res := b.Post("/runs/wait", `{"agent_id":"`+id+`",`+rig.SaysHi+`}`).OK(); res.Text("run.status") != "success" {
		t.Errorf("%s", res.Body)
	}
	if got := b.Get("/agents/" + id).OK(); got.Text("agent_id") != id || got.Text("name") != "Ada" {
		t.Errorf("%s", got.Body)
	}
	for agent, n := range map[string]int{id: 2, "agent": 0, mapping.AssistantID("agent"): 0} {
		if list := b.Post("/runs/search", `{"agent_id":"`+agent+`"}`).OK().List(""); len(list) != n {
			t.Errorf("%s: %d runs", agent, len(list))
		}
	}
}

func TestAssistantIsDeletedWithItsThreads(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	var ids, threads [2]string
	for i := range ids {
		ids[i] = b.Post("/assistants", oneAssistant).OK().Text("assistant_id")
		threads[i] = b.Thread()
		b.Post(threads[i]+"/runs/wait", `{"assistant_id":"`+ids[i]+`",`+rig.SaysHi+`}`).OK()
	}
	b.Do("DELETE", "/assistants/"+ids[0], "").Is(204)
	b.Get(threads[0]).OK()
	b.Get(threads[0] + "/runs").OK()
	b.Do("DELETE", "/assistants/"+ids[1]+"?delete_threads=true", "").Is(204)
	b.Get(threads[1]).Is(404)
	b.Get(threads[0]).OK()
}

func TestAssistantIsUsedForCrons(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	id := b.Post("/assistants", oneAssistant).OK().Text("assistant_id")
	cron := b.Post("/runs/crons", `{"assistant_id":"`+id+`","schedule":"0 0 1 1 *",`+rig.SaysHi+`}`).OK()
	if cron.Text("assistant_id") != id {
		t.Errorf("%s", cron.Body)
	}
	b.Do("PATCH", "/runs/crons/"+cron.Text("cron_id"), `{"schedule":"@yearly"}`).OK()
	for assistant, n := range map[string]string{id: "1", "agent": "0"} {
		if got := string(b.Post("/runs/crons/count", `{"assistant_id":"`+assistant+`"}`).OK().Body); got != n {
			t.Errorf("%s: %s crons", assistant, got)
		}
	}
	b.Do("DELETE", "/assistants/"+id, "").Is(204)
	b.Do("PATCH", "/runs/crons/"+cron.Text("cron_id"), `{}`).Is(404)
}

// Each process requests the description of an agent once. It is cached for use while the agent is unreachable.
func TestAgentDescriptionIsCached(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Canned: map[string]*adaptertest.Canned{
		"GET /assistants/{a}/schemas":         {Status: 200, Type: "application/json", Body: `{"graph_id":"agent","input_schema":{"title":"in"},"output_schema":{"title":"out"},"state_schema":{"title":"st"},"config_schema":{"title":"cf"},"context_schema":{"title":"cx"}}`},
		"GET /assistants/{a}/subgraphs":       {Status: 200, Type: "application/json", Body: `{"child":{"state":{"title":"inner"}}}`},
		"GET /assistants/{a}/subgraphs/child": {Status: 200, Type: "application/json", Body: `{"child":{"state":{"title":"one"}}}`},
	}}
	unreachable := make(chan struct{})
	var requested sync.Map
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested.Store(path.Base(r.URL.Path)+"?"+r.URL.RawQuery, true)
		select {
		case <-unreachable:
			panic(http.ErrAbortHandler)
		default:
			agent.ServeHTTP(w, r)
		}
	}))
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(srv.URL, func(a *config.Agent) { a.Dialect = "threadrun" })})
	b := rig.StartBridge(t, cfg)
	id := b.Post("/assistants", oneAssistant).OK().Text("assistant_id")
	check := func(b *rig.Bridge) {
		t.Helper()
		for path, want := range map[string]string{
			"/assistants/agent/schemas":                     `"input_schema":{"title":"in"},"output_schema":{"title":"out"},"state_schema":{"title":"st"},"config_schema":{"title":"cf"},"context_schema":{"title":"cx"}`,
			"/assistants/" + id + "/schemas":                `"graph_id":"agent","input_schema":{"title":"in"}`,
			"/agents/agent/schemas":                         `"output_schema":{"title":"out"}`,
			"/assistants/agent/graph":                       `"id":"plan"`,
			"/assistants/" + id + "/graph?xray=2":           `"id":"plan"`,
			"/assistants/agent/subgraphs":                   `{"child":{"state":{"title":"inner"}}}`,
			"/assistants/agent/subgraphs/child":             `{"child":{"state":{"title":"one"}}}`,
			"/assistants/" + id + "/subgraphs?recurse=true": `"inner"`,
		} {
			if got := b.Get(path).OK(); !strings.Contains(string(got.Body), want) {
				t.Errorf("%s: %s", path, got.Body)
			}
		}
	}
	check(b)
	check(b)
	for route, n := range map[string]int{"GET /assistants/{a}/schemas": 1, "GET /assistants/{a}/graph": 2, "GET /assistants/{a}/subgraphs": 2, "GET /assistants/{a}/subgraphs/child": 1} {
		if got := agent.Calls(route); got != n {
			t.Errorf("%s was called %d times, want %d", route, got, n)
		}
	}
	for _, want := range []string{"graph?", "graph?xray=2", "subgraphs?", "subgraphs?recurse=true"} {
		if _, ok := requested.Load(want); !ok {
			t.Errorf("the agent was never called with %s", want)
		}
	}
	b.End()
	close(unreachable)
	check(rig.StartBridge(t, cfg))
}

// An agent without a description is presented as a graph of one node.
func TestAgentWithoutDescription(t *testing.T) {
	t.Parallel()
	refused := &adaptertest.Canned{Status: 500, Type: "text/plain", Body: "no"}
	agent := &adaptertest.ThreadAgent{Canned: map[string]*adaptertest.Canned{"GET /assistants/{a}/schemas": refused, "GET /assistants/{a}/graph": refused, "GET /assistants/{a}/subgraphs": refused}}
	for name, h := range map[string]http.Handler{"thread/run": agent, "task/step": adaptertest.NewStepAgent(adaptertest.Plain)} {
		b := rig.InFront(t, h)
		if got := b.Get("/assistants/agent/schemas").OK(); got.At("state_schema.properties.messages.items.type") != "object" || got.At("config_schema.type") != "object" {
			t.Errorf("%s: %s", name, got.Body)
		}
		if got := b.Get("/assistants/agent/graph?xray=true").OK(); got.At("nodes.1.id") != "step" {
			t.Errorf("%s: %s", name, got.Body)
		}
		if got := string(b.Get("/assistants/agent/subgraphs").OK().Body); got != "{}" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAssistantsSurviveARestart(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	b := rig.StartBridge(t, cfg)
	id := b.Post("/assistants", oneAssistant).OK().Text("assistant_id")
	b.End()
	b = rig.StartBridge(t, cfg)
	if res := b.Post("/runs/wait", `{"assistant_id":"`+id+`",`+rig.SaysHi+`}`).OK(); res.List("messages") == nil {
		t.Errorf("%s", res.Body)
	}
}
