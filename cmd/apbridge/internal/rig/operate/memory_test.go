package operate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// confined puts both keys into one tenant. The second may only use a part of the store.
var confined = strings.Replace(rig.TwoKeys, "tenant: other$ONLY", "tenant: acme, namespaces: [users/b]", 1)

// keeper is a bridge with helpers for items.
type keeper struct{ *rig.Bridge }

func (k keeper) item(namespace, key, value string) {
	k.T.Helper()
	labels, _ := json.Marshal(strings.Split(namespace, "/"))
	k.Do("PUT", "/store/items", `{"namespace":`+string(labels)+`,"key":"`+key+`","value":`+value+`}`).Want(k.T, 204)
}

// remembering starts a bridge with the task/step agent "a" and settings of memory.
func remembering(t *testing.T, memory string) (keeper, *adaptertest.StepAgent) {
	t.Helper()
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"Done"`, Last: true}}}
	return keeper{rig.Configured(t, "agents: {a: {url: $A, memory: {"+memory+"}}}", map[string]http.Handler{"a": agent})}, agent
}

// writer is a task/step agent that stores an item about a user with each task.
func writer(namespace, value string) *adaptertest.StepAgent {
	return &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"noted"`, Additional: `{"memory":[{"namespace":` + namespace + `,"key":"k","value":` + value + `}]}`, Last: true},
	}}
}

// TestAgentsShareMemory checks that agents of either kind receive another agent's items about the user, on other
// threads and in other tasks, and none about other users.
func TestAgentsShareMemory(t *testing.T) {
	t.Parallel()
	first, second, graph := writer(`["users","ada"]`, `{"likes":"green tea"}`), adaptertest.NewStepAgent(adaptertest.Plain), rig.NewMemoryGraph()
	r := rig.Configured(t, `default_agent: first
agents:
  first: {url: $FIRST, memory: {namespaces: ["users/{user}", "topics/{thread_id}"], allow_writes: true}}
  second: {url: $SECOND, memory: {namespaces: ["users/{metadata.owner}"], mode: both}}
  graph: {url: $GRAPH, dialect: threadrun, assistant: agent, memory: {namespaces: ["users/{user}"]}}
`, map[string]http.Handler{"first": first, "second": second, "graph": graph})
	of := func(agent, user string) string {
		return `{"assistant_id":"` + agent + `","input":"hi","config":{"configurable":{"user":"` + user + `"}}}`
	}
	r.Post("/runs/wait", of("first", "ada")).Want(t, 200)
	for _, user := range []string{"ada", "bob"} {
		r.Post("/runs/wait", of("first", user)).Want(t, 200)
		r.Post("/runs/wait", of("graph", user)).Want(t, 200)
		th := r.Post("/threads", `{"metadata":{"owner":"`+user+`"}}`).Want(t, 200).Text("thread_id")
		r.Post("/threads/"+th+"/runs/wait", `{"assistant_id":"second","input":"hi"}`).Want(t, 200)
	}
	for name, told := range map[string][]string{"first": first.Creates()[1:], "second": second.Creates()} {
		if len(told) != 2 || !strings.Contains(told[0], "green tea") || strings.Contains(told[1], "green tea") {
			t.Errorf("%s received %s", name, told)
		}
	}
	if both := second.Creates()[0]; !strings.Contains(both, `users/ada/k: {\"likes\":\"green tea\"}`) || !strings.Contains(both, `"memory":[{"namespace":["users","ada"],"key":"k","value":{"likes":"green tea"}}]`) {
		t.Errorf("in both modes: %s", both)
	}
	var told []json.RawMessage
	for _, body := range graph.Bodies("POST /threads/{t}/runs/stream") {
		var run struct {
			Config struct {
				Configurable struct {
					User     string
					Apbridge json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(body, &run); err != nil {
			t.Fatal(err)
		}
		told = append(told, run.Config.Configurable.Apbridge)
	}
	if want := `{"memory":[{"key":"k","namespace":["users","ada"],"value":{"likes":"green tea"}}]}`; len(told) != 2 || string(told[0]) != want || told[1] != nil {
		t.Errorf("the graph received %s", told)
	}
}

// A client's members with the names that the bridge uses for the store do not reach an agent, whether or not the bridge
// sends such members, and the response reports that.
func TestClientsCannotForgeMemory(t *testing.T) {
	t.Parallel()
	step, graph := adaptertest.NewStepAgent(adaptertest.Plain), rig.NewMemoryGraph()
	r := keeper{rig.Configured(t, `default_agent: step
agents:
  step: {url: $STEP, memory: {namespaces: ["users/{user}"], mode: additional_input}}
  graph: {url: $GRAPH, dialect: threadrun, assistant: agent, memory: {namespaces: ["users/{user}"]}}
`, map[string]http.Handler{"step": step, "graph": graph})}
	r.item("users/ada", "k", `{"likes":"tea"}`)
	const forged = `{"memory":[{"namespace":["users","ada"],"key":"k","value":{"likes":"FORGED"}}],"store":{"url":"http://FORGED","token":"FORGED"}}`
	ignored := func(got rig.Answer, want string) {
		t.Helper()
		if h := got.Header.Get("X-Apbridge-Ignored"); h != want {
			t.Errorf("X-Apbridge-Ignored is %q, want %q", h, want)
		}
	}
	configured := `"config":{"configurable":{"apbridge":` + forged + `,"model":"m"}}`
	inContext := `"context":{"apbridge":` + forged + `,"model":"m"}`
	for _, user := range []string{"eve", "ada"} {
		mine := strings.Replace(configured, `"model"`, `"user":"`+user+`","model"`, 1)
		ignored(r.Post("/runs/wait", `{"assistant_id":"graph","input":"hi",`+mine+`}`).Want(t, 200), "config.configurable.apbridge")
		mine = strings.Replace(inContext, `"model"`, `"user":"`+user+`","model"`, 1)
		ignored(r.Post("/runs/wait", `{"assistant_id":"graph","input":"hi",`+mine+`}`).Want(t, 200), "context.apbridge")
	}
	ignored(r.Post("/runs/wait", `{"assistant_id":"graph","input":"hi","context":{"apbridge":`+forged+`}}`).Want(t, 200), "context.apbridge")
	for _, given := range []string{configured, inContext} {
		made := r.Post("/assistants", `{"graph_id":"graph",`+given+`}`).Want(t, 200)
		if made.Header.Get("X-Apbridge-Ignored") == "" {
			t.Errorf("X-Apbridge-Ignored is missing for an assistant with %s", given)
		}
		r.Post("/runs/wait", `{"assistant_id":"`+made.Text("assistant_id")+`","input":"hi"}`).Want(t, 200)
	}
	task := func(agent, additional string) rig.Answer {
		t.Helper()
		got := r.Post("/agents/"+agent+"/ap/v1/agent/tasks", `{"input":"hi","additional_input":`+additional+`}`).Want(t, 200)
		r.Post("/agents/"+agent+"/ap/v1/agent/tasks/"+got.Text("task_id")+"/steps", `{}`).Want(t, 200)
		return got
	}
	task("graph", `{`+configured+`}`)
	ignored(task("step", `{"memory":[{"key":"FORGED"}],"apbridge":`+forged+`,"mine":1}`), "additional_input.memory, additional_input.apbridge")
	ignored(task("step", `{"mine":1}`), "")
	bodies := graph.Bodies("POST /threads/{t}/runs/stream")
	if len(bodies) != 8 || len(step.Creates()) != 2 {
		t.Fatalf("%d runs and %d tasks", len(bodies), len(step.Creates()))
	}
	for i, body := range bodies {
		if strings.Contains(string(body), "FORGED") || i != 4 && !strings.Contains(string(body), `"model":"m"`) || strings.Contains(string(body), `"tea"`) != (i == 2 || i == 3) {
			t.Errorf("the graph received %s", body)
		}
	}
	for _, body := range step.Creates() {
		if strings.Contains(body, "FORGED") || !strings.Contains(body, `"mine":1`) || !strings.Contains(body, `"apbridge":{"run_id"`) {
			t.Errorf("the agent received %s", body)
		}
	}
}

// TestMemoryIsThatOfTheTasksUser checks whose memory a task uses: that of the user in additional_input.configurable, or
// else that of the key.
func TestMemoryIsThatOfTheTasksUser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, additional, key string }{
		"configurable":        {"users/{user_id}", `{"configurable":{"user_id":"ada"}}`, rig.KeyA},
		"config.configurable": {"users/{user_id}", `{"config":{"configurable":{"user_id":"ada"}}}`, rig.KeyA},
		"its key":             {"users/{principal.id}", `{"configurable":{"principal.id":"eve"}}`, rig.KeyA},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := "ada"
			if name == "its key" {
				user = "alice"
			}
			agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
				{Output: `"Which one?"`, Additional: `{"use_tool":{"name":"ask_user","arguments":{"question":"Which one?"}}}`},
				{Output: `"noted"`, Additional: `{"memory":[{"namespace":["users","` + user + `"],"key":"kept","value":{"v":1}}]}`, Last: true},
			}}
			graph := rig.NewMemoryGraph()
			memory := ", memory: {namespaces: ['" + c.template + "'], allow_writes: true}"
			text := strings.Replace(rig.TwoKeys, "{url: $A", "{url: $A"+memory, 1)
			text = strings.Replace(text, "$ONLY", "", 1) + "\n  graph: {url: $GRAPH, dialect: threadrun, assistant: agent" + memory + "}"
			r := keeper{rig.Configured(t, text, map[string]http.Handler{"a": agent, "graph": graph}, rig.KeyEnviron...)}
			do := func(path, body string) rig.Answer { return r.Do("POST", path, body, "X-Api-Key", c.key).Want(t, 200) }
			for _, of := range []string{user, "eve"} {
				r.Do("PUT", "/store/items", `{"namespace":["users","`+of+`"],"key":"k","value":{"of":"`+of+`"}}`, "X-Api-Key", c.key).Want(t, 204)
			}
			for _, name := range []string{"a", "graph"} {
				at := "/agents/" + name + "/ap/v1/agent/tasks"
				task := do(at, `{"input":"hi","additional_input":`+c.additional+`}`).Text("task_id")
				do(at+"/"+task+"/steps", `{}`)
				if name == "a" {
					do(at+"/"+task+"/steps", `{"input":"the first"}`)
				}
			}
			told := agent.Creates()[0]
			if !strings.Contains(told, "users/"+user+"/k") || strings.Contains(told, "users/eve") {
				t.Errorf("the agent received %s", told)
			}
			if body := string(graph.Bodies("POST /threads/{t}/runs/stream")[0]); !strings.Contains(body, `"of":"`+user+`"`) || strings.Contains(body, `"of":"eve"`) {
				t.Errorf("the graph received %s", body)
			}
			r.Do("GET", "/store/items?namespace=users."+user+"&key=kept", "", "X-Api-Key", c.key).Want(t, 200, `"v":1`)
		})
	}
}

// An agent writes only in its namespaces, and either all items of a step or none.
func TestAgentsWriteInTheirNamespaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writes string
		there  int
	}{
		"its own":           {`[{"namespace":["users","ada","deep"],"key":"k","value":{"v":1}},{"namespace":["users","ada"],"key":"seed","value":null}]`, 1},
		"of another":        {`[{"namespace":["users","bob"],"key":"k","value":{"v":1}}]`, 1},
		"above":             {`[{"namespace":["users"],"key":"k","value":{"v":1}}]`, 1},
		"one elsewhere":     {`[{"namespace":["users","ada"],"key":"k","value":{"v":1}},{"namespace":["x"],"key":"k","value":{}}]`, 1},
		"deletes elsewhere": {`[{"namespace":["users","bob"],"key":"seed","value":null}]`, 1},
		"no namespace":      {`[{"namespace":[],"key":"k","value":{"v":1}}]`, 1},
		"a dotted label":    {`[{"namespace":["users","ada","a.b"],"key":"k","value":{"v":1}}]`, 1},
		"no object":         {`[{"namespace":["users","ada"],"key":"k","value":3}]`, 1},
		"no list":           {`{"namespace":["users","ada"],"key":"k","value":{}}`, 1},
		"a second bad one":  {`[{"namespace":["users","ada"],"key":"k","value":{"v":1}},{"namespace":["users","ada"],"key":"","value":{}}]`, 1},
	} {
		agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"noted"`, Additional: `{"memory":` + c.writes + `}`, Last: true}}}
		r := keeper{rig.Configured(t, "agents: {a: {url: $A, memory: {namespaces: ['users/{user}'], allow_writes: true}}}", map[string]http.Handler{"a": agent})}
		r.item("users/ada", "seed", `{}`)
		r.item("users/bob", "seed", `{}`)
		r.Do("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"ada"}}}`).Want(t, 200)
		items := r.Do("POST", "/store/items/search", `{}`).Want(t, 200).String()
		wrote := strings.Contains(items, `"k"`)
		if wrote != (name == "its own") || strings.Count(items, `"seed"`) != map[bool]int{true: 1, false: 2}[wrote] {
			t.Errorf("%s: the store has %s", name, items)
		}
		if refused := r.Logs.FilterMessage("memory of an agent could not be stored").Len(); refused != map[bool]int{true: 0, false: 1}[wrote] {
			t.Errorf("%s: %d refusals are logged", name, refused)
		}
	}
}

// A key's runs give an agent no items of namespaces that the key may not use.
func TestMemoryIsLimitedByTheKey(t *testing.T) {
	t.Parallel()
	agent := writer(`["users","a"]`, `{"likes":"coffee"}`)
	text := strings.Replace(confined, "{url: $A", "{memory: {namespaces: ['users/{user}'], allow_writes: true}, url: $A", 1)
	r := rig.Configured(t, text, map[string]http.Handler{"a": agent}, rig.KeyEnviron...)
	for _, ns := range []string{"a", "b"} {
		r.Do("PUT", "/store/items", `{"namespace":["users","`+ns+`"],"key":"k","value":{"likes":"tea of `+ns+`"}}`, "X-Api-Key", rig.KeyA).Want(t, 204)
	}
	for _, user := range []string{"a", "b"} {
		r.Do("POST", "/runs/wait", `{"agent_id":"a","input":"hi","config":{"configurable":{"user":"`+user+`"}}}`, "X-Api-Key", rig.KeyB).Want(t, 200)
	}
	c := agent.Creates()
	if len(c) != 2 || strings.Contains(c[0], "tea") || !strings.Contains(c[1], "tea of b") {
		t.Errorf("the agent received %s", c)
	}
	r.Do("GET", "/store/items?namespace=users.a&key=k", "", "X-Api-Key", rig.KeyA).Want(t, 200, "tea of a")
	r.Do("POST", "/runs/wait", `{"agent_id":"a","input":"hi","config":{"configurable":{"user":"a"}}}`, "X-Api-Key", rig.KeyA).Want(t, 200)
	r.Do("GET", "/store/items?namespace=users.a&key=k", "", "X-Api-Key", rig.KeyA).Want(t, 200, "coffee")
}

// caller is an agent that uses the store with its token while it works.
type caller struct {
	http.Handler
	t     *testing.T
	mu    sync.Mutex
	store struct {
		URL, Token string
		Namespaces [][]string
	}
	said []string // responses of the store
}

func (c *caller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.mu.Lock()
	if _, given, ok := bytes.Cut(body, []byte(`"store":{`)); ok {
		if err := json.NewDecoder(bytes.NewReader(append([]byte("{"), given...))).Decode(&c.store); err != nil {
			c.t.Errorf("the store in %s: %v", body, err)
		}
	}
	if r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/steps") || strings.HasSuffix(r.URL.Path, "/runs/stream")) {
		c.said = append(c.said, c.call("PUT", "/store/items", `{"namespace":["users","ada"],"key":"k","value":{"likes":"tea"}}`),
			c.call("PUT", "/store/items", `{"namespace":["users","bob"],"key":"k","value":{}}`),
			c.call("POST", "/store/items/search", `{}`), c.call("GET", "/info", ""), c.call("POST", "/threads", `{}`), c.call("GET", "/metrics", ""))
	}
	c.mu.Unlock()
	c.Handler.ServeHTTP(w, r)
}

// call calls the bridge with the token.
func (c *caller) call(method, path, body string) string {
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.store.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+c.store.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", string(text))
}

// TestAgentsUseTheStoreWhileTheyRun checks that an agent of either kind, called for a client of either face, reads and
// writes only in its namespaces with its token, and that the token is invalid once the run has ended.
func TestAgentsUseTheStoreWhileTheyRun(t *testing.T) {
	t.Parallel()
	faces := map[string]func(r *rig.Bridge){
		"runs": func(r *rig.Bridge) {
			r.Do("POST", "/runs/wait", `{"input":"hi","config":{"configurable":{"user":"ada"}}}`).Want(t, 200)
		},
		"tasks": func(r *rig.Bridge) {
			task := r.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).Want(t, 200).Text("task_id")
			r.Steps("/ap/v1/agent/tasks/"+task, 5)
		},
		"topics": func(r *rig.Bridge) {
			topic := r.Post("/ap/v2/topics", `{}`).Want(t, 201).Text("topic_id")
			task := r.Post("/ap/v2/topics/"+topic+"/interactions", `{"input":"hi"}`).Want(t, 201).Text("task_id")
			r.Steps("/ap/v2/topics/"+topic+"/tasks/"+task, 5)
		},
		"context": func(r *rig.Bridge) {
			r.Do("POST", "/runs/wait", `{"input":"hi","context":{"user":"ada"}}`).Want(t, 200)
		},
	}
	for name, use := range faces {
		for kind, agent := range map[string]http.Handler{
			"taskstep":  &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"Done"`, Last: true}}},
			"threadrun": rig.NewMemoryGraph(),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				c := &caller{Handler: agent, t: t}
				listen := rig.FreeAddress(t)
				r := rig.Configured(t, `listen: `+listen+`
agents: {a: {url: $A, dialect: `+kind+`, memory: {namespaces: ["users/ada"], allow_writes: true, store_url: "http://`+listen+`"}}}`, map[string]http.Handler{"a": c})
				use(r)
				c.check(t)
				r.Do("GET", "/store/items?namespace=users.ada&key=k", "").Want(t, 200, "tea")
				if got := c.call("POST", "/store/items/search", `{}`); !strings.HasPrefix(got, "401 ") {
					t.Errorf("after the end: %s", got)
				}
			})
		}
	}
}

func (c *caller) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	want := []string{"204 ", "403 ", `200 {"items":[{"namespace":["users","ada"],"key":"k"`, "403 ", "403 ", "403 "}
	if len(c.said) != len(want) {
		t.Fatalf("responses of the store: %q", c.said)
	}
	for i, w := range want {
		if !strings.HasPrefix(c.said[i], w) {
			t.Errorf("response %d is %s, want %s", i, c.said[i], w)
		}
	}
}

// TestTokensSurviveARestart checks that a token is valid while the run is active, whichever process executes it, that
// it only allows reads if memory.allow_writes is off, and that it becomes invalid if the run is cancelled.
func TestTokensSurviveARestart(t *testing.T) {
	t.Parallel()
	frames := []string{`metadata {"run_id":"{{run}}","attempt":1}`}
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{{Frames: frames, Hang: true, State: `{"values":{},"next":[]}`}}}
	c := &reader{Handler: graph}
	listen := rig.FreeAddress(t)
	r := rig.Configured(t, `listen: `+listen+`
agents: {a: {url: $A, dialect: threadrun, assistant: agent, memory: {namespaces: [users], store_url: "http://`+listen+`"}}}`, map[string]http.Handler{"a": c})
	th := r.Thread()
	run := r.Post(th+"/runs", `{"assistant_id":"a","input":"hi"}`).Want(t, 200).Text("run_id")
	rig.Eventually(t, "the agent has its token", func() bool { return c.token() != "" })
	ask := func(r *rig.Bridge, method, path, body string) rig.Answer {
		return r.Do(method, path, body, "Authorization", "Bearer "+c.token())
	}
	ask(r, "POST", "/store/items/search", `{}`).Want(t, 200)
	ask(r, "PUT", "/store/items", `{"namespace":["users"],"key":"k","value":{}}`).Want(t, 403, "memory.allow_writes")
	r.Do("POST", "/store/items/search", `{}`, "Authorization", "Bearer "+c.token()[:len(c.token())-4]+"AAAA").Want(t, 200) // without keys, every caller has access
	r.Kill()
	r = r.Again()
	ask(r, "POST", "/store/items/search", `{}`).Want(t, 200)
	ask(r, "GET", "/info", "").Want(t, 403)
	r.Post(th+"/runs/"+run+"/cancel?wait=true", "").Want(t, 204)
	ask(r, "POST", "/store/items/search", `{}`).Want(t, 401, "has ended")
	if state := r.Get(th+"/state").Want(t, 200).String(); strings.Contains(state, c.token()) {
		t.Errorf("the state shows the token: %s", state)
	}
}

// echo is the play of an agent that repeats its configuration in its output, as LangGraph's servers do in debug frames.
func echo(body []byte) adaptertest.ThreadPlay {
	var run struct{ Config json.RawMessage }
	_ = json.Unmarshal(body, &run)
	values := `{"messages":[{"id":"1","type":"ai","content":"hi"}],"shown":` + string(run.Config) + `}`
	return adaptertest.ThreadPlay{
		Frames: []string{`metadata {"run_id":"{{run}}","attempt":1}`, `custom ` + string(run.Config), `updates {"work":` + values + `}`, `values ` + values},
		State: `{"values":` + values + `,"next":[],"tasks":[],"metadata":{"source":"loop","step":1,"config":` + string(run.Config) +
			`},"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":""},"parent_checkpoint":null}`,
	}
}

// TestTokensAreHiddenInOutput checks that no client sees a token in an agent's output.
func TestTokensAreHiddenInOutput(t *testing.T) {
	t.Parallel()
	c := &reader{Handler: &adaptertest.ThreadAgent{Choose: echo}}
	r := rig.Configured(t, `agents: {a: {url: $A, dialect: threadrun, assistant: agent, memory: {namespaces: [users], store_url: "http://bridge.example"}}}`, map[string]http.Handler{"a": c})
	th := r.Thread()
	_, frames := r.Stream("POST", th+"/runs/stream", `{"assistant_id":"a","input":"hi","stream_mode":["values","updates","custom","debug","checkpoints"]}`, 0)
	shown := fmt.Sprint(frames, r.Get(th+"/state"), r.Get(th+"/history"), r.Get(th+"/runs"), r.Get(th))
	if c.token() == "" || strings.Contains(shown, c.token()) || !strings.Contains(shown, "[hidden]") {
		t.Errorf("the token %q is visible in %s", c.token(), shown)
	}
	wantNoTokenLogged(t, r)
}

// wantNoTokenLogged checks that the log contains no token at any level.
func wantNoTokenLogged(t *testing.T, r *rig.Bridge) {
	t.Helper()
	logged := 0
	for _, entry := range r.Logs.All() {
		logged++
		if said := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(said, "apbridge-run_") {
			t.Errorf("the token is logged: %s", said)
		}
	}
	if logged == 0 {
		t.Error("nothing was logged")
	}
}

// revealing is an agent that replaces TOKEN in another agent's output by its token.
type revealing struct{ reader }

func (c *revealing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	said := httptest.NewRecorder()
	c.reader.ServeHTTP(said, r)
	body := said.Body.String()
	if token := c.token(); token != "" {
		body = strings.ReplaceAll(body, "TOKEN", token)
	}
	maps.Copy(w.Header(), said.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(said.Code)
	_, _ = io.WriteString(w, body)
}

// TestTokensAreHiddenInSteps checks the same for steps and failures of a task/step agent.
func TestTokensAreHiddenInSteps(t *testing.T) {
	t.Parallel()
	script := []adaptertest.ScriptStep{{Output: `"I was given TOKEN"`, Additional: `{"given":"TOKEN"}`}, {Output: `{"given":"TOKEN"}`, Last: true}}
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/steps") && r.Method == http.MethodPost {
			http.Error(w, `{"detail":"I cannot work with TOKEN"}`, http.StatusUnprocessableEntity)
			return
		}
		(&adaptertest.StepAgent{Kind: adaptertest.Plain}).ServeHTTP(w, r)
	})
	nonsense := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/steps") && r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"step_id": TOKEN, "TOKEN": "TOKEN"`)
			return
		}
		(&adaptertest.StepAgent{Kind: adaptertest.Plain}).ServeHTTP(w, r)
	})
	wrong := []adaptertest.ScriptStep{{Output: `"TOKEN"`, Additional: `{"memory":[{"namespace":["TOKEN"],"key":"TOKEN","value":{"k":"TOKEN"}}]}`},
		{Output: `"TOKEN"`, Additional: `{"memory":[{"namespace":"TOKEN","key":["TOKEN"],"value":"TOKEN"}]}`, Last: true}}
	for name, agent := range map[string]http.Handler{"steps": &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: script}, "a failure": failing,
		"nonsense": nonsense, "memories that are refused": &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: wrong}} {
		c := &revealing{reader{Handler: agent}}
		r := rig.Configured(t, `agents: {a: {url: $A, dialect: taskstep, memory: {namespaces: [users], allow_writes: true, store_url: "http://bridge.example"}}}`, map[string]http.Handler{"a": c})
		task := r.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).Want(t, 200).Text("task_id")
		path := "/ap/v1/agent/tasks/" + task
		shown := fmt.Sprint(r.Do("POST", path+"/steps", `{}`), r.Do("POST", path+"/steps", `{}`), r.Get(path), r.Get(path+"/steps"))
		th := r.Thread()
		_, frames := r.Stream("POST", th+"/runs/stream", `{"assistant_id":"a","input":"hi","stream_mode":["values","updates","custom","debug"]}`, 0)
		shown += fmt.Sprint(frames, r.Get(th+"/state"), r.Get(th+"/history"), r.Get(th+"/runs"), r.Get(th))
		if strings.Contains(shown, "apbridge-run_") || name != "nonsense" && !strings.Contains(shown, "[hidden]") {
			t.Errorf("%s: the token is visible in %s", name, shown)
		}
		wantNoTokenLogged(t, r)
	}
}

// TestTokensAreLimitedToTheirTenant checks that a token gives access to the store of the tenant whose key created the
// run, within that key's limits.
func TestTokensAreLimitedToTheirTenant(t *testing.T) {
	t.Parallel()
	frames := []string{`metadata {"run_id":"{{run}}","attempt":1}`}
	c := &reader{Handler: &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{{Frames: frames, Hang: true, State: `{"values":{},"next":[]}`}}}}
	text := strings.Replace(confined, "{url: $A", `{dialect: threadrun, assistant: agent, memory: {namespaces: [users], allow_writes: true, store_url: "http://bridge.example"}, url: $A`, 1)
	r := rig.Configured(t, text, map[string]http.Handler{"a": c}, rig.KeyEnviron...)
	for _, ns := range []string{"a", "b"} {
		r.Do("PUT", "/store/items", `{"namespace":["users","`+ns+`"],"key":"k","value":{"of":"`+ns+`"}}`, "X-Api-Key", rig.KeyA).Want(t, 204)
	}
	r.Do("POST", "/runs", `{"agent_id":"a","input":"hi"}`, "X-Api-Key", rig.KeyB).Want(t, 200)
	rig.Eventually(t, "the agent has its token", func() bool { return c.token() != "" })
	got := r.Do("POST", "/store/items/search", `{}`, "X-Api-Key", c.token()).Want(t, 200, `"of":"b"`)
	if strings.Contains(got.String(), `"of":"a"`) {
		t.Errorf("found %s", got)
	}
	r.Do("PUT", "/store/items", `{"namespace":["users","a"],"key":"k","value":{}}`, "X-Api-Key", c.token()).Want(t, 403, "users/b")
	r.Do("PUT", "/store/items", `{"namespace":["users","b"],"key":"k","value":{}}`, "X-Api-Key", c.token()).Want(t, 204)
	r.Do("GET", "/threads/00000000-0000-4000-8000-000000000000", "", "X-Api-Key", c.token()).Want(t, 403, "forbidden")
	forged := c.token()[:len(c.token())-4] + "AAAA"
	r.Do("POST", "/store/items/search", `{}`, "X-Api-Key", forged).Want(t, 401)
}

// reader is an agent that records its token.
type reader struct {
	http.Handler
	mu   sync.Mutex
	seen string
}

func (c *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if token := rig.TextBetween(string(body), `"token":"`, `"`); token != "" {
		c.mu.Lock()
		c.seen = token
		c.mu.Unlock()
	}
	c.Handler.ServeHTTP(w, r)
}

func (c *reader) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}
