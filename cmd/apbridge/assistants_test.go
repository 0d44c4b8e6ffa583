package main

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

const oneAssistant = `{"graph_id":"agent","name":"Ada","description":"counts","metadata":{"team":"a"},
 "config":{"tags":["t"],"recursion_limit":7,"configurable":{"model":"small","user":"ada"}},"context":{"tone":"dry","lang":"en"}}`

// threadAgent is a bridge before a scripted thread/run agent, and that.
func threadAgent(t *testing.T) (*bridge, *adaptertest.ThreadAgent) {
	t.Helper()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	return inFront(t, agent), agent
}

func TestAssistantIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	made := b.post("/assistants", oneAssistant).ok()
	id := made.text("assistant_id")
	if !mapping.IsUUID(id) || id == mapping.AssistantID("agent") || made.at("version") != 1.0 || made.text("graph_id") != "agent" {
		t.Fatalf("%s", made.body)
	}
	if got := b.get("/assistants/" + strings.ToUpper(id)).ok(); string(got.body) != string(made.body) {
		t.Errorf("got %s\nmade %s", got.body, made.body)
	}
	changed := b.do("PATCH", "/assistants/"+id, `{"name":"Bea","metadata":{"level":2},"config":{},"graph_id":null}`).ok()
	if changed.at("version") != 2.0 || changed.text("name") != "Bea" || changed.text("metadata.team") != "a" || changed.at("metadata.level") != 2.0 ||
		changed.at("config.tags") != nil || changed.text("context.tone") != "dry" || changed.text("description") != "counts" {
		t.Errorf("%s", changed.body)
	}
	if v := b.post("/assistants/"+id+"/versions", `{}`).ok().list(""); len(v) != 2 || dig(v[0], "version") != 2.0 || dig(v[1], "name") != "Ada" || dig(v[1], "config.recursion_limit") != 7.0 {
		t.Errorf("%v", v)
	}
	if v := b.post("/assistants/"+id+"/versions", `{"metadata":{"level":2}}`).ok().list(""); len(v) != 1 {
		t.Errorf("%v", v)
	}
	if back := b.post("/assistants/"+id+"/latest", `{"version":1}`).ok(); back.text("name") != "Ada" || back.at("version") != 1.0 {
		t.Errorf("%s", back.body)
	}
	b.post("/assistants/"+id+"/latest", `{"version":3}`).is(404)
	b.do("DELETE", "/assistants/"+id, "").is(204)
	for _, path := range []string{"", "/graph", "/schemas", "/subgraphs"} {
		b.get("/assistants/" + id + path).is(404)
	}
	b.do("DELETE", "/assistants/"+id, "").is(404)
	b.post("/runs/wait", `{"assistant_id":"`+id+`","input":"hi"}`).is(404)
}

func TestAssistantThatIsThereAlready(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	const id = "0190e1f2-0000-4000-8000-00000000000a"
	b.post("/assistants", `{"graph_id":"agent","assistant_id":"`+id+`","name":"first"}`).ok()
	if got := b.post("/assistants", `{"graph_id":"agent","assistant_id":"`+id+`"}`).is(409); got.text("code") != mapping.CodeAssistantThere {
		t.Errorf("%s", got.body)
	}
	if got := b.post("/assistants", `{"graph_id":"agent","assistant_id":"`+id+`","name":"second","if_exists":"do_nothing"}`).ok(); got.text("name") != "first" {
		t.Errorf("%s", got.body)
	}
	own := mapping.AssistantID("agent")
	b.post("/assistants", `{"graph_id":"agent","assistant_id":"`+own+`"}`).is(409)
	if got := b.post("/assistants", `{"graph_id":"agent","assistant_id":"`+own+`","if_exists":"do_nothing"}`).ok(); got.text("name") != "agent" {
		t.Errorf("%s", got.body)
	}
	b.post("/assistants", `{"graph_id":"nobody"}`).is(404)
	b.do("PATCH", "/assistants/"+id, `{"graph_id":"nobody"}`).is(404)
	for _, name := range []string{"agent", own} {
		for _, res := range []answer{b.do("PATCH", "/assistants/"+name, `{"name":"x"}`), b.do("DELETE", "/assistants/"+name, "")} {
			if res.is(422).text("code") != mapping.CodeNotSupported || !says(res.text("message"), "configuration") {
				t.Errorf("%s: %s", res.name, res.body)
			}
		}
	}
}

func TestAssistantsAreSearched(t *testing.T) {
	t.Parallel()
	cfg := configFor(t, map[string]config.Agent{
		"agent": agentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL), "other": agentAt("http://127.0.0.1:1"),
	})
	b := startBridge(t, cfg)
	for _, body := range []string{
		`{"graph_id":"agent","name":"Ada Lovelace","metadata":{"team":"a"}}`, `{"graph_id":"other","name":"bea","metadata":{"team":"b"}}`, `{"graph_id":"agent","name":"Cleo","metadata":{"team":"a","x":{"y":1,"z":2}}}`,
	} {
		b.post("/assistants", body).ok()
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
		res := b.post("/assistants/search", body).ok()
		var names []string
		for _, a := range res.list("") {
			names = append(names, dig(a, "name").(string))
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		var q map[string]any
		_ = json.Unmarshal([]byte(body), &q)
		delete(q, "limit")
		filter, _ := json.Marshal(q)
		if count := string(b.post("/assistants/count", string(filter)).ok().body); count != res.header.Get("X-Pagination-Total") {
			t.Errorf("%s: count %s, total %s", body, count, res.header.Get("X-Pagination-Total"))
		}
	}
	if res := b.post("/assistants/search", `{"select":["name","version"],"limit":1}`).ok(); res.header.Get("X-Pagination-Next") != "1" || len(res.list("")[0].(map[string]any)) != 2 {
		t.Errorf("%v %s", res.header, res.body)
	}
}

// What an assistant says reaches the agent, below what the request says.
func TestAssistantIsUsedForRuns(t *testing.T) {
	t.Parallel()
	b, agent := threadAgent(t)
	id := b.post("/assistants", oneAssistant).ok().text("assistant_id")
	thread := b.thread()
	b.post(thread+"/runs/wait", `{"assistant_id":"`+id+`",`+saysHi+`,"config":{"configurable":{"user":"bob"}},"context":{"lang":"de"}}`).ok()
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
	run := b.get(thread + "/runs").ok().list("")[0]
	if dig(run, "assistant_id") != id || dig(run, "metadata.team") != "a" || dig(run, "metadata.graph_id") != "agent" || dig(run, "metadata.assistant_id") != id ||
		dig(run, "kwargs.config.configurable.assistant_id") != id || dig(run, "kwargs.context.tone") != nil {
		t.Errorf("%v", run)
	}
	if th := b.get(thread).ok(); th.text("metadata.assistant_id") != id || th.text("metadata.graph_id") != "agent" {
		t.Errorf("%s", th.body)
	}
	// Through the Agent Protocol, too, and filters tell it from the agent.
	if res := b.post("/runs/wait", `{"agent_id":"`+id+`",`+saysHi+`}`).ok(); res.text("run.status") != "success" {
		t.Errorf("%s", res.body)
	}
	if got := b.get("/agents/" + id).ok(); got.text("agent_id") != id || got.text("name") != "Ada" {
		t.Errorf("%s", got.body)
	}
	for agent, n := range map[string]int{id: 2, "agent": 0, mapping.AssistantID("agent"): 0} {
		if list := b.post("/runs/search", `{"agent_id":"`+agent+`"}`).ok().list(""); len(list) != n {
			t.Errorf("%s: %d runs", agent, len(list))
		}
	}
}

func TestAssistantIsDeletedWithItsThreads(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	var ids, threads [2]string
	for i := range ids {
		ids[i] = b.post("/assistants", oneAssistant).ok().text("assistant_id")
		threads[i] = b.thread()
		b.post(threads[i]+"/runs/wait", `{"assistant_id":"`+ids[i]+`",`+saysHi+`}`).ok()
	}
	b.do("DELETE", "/assistants/"+ids[0], "").is(204)
	b.get(threads[0]).ok()
	b.get(threads[0] + "/runs").ok()
	b.do("DELETE", "/assistants/"+ids[1]+"?delete_threads=true", "").is(204)
	b.get(threads[1]).is(404)
	b.get(threads[0]).ok()
}

func TestAssistantIsUsedForCrons(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	id := b.post("/assistants", oneAssistant).ok().text("assistant_id")
	cron := b.post("/runs/crons", `{"assistant_id":"`+id+`","schedule":"0 0 1 1 *",`+saysHi+`}`).ok()
	if cron.text("assistant_id") != id {
		t.Errorf("%s", cron.body)
	}
	b.do("PATCH", "/runs/crons/"+cron.text("cron_id"), `{"schedule":"@yearly"}`).ok()
	for assistant, n := range map[string]string{id: "1", "agent": "0"} {
		if got := string(b.post("/runs/crons/count", `{"assistant_id":"`+assistant+`"}`).ok().body); got != n {
			t.Errorf("%s: %s crons", assistant, got)
		}
	}
	b.do("DELETE", "/assistants/"+id, "").is(204)
	b.do("PATCH", "/runs/crons/"+cron.text("cron_id"), `{}`).is(404)
}

// What an agent says of itself is asked for once by each process, and kept for
// the time when it is away.
func TestAgentIsAskedWhatItIs(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Canned: map[string]*adaptertest.Canned{
		"GET /assistants/{a}/schemas":         {Status: 200, Type: "application/json", Body: `{"graph_id":"agent","input_schema":{"title":"in"},"output_schema":{"title":"out"},"state_schema":{"title":"st"},"config_schema":{"title":"cf"},"context_schema":{"title":"cx"}}`},
		"GET /assistants/{a}/subgraphs":       {Status: 200, Type: "application/json", Body: `{"child":{"state":{"title":"inner"}}}`},
		"GET /assistants/{a}/subgraphs/child": {Status: 200, Type: "application/json", Body: `{"child":{"state":{"title":"one"}}}`},
	}}
	away := make(chan struct{})
	var asked sync.Map
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(path.Base(r.URL.Path)+"?"+r.URL.RawQuery, true)
		select {
		case <-away:
			panic(http.ErrAbortHandler)
		default:
			agent.ServeHTTP(w, r)
		}
	}))
	cfg := configFor(t, map[string]config.Agent{"agent": agentAt(srv.URL, func(a *config.Agent) { a.Dialect = "threadrun" })})
	b := startBridge(t, cfg)
	id := b.post("/assistants", oneAssistant).ok().text("assistant_id")
	look := func(b *bridge) {
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
			if got := b.get(path).ok(); !strings.Contains(string(got.body), want) {
				t.Errorf("%s: %s", path, got.body)
			}
		}
	}
	look(b)
	look(b)
	for route, n := range map[string]int{"GET /assistants/{a}/schemas": 1, "GET /assistants/{a}/graph": 2, "GET /assistants/{a}/subgraphs": 2, "GET /assistants/{a}/subgraphs/child": 1} {
		if got := agent.Calls(route); got != n {
			t.Errorf("%s was asked %d times", route, got)
		}
	}
	for _, want := range []string{"graph?", "graph?xray=2", "subgraphs?", "subgraphs?recurse=true"} {
		if _, ok := asked.Load(want); !ok {
			t.Errorf("the agent was never asked for %s", want)
		}
	}
	b.end()
	close(away)
	look(startBridge(t, cfg))
}

// An agent that cannot say what it is looks like the graph of one node.
func TestAgentThatCannotSayWhatItIs(t *testing.T) {
	t.Parallel()
	refused := &adaptertest.Canned{Status: 500, Type: "text/plain", Body: "no"}
	agent := &adaptertest.ThreadAgent{Canned: map[string]*adaptertest.Canned{"GET /assistants/{a}/schemas": refused, "GET /assistants/{a}/graph": refused, "GET /assistants/{a}/subgraphs": refused}}
	for name, h := range map[string]http.Handler{"thread/run": agent, "task/step": adaptertest.NewStepAgent(adaptertest.Plain)} {
		b := inFront(t, h)
		if got := b.get("/assistants/agent/schemas").ok(); got.at("state_schema.properties.messages.items.type") != "object" || got.at("config_schema.type") != "object" {
			t.Errorf("%s: %s", name, got.body)
		}
		if got := b.get("/assistants/agent/graph?xray=true").ok(); got.at("nodes.1.id") != "step" {
			t.Errorf("%s: %s", name, got.body)
		}
		if got := string(b.get("/assistants/agent/subgraphs").ok().body); got != "{}" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAssistantsSurviveARestart(t *testing.T) {
	t.Parallel()
	cfg := configFor(t, map[string]config.Agent{"agent": agentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	b := startBridge(t, cfg)
	id := b.post("/assistants", oneAssistant).ok().text("assistant_id")
	b.end()
	b = startBridge(t, cfg)
	if res := b.post("/runs/wait", `{"assistant_id":"`+id+`",`+saysHi+`}`).ok(); res.list("messages") == nil {
		t.Errorf("%s", res.body)
	}
}
