package matrix

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// secretOfA is a text in every object of tenant A.
const secretOfA = "belongs-to-alice"

// belongings has the ids of tenant A's objects by the names of route variables.
type belongings struct {
	*rig.Bridge
	ids map[string]string
}

func (e *belongings) as(key, method, path, body string, headers ...string) rig.Answer {
	e.T.Helper()
	return e.Do(method, path, body, append([]string{"X-Api-Key", key}, headers...)...)
}

// put sends a request.
func (e *belongings) put(key, method, path string, a ask) rig.Answer {
	e.T.Helper()
	if !a.endless {
		return e.as(key, method, path, a.body, a.headers...)
	}
	req, err := http.NewRequestWithContext(e.T.Context(), method, e.URL+path, strings.NewReader(a.body))
	if err != nil {
		e.T.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	for i := 0; i+1 < len(a.headers); i += 2 {
		req.Header.Set(a.headers[i], a.headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		e.T.Fatal(err)
	}
	res.Body.Close()
	return rig.Answer{Status: res.StatusCode, Header: res.Header}
}

// newEstate starts a bridge on which A's key may use agent a, and creates objects of A.
func newEstate(t *testing.T, yaml string) *belongings {
	agent := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"` + secretOfA + ` one"`, Files: [][2]string{{secretOfA + ".txt", secretOfA}}}, {Output: `"two"`, Last: true},
	}}
	r := rig.Configured(t, yaml, map[string]http.Handler{"a": agent}, rig.KeyEnviron...)
	e := &belongings{r, map[string]string{"agent": "a", "agent_id": "a", "namespace": "x", "mine": "a"}}
	v1 := "/ap/v1/agent/tasks"
	e.ids["task"] = e.as(rig.KeyA, "POST", v1, `{"input":"`+secretOfA+`"}`).Want(t, 200).Member("task_id")
	for range 2 {
		e.ids["step"] = e.as(rig.KeyA, "POST", v1+"/"+e.ids["task"]+"/steps", "").Want(t, 200).Member("step_id")
	}
	arts := e.as(rig.KeyA, "GET", v1+"/"+e.ids["task"]+"/artifacts", "").Want(t, 200, secretOfA)
	e.ids["artifact"] = rig.TextBetween(arts.String(), `"artifact_id":"`, `"`)
	e.ids["thread_id"], e.ids["topic"] = e.ids["task"], e.ids["task"]
	e.ids["run_id"] = rig.TextBetween(e.as(rig.KeyA, "GET", "/threads/"+e.ids["task"]+"/runs", "").Want(t, 200).String(), `"run_id":"`, `"`)
	e.ids["checkpoint_id"] = rig.TextBetween(e.as(rig.KeyA, "GET", "/threads/"+e.ids["task"]+"/state", "").Want(t, 200, secretOfA).String(), `"checkpoint_id":"`, `"`)
	e.ids["interaction"] = rig.TextBetween(e.as(rig.KeyA, "GET", "/ap/v2/topics/"+e.ids["topic"]+"/interactions", "").Want(t, 200).String(), `"interaction_id":"`, `"`)
	cron := `{"assistant_id":"a","schedule":"0 0 1 1 *","input":"` + secretOfA + `"}`
	e.ids["cron_id"] = e.as(rig.KeyA, "POST", "/runs/crons", cron).Want(t, 200).Member("cron_id")
	e.ids["assistant_id"] = e.as(rig.KeyA, "POST", "/assistants", `{"graph_id":"a","name":"`+secretOfA+`"}`).Want(t, 200).Member("assistant_id")
	e.as(rig.KeyA, "PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"v":"`+secretOfA+`"}}`).Want(t, 204)
	e.ids["config"] = e.as(rig.KeyA, "POST", "/a2a/a/tasks/"+e.ids["task"]+"/pushNotificationConfigs", aHook).Want(t, 200).Member("id")
	for name, id := range e.ids {
		if id == "" {
			t.Fatalf("tenant A has no %s", name)
		}
	}
	return e
}

// aHook is a push notification configuration.
const aHook = `{"id":"` + secretOfA + `","url":"https://receiver.example/hook"}`

// ask is a request for an object of tenant A on a route.
type ask struct {
	query, body string
	headers     []string
	// own is set if the request names no object of A, or only ids that would become the caller's own. It succeeds and
	// returns nothing of A.
	own bool
	// endless is set if the response continues until the client disconnects. The test disconnects at once.
	endless bool
}

// asks holds the requests for routes that need a body or a query. A name in braces is replaced by an id, and {mine} by an
// agent that the caller may use.
var asks = map[string]ask{
	"POST /runs":                      {body: `{"assistant_id":"{mine}","thread_id":"{thread_id}","input":"x"}`},
	"POST /runs/wait":                 {body: `{"assistant_id":"{mine}","thread_id":"{thread_id}","input":"x"}`},
	"POST /runs/stream":               {body: `{"assistant_id":"{mine}","thread_id":"{thread_id}","input":"x"}`},
	"POST /runs/batch":                {body: `[{"assistant_id":"{mine}","thread_id":"{thread_id}","input":"x"}]`},
	"POST /runs/cancel":               {body: `{"thread_id":"{thread_id}","run_ids":["{run_id}"]}`},
	"POST /runs/search":               {body: `{"thread_id":"{thread_id}"}`},
	"POST /threads":                   {body: `{"thread_id":"{thread_id}","if_exists":"do_nothing"}`, own: true},
	"POST /threads/search":            {body: `{"ids":["{thread_id}"]}`, own: true},
	"POST /threads/count":             {body: `{"metadata":{"graph_id":"a"}}`, own: true},
	"POST /threads/prune":             {body: `{"thread_ids":["{thread_id}"]}`, own: true},
	"GET /threads/{thread_id}/stream": {endless: true},
	// A stream waits for a thread that does not exist yet, and the response to a command describes the error.
	"POST /threads/{thread_id}/stream":            {body: `{"channels":["values"]}`, own: true, endless: true},
	"POST /threads/{thread_id}/stream/events":     {body: `{"channels":["values"]}`, own: true, endless: true},
	"GET /threads/{thread_id}/stream/events":      {own: true}, // a WebSocket
	"POST /threads/{thread_id}/commands":          {body: `{"id":1,"method":"state.get"}`, own: true},
	"POST /threads/{thread_id}/state":             {body: `{"values":{"k":1}}`},
	"POST /threads/{thread_id}/state/checkpoint":  {body: `{"checkpoint":{"checkpoint_id":"{checkpoint_id}"}}`},
	"PATCH /threads/{thread_id}":                  {body: `{"metadata":{"k":1}}`},
	"POST /threads/{thread_id}/runs":              {body: `{"assistant_id":"{mine}","input":"x"}`},
	"POST /threads/{thread_id}/runs/wait":         {body: `{"assistant_id":"{mine}","input":"x"}`},
	"POST /threads/{thread_id}/runs/stream":       {body: `{"assistant_id":"{mine}","input":"x"}`},
	"POST /runs/crons":                            {body: `{"assistant_id":"{mine}","schedule":"0 0 1 1 *"}`, own: true},
	"POST /threads/{thread_id}/runs/crons":        {body: `{"assistant_id":"{mine}","schedule":"0 0 1 1 *"}`},
	"PATCH /runs/crons/{cron_id}":                 {body: `{"enabled":false}`},
	"GET /store/items":                            {query: "?namespace=n&key=k&flavour=agentprotocol"},
	"PUT /store/items":                            {body: `{"namespace":["n"],"key":"k","value":{"v":"of bob"}}`, own: true},
	"DELETE /store/items":                         {body: `{"namespace":["n"],"key":"k"}`, own: true},
	"POST /store/items/search":                    {body: `{"namespace_prefix":["n"]}`, own: true},
	"POST /assistants":                            {body: `{"graph_id":"{mine}"}`, own: true},
	"POST /assistants/{assistant_id}/latest":      {body: `{"version":1}`},
	"PATCH /assistants/{assistant_id}":            {body: `{"description":"x"}`},
	"POST /store/namespaces":                      {own: true},
	"GET /data":                                   {query: "?owner=alice", own: true},
	"GET /data/export":                            {query: "?owner=alice", own: true},
	"DELETE /data":                                {query: "?owner=alice", own: true},
	"GET /inspect/events":                         {own: true, endless: true},
	"GET /inspect/overview/events":                {own: true, endless: true},
	"GET /inspect/runs/{run_id}/events":           {endless: true},
	"GET /inspect/threads/{thread_id}/events":     {endless: true},
	"GET /inspect/web/{file}":                     {own: true},
	"POST /inspect/agents/{agent}/try":            {body: "text=x&sure=yes", headers: isForm, own: true},
	"POST /inspect/threads/{thread_id}/answer":    {body: "question=x&words=x&sure=yes", headers: isForm},
	"POST /inspect/threads/{thread_id}/fork":      {body: "checkpoint={checkpoint_id}&agent={mine}&says=x&sure=yes", headers: isForm},
	"POST /inspect/runs/{run_id}/cancel":          {body: "sure=yes", headers: isForm},
	"POST /inspect/runs/{run_id}/again":           {body: "agent={mine}&where=thread&sure=yes", headers: isForm},
	"GET /inspect/threads/{thread_id}/difference": {query: "?to={checkpoint_id}"},
	"GET /inspect/compare":                        {query: "?a={run_id}&b={run_id}"},
	// The status of a JSON-RPC response with an error is 200.
	"POST /a2a/{agent}":                                      {body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"{task}"}}`, own: true},
	"POST /a2a/{agent}/":                                     {body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"{task}"}}`, own: true},
	"POST /a2a/{agent}/message:send":                         {body: aMessage},
	"POST /a2a/{agent}/message:stream":                       {body: aMessage},
	"GET /a2a/{agent}/tasks/{task}:subscribe":                {headers: []string{"Last-Event-ID", "1"}},
	"POST /a2a/{agent}/tasks/{task}:subscribe":               {headers: []string{"Last-Event-ID", "1"}},
	"POST /a2a/{agent}/tasks/{task}/pushNotificationConfigs": {body: aHook},
	"GET /ok":   {own: true},
	"GET /info": {own: true},
}

// aMessage is a message for an ended task of A.
const aMessage = `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"{task}","parts":[{"text":"x"}]}}`

// isForm is the content type of a browser's form.
var isForm = []string{"Content-Type", "application/x-www-form-urlencoded"}

// looked adds the ids that only routes of the inspector have, from the run that wrote a file.
func (e *belongings) looked() {
	e.T.Helper()
	thread := e.as(rig.KeyA, "GET", "/inspect/threads/"+e.ids["thread_id"], "").OK()
	e.ids["version"], e.ids["run_id"] = fmt.Sprintf("%.0f", thread.At("files.0.versions.0.version")), thread.Text("files.0.versions.0.run_id")
	run := e.as(rig.KeyA, "GET", "/inspect/runs/"+e.ids["run_id"], "").OK()
	e.ids["seq"], e.ids["n"] = fmt.Sprintf("%.0f", run.At("rows.0.seq")), fmt.Sprintf("%.0f", run.At("calls.0.n"))
	e.ids["part"], e.ids["side"], e.ids["form"], e.ids["index"], e.ids["file"] = "data", "sent", "ndjson", "0", "live.js"
}

// askOf returns the request for a route.
func askOf(m rig.Route) ask {
	if a, ok := asks[m.Method+" "+m.Path]; ok {
		return a
	}
	if _, path := rig.Documented(m); strings.HasPrefix(m.Path, rig.OldA2A) {
		a := askOf(rig.Route{Method: m.Method, Path: path})
		a.body = strings.Replace(a.body, `"parts"`, `"content"`, 1)
		return a
	}
	tail := m.Path
	if _, after, ok := strings.Cut(m.Path, "{agent}"); ok {
		tail = after
	}
	switch {
	case strings.HasPrefix(tail, "/agents/"), strings.HasSuffix(tail, "/heartbeat"):
		return ask{own: true} // agents belong to all tenants
	case strings.Contains(tail, "{"):
	default:
		return ask{own: true} // a list, or a creation
	}
	switch {
	case m.Method == "POST" && strings.HasSuffix(tail, "/interactions"):
		return ask{body: `{"input":"x"}`}
	case m.Method == "POST" && strings.HasSuffix(tail, "/artifacts"):
		return ask{
			body:    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\nx\r\n--b--\r\n",
			headers: []string{"Content-Type", "multipart/form-data; boundary=b"},
		}
	}
	return ask{}
}

// TestTenantsNeverMeet requests tenant A's objects as tenant B on every route and gets nothing. Tenant A then sends the
// same requests, to show that they are valid.
func TestTenantsNeverMeet(t *testing.T) {
	t.Parallel()
	e := newEstate(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1))
	routes := inOrder(rig.Routes(t))
	for _, m := range routes {
		e.asB(t, m)
	}
	e.unharmed(t)
	for _, m := range routes {
		e.asA(t, m)
	}
}

func inOrder(routes []rig.Route) []rig.Route {
	slices.SortStableFunc(routes, func(a, b rig.Route) int { return cmp.Compare(weight(a), weight(b)) })
	return routes
}

// weight puts routes that change nothing first, and those that remove something last.
func weight(m rig.Route) int {
	switch {
	case m.Method == "DELETE", strings.HasSuffix(m.Path, "/prune"):
		return 2
	case m.Method != "GET":
		return 1
	}
	return 0
}

func (e *belongings) fill(t *testing.T, m rig.Route) (path string, a ask) {
	t.Helper()
	a = askOf(m)
	path, missing := m.Fill(e.ids)
	if missing != "" {
		t.Fatalf("%s %s: {%s} is unknown; add it to the belongings", m.Method, m.Path, missing)
	}
	for name, id := range e.ids {
		a.body = strings.ReplaceAll(a.body, "{"+name+"}", id)
	}
	if a.body == "" && m.Method != "GET" && !strings.HasSuffix(m.Path, "/steps") {
		a.body = "{}"
	}
	for name, id := range e.ids {
		a.query = strings.ReplaceAll(a.query, "{"+name+"}", id)
	}
	return path + a.query, a
}

func (e *belongings) asB(t *testing.T, m rig.Route) {
	t.Helper()
	e.unseen(t, rig.KeyB, m)
}

// unseen checks that a route returns nothing of A to a caller with this key.
func (e *belongings) unseen(t *testing.T, key string, m rig.Route) {
	t.Helper()
	path, a := e.fill(t, m)
	if strings.HasPrefix(m.Path, "/threads") && a.own && strings.Contains(a.body, "do_nothing") {
		return // would give B a thread of that name; see unharmed
	}
	got := e.put(key, m.Method, path, a)
	what := m.Method + " " + path
	if strings.Contains(got.String(), secretOfA) {
		t.Errorf("%s returns an object of A: %d %s", what, got.Status, got.String())
	}
	confined := key == keyOfCarol && shared(m) && got.Status == 403 // namespaces are no secret
	if !a.own && got.Status != 404 && !emptyList(got) && !confined {
		t.Errorf("%s: %d %s, want 404", what, got.Status, got.String())
	}
	if a.own {
		for _, name := range []string{"run_id", "step", "artifact", "checkpoint_id"} {
			if strings.Contains(got.String(), e.ids[name]) {
				t.Errorf("%s returns A's %s: %s", what, name, got.String())
			}
		}
	}
}

func emptyList(got rig.Answer) bool {
	return got.Status == 200 && (got.String() == "[]" || got.String() == `{"runs":[]}`)
}

// unharmed checks that A's objects are unchanged, and that B may have objects of the same names.
func (e *belongings) unharmed(t *testing.T) {
	t.Helper()
	th := "/threads/" + e.ids["thread_id"]
	e.as(rig.KeyA, "GET", th+"/state", "").Want(t, 200, secretOfA)
	if got := e.as(rig.KeyA, "GET", th+"/state", ""); strings.Contains(got.String(), `"k":1`) {
		t.Errorf("B changed A's state: %s", got.String())
	}
	e.as(rig.KeyA, "GET", "/ap/v1/agent/tasks/"+e.ids["task"]+"/artifacts/"+e.ids["artifact"], "").Want(t, 200, secretOfA)
	e.as(rig.KeyA, "GET", "/store/items?namespace=n&key=k", "").Want(t, 200, secretOfA)
	first := e.as(rig.KeyA, "POST", "/runs", `{"input":"x"}`, "Idempotency-Key", "same").Want(t, 200).Member("run_id")
	second := e.as(rig.KeyB, "POST", "/runs", `{"input":"x"}`, "Idempotency-Key", "same").Want(t, 200).Member("run_id")
	if first == second || first == "" {
		t.Errorf("an idempotency key of A's gave B run %s", second)
	}
	got := e.as(rig.KeyB, "POST", "/threads", `{"thread_id":"`+e.ids["thread_id"]+`","if_exists":"do_nothing"}`)
	if strings.Contains(got.String(), secretOfA) || got.Status != 200 {
		t.Errorf("a thread of the same name: %d %s", got.Status, got.String())
	}
	e.as(rig.KeyB, "DELETE", th, "").Want(t, 204)
	e.as(rig.KeyA, "GET", th, "").Want(t, 200, secretOfA)
}

func (e *belongings) asA(t *testing.T, m rig.Route) {
	t.Helper()
	e.seen(t, rig.KeyA, m)
}

// seen checks that the request succeeds for a caller with this key, who may see A's objects.
func (e *belongings) seen(t *testing.T, key string, m rig.Route) {
	t.Helper()
	path, a := e.fill(t, m)
	if a.own {
		return
	}
	got := e.put(key, m.Method, path, a)
	if got.Status == 404 && strings.Contains(got.String(), "not_supported") {
		return // refused to every tenant
	}
	if strings.Contains(got.String(), "TASK_NOT_CANCELABLE") || strings.Contains(got.String(), "UNSUPPORTED_OPERATION") {
		return // it has ended
	}
	gone := weight(m) == 2 // an earlier DELETE took it along
	if got.Status/100 != 2 && got.Status != 409 && !gone {
		t.Errorf("%s %s: even A gets %d %s", m.Method, path, got.Status, got.String())
	}
}
