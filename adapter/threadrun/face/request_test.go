package face

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// send posts a body and returns the status.
func send(t *testing.T, method, url, body string, headers ...string) int {
	t.Helper()
	req, _ := http.NewRequest(method, url, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// Every documented field of a request for a run changes the started run or is a hint that is only checked. A field
// without a row fails the test.
func TestEveryRunFieldCounts(t *testing.T) {
	t.Parallel()
	cp := uuid(7)
	effects := map[string]struct {
		body string
		want func(n adapter.RunRequest) bool
	}{
		"input":    {`"hi"`, func(n adapter.RunRequest) bool { return string(n.Input) == `"hi"` && n.HasInput }},
		"messages": {`[{"role":"user","content":"x"}]`, func(n adapter.RunRequest) bool { return n.Messages != nil && n.HasInput }},
		"command": {`{"resume":null,"update":{"a":1},"goto":"x"}`, func(n adapter.RunRequest) bool {
			return n.Command.HasResume && n.Command.Update != nil && n.Command.Goto != nil
		}},
		"config":             {`{"tags":["t"],"recursion_limit":3,"configurable":{}}`, func(n adapter.RunRequest) bool { return len(n.Config) > 10 }},
		"context":            {`{"a":1}`, func(n adapter.RunRequest) bool { return n.Context != nil }},
		"metadata":           {`{"a":1}`, func(n adapter.RunRequest) bool { return string(n.Metadata) == `{"a":1}` }},
		"stream_mode":        {`["updates"]`, func(n adapter.RunRequest) bool { return slices.Equal(n.StreamModes, []string{"updates"}) }},
		"stream_subgraphs":   {`true`, func(n adapter.RunRequest) bool { return n.Subgraphs }},
		"assistant_id":       {`"graph"`, func(n adapter.RunRequest) bool { return n.Agent == "graph" && n.Flavour == render.FlavourLangGraph }},
		"agent_id":           {`"graph"`, func(n adapter.RunRequest) bool { return n.Agent == "graph" && n.Flavour == render.FlavourAgentProtocol }},
		"thread_id":          {`"` + uuid(8) + `"`, func(n adapter.RunRequest) bool { return n.ThreadID == uuid(8) && !n.Temporary && !n.DeleteAfter }},
		"interrupt_before":   {`"*"`, func(n adapter.RunRequest) bool { return slices.Equal(n.InterruptBefore, []string{"*"}) }},
		"interrupt_after":    {`["a","b"]`, func(n adapter.RunRequest) bool { return len(n.InterruptAfter) == 2 }},
		"checkpoint":         {`{"checkpoint_ns":"","checkpoint_id":"` + cp + `"}`, func(n adapter.RunRequest) bool { return n.CheckpointID == cp }},
		"checkpoint_id":      {`"` + strings.ToUpper(cp) + `"`, func(n adapter.RunRequest) bool { return n.CheckpointID == cp }},
		"webhook":            {`"https://h.example/x?y=1"`, func(n adapter.RunRequest) bool { return n.Webhook == "https://h.example/x?y=1" }},
		"multitask_strategy": {`"interrupt"`, func(n adapter.RunRequest) bool { return n.Multitask == mapping.StrategyInterrupt }},
		"on_completion":      {`"keep"`, func(n adapter.RunRequest) bool { return !n.Temporary && !n.DeleteAfter }},
		"after_seconds":      {`30`, func(n adapter.RunRequest) bool { return n.RunAfter == 30*time.Second }},
		"if_not_exists":      {`"create"`, func(n adapter.RunRequest) bool { return n.IfNotExists == "create" }},
		// Tested by TestClientThatLeaves.
		"on_disconnect": {`"continue"`, func(adapter.RunRequest) bool { return true }},
		// Hints have no effect here.
		"stream_resumable":  {`true`, hint},
		"feedback_keys":     {`["k"]`, hint},
		"checkpoint_during": {`true`, hint},
		"durability":        {`"async"`, hint},
		"langsmith_tracer":  {`{"project_name":"p"}`, hint},
		"strict_resume":     {`true`, hint},
	}
	for _, name := range runFields {
		effect, ok := effects[name]
		if !ok {
			t.Errorf("%s has no row", name)
			continue
		}
		f := newFake()
		if st := send(t, "POST", f.serve(t).URL+"/runs", `{"`+name+`":`+effect.body+`}`); st != 200 || !effect.want(f.lastRun) {
			t.Errorf("%s: %d %+v", name, st, f.lastRun)
		}
		if d := cmp.Diff([]string{name}, f.lastRun.Fields); d != "" {
			t.Errorf("%s: fields: %s", name, d)
		}
		kept := slices.Contains(keptFields, name)
		if got := string(f.lastRun.Kwargs); kept != strings.Contains(got, `"`+name+`":`+effect.body) {
			t.Errorf("%s: kwargs %s", name, got)
		}
	}
}

func hint(n adapter.RunRequest) bool { return len(n.Fields) == 1 }

func TestFlavours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, body string
		flavour    mapping.Flavour
		agent      string
		temporary  bool
		deletes    bool
	}{
		{"/runs/wait", `{}`, render.FlavourAgentProtocol, "", true, false},
		{"/runs/wait", `{"agent_id":"graph"}`, render.FlavourAgentProtocol, "graph", true, false},
		{"/runs/wait", `{"assistant_id":"graph","agent_id":"legacy"}`, render.FlavourLangGraph, "graph", true, false},
		{"/runs/wait", `{"assistant_id":null}`, render.FlavourAgentProtocol, "", true, false},
		{aThread + "/runs/wait", `{}`, render.FlavourLangGraph, "", false, false},
		{aThread + "/runs/wait", `{"agent_id":"graph"}`, render.FlavourAgentProtocol, "graph", false, false},
		{"/runs/wait", `{"on_completion":"delete"}`, render.FlavourAgentProtocol, "", false, true},
	} {
		f := newFake()
		if st := send(t, "POST", f.serve(t).URL+c.path, c.body, "Idempotency-Key", "k1", "X-Apbridge-Retries", "2"); st != 200 {
			t.Errorf("%s %s: %d", c.path, c.body, st)
		}
		n := f.lastRun
		if n.Flavour != c.flavour || n.Agent != c.agent || n.Temporary != c.temporary || n.DeleteAfter != c.deletes || n.IdempotencyKey != "k1" || n.Retries != 2 || !n.RetriesSet {
			t.Errorf("%s %s: %+v", c.path, c.body, n)
		}
	}
}

func TestQueriesReachTheService(t *testing.T) {
	t.Parallel()
	minute, yes, no := 90*time.Second, true, false
	for _, c := range []struct {
		method, path, body string
		want               any
	}{
		{"POST", "/threads", `{"ttl":1.5,"supersteps":[{"updates":[{"values":{"a":1},"as_node":"n"},{"command":{"update":{"b":2}}}]}]}`,
			adapter.ThreadRequest{TTL: minute, Supersteps: []adapter.Superstep{{Updates: []adapter.StateUpdate{{Values: raw(`{"a":1}`), AsNode: "n"}, {Values: raw(`{"b":2}`)}}}}}},
		{"POST", "/threads", `{"supersteps":[{"updates":[{"values":[{"a":1},{"b":2}],"command":{"graph":null,"update":null,"resume":null,"goto":[]}}]}]}`,
			adapter.ThreadRequest{Supersteps: []adapter.Superstep{{Updates: []adapter.StateUpdate{{Values: raw(`{"a":1}`), Then: []json.RawMessage{raw(`{"b":2}`)}}}}}}},
		{"POST", "/threads", `{"supersteps":[{"updates":[{"values":{"a":1},"command":{"update":{"b":2}}},{"values":{"a":1},"command":{"goto":"n"}}]}]}`,
			adapter.ThreadRequest{Supersteps: []adapter.Superstep{{Updates: []adapter.StateUpdate{{Values: raw(`{"b":2}`)}, {Command: raw(`{"goto":"n"}`)}}}}}},
		{"PATCH", aThread, `{"metadata":{"a":1},"values":{"b":2},"checkpoint":{"checkpoint_id":"` + uuid(3) + `"},"ttl":{"ttl":1.5,"strategy":"delete"}}`,
			adapter.ThreadPatch{Metadata: raw(`{"a":1}`), Values: raw(`{"b":2}`), Checkpoint: uuid(3), TTL: &minute}},
		{"POST", "/threads/search", `{"metadata":{"a":1},"values":{"b":1},"status":"idle","ids":["` + uuid(1) + `"],"limit":5,"offset":2,"sort_by":"status","sort_order":"asc","select":["thread_id"]}`,
			adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{IDs: []string{uuid(1)}, Metadata: raw(`{"a":1}`), Status: "idle", SortBy: mapping.SortByStatus, Asc: true, Limit: 5, Offset: 2}, Values: raw(`{"b":1}`), NoValues: true}},
		{"PATCH", aThread, `{"ttl":{"ttl":1.5,"strategy":"keep_latest"}}`, adapter.ThreadPatch{TTL: &minute, KeepLatest: true}},
		{"POST", "/threads", `{"ttl":{"ttl":1.5,"strategy":"keep_latest"}}`, adapter.ThreadRequest{TTL: minute, KeepLatest: true}},
		{"POST", "/threads/search", `{"sort_by":"state_updated_at"}`, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{SortBy: mapping.SortByUpdated, Limit: 10}}},
		{"POST", "/threads/search", ``, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{Limit: 10}}},
		{"POST", aThread + "/state", `{"values":{"a":1},"as_node":"n","checkpoint":{"checkpoint_id":"` + uuid(3) + `"}}`,
			adapter.StateUpdate{Values: raw(`{"a":1}`), AsNode: "n", CheckpointID: uuid(3)}},
		{"GET", aThread + "/history?limit=3&before=" + uuid(4), ``, adapter.HistoryQuery{Limit: 3, Before: uuid(4), Tasks: true}},
		{"POST", aThread + "/history", `{"before":"` + uuid(4) + `","checkpoint":{"checkpoint_id":"` + uuid(5) + `"},"metadata":{"a":1}}`,
			adapter.HistoryQuery{Limit: 10, Before: uuid(4), At: uuid(5), Metadata: raw(`{"a":1}`), Tasks: true}},
		{"GET", aThread + "/state/" + strings.ToUpper(uuid(4)), ``, uuid(4)},
		{"GET", aThread + "/runs?status=running&limit=4&offset=1", ``, mapping.RunQuery{ThreadID: uuid(500), Status: []mapping.RunStatus{"running"}, Limit: 4, Offset: 1}},
		{"POST", "/runs/search", `{"agent_id":"graph","metadata":{"a":1},"status":"error"}`, mapping.RunQuery{Agent: "graph", Metadata: raw(`{"a":1}`), Status: []mapping.RunStatus{"error"}, Limit: 10}},
		{"POST", "/assistants/search", `{"name":"x","graph_id":"g","metadata":{"a":1},"sort_by":"name","sort_order":"asc","limit":1,"offset":1}`,
			adapter.AgentQuery{Name: "x", Graph: "g", Metadata: raw(`{"a":1}`), SortBy: mapping.SortByName, Asc: true, Limit: 1, Offset: 1}},
		{"POST", "/agents/search", `{"name":"x"}`, adapter.AgentQuery{Name: "x", Exact: true, Limit: 10}},
		{"PUT", "/store/items", `{"namespace":["a","b"],"key":"k","value":{"v":1},"index":["v"],"ttl":1.5}`,
			adapter.PutItem{Namespace: []string{"a", "b"}, Key: "k", Value: raw(`{"v":1}`), Index: raw(`["v"]`), TTL: minute}},
		{"PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"ttl":1e-12}`,
			adapter.PutItem{Namespace: []string{"a"}, Key: "k", Value: raw(`{}`), TTL: time.Microsecond}},
		{"POST", "/store/items/search", `{"namespace_prefix":["a"],"filter":{"v":{"$gt":0}},"query":"q","search_by":"meaning","sort_by":"score","sort_order":"asc","limit":2,"offset":1,"refresh_ttl":true}`,
			adapter.ItemQuery{Prefix: []string{"a"}, Filter: raw(`{"v":{"$gt":0}}`), Query: "q", SearchBy: mapping.SearchByMeaning, SortBy: mapping.SortByScore, Asc: true, Limit: 2, Offset: 1, RefreshTTL: &yes}},
		{"GET", "/store/items?namespace=a.b&key=k&refresh_ttl=true", ``, itemRead{[]string{"a", "b"}, "k", &yes}},
		{"GET", "/store/items?namespace=a.b&key=k", ``, itemRead{[]string{"a", "b"}, "k", nil}},
		{"GET", "/store/items?namespace=a.b&key=k&refresh_ttl=0", ``, itemRead{[]string{"a", "b"}, "k", &no}},
		{"POST", "/store/namespaces", `{"prefix":["a","*"],"suffix":["z"],"max_depth":2}`,
			adapter.NamespaceQuery{Prefix: []string{"a", "*"}, Suffix: []string{"z"}, MaxDepth: 2, Limit: 100}},
	} {
		f := newFake()
		f.prepare("thread: {}\nrun: legacy")
		f.items = []mapping.Item{{Namespace: []string{"a", "b"}, Key: "k", Value: raw(`{}`)}}
		st := send(t, c.method, f.serve(t).URL+c.path, c.body)
		if d := cmp.Diff(c.want, f.lastQuery); d != "" || st >= 300 {
			t.Errorf("%s %s: %d %s", c.method, c.path, st, d)
		}
	}
}

func TestPatchMessages(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.prepare("thread: {}")
	send(t, "PATCH", f.serve(t).URL+aThread, `{"messages":[{"role":"user","content":"hi","id":"m1"},{"role":"assistant","content":"yo"}]}`)
	p, _ := f.lastQuery.(adapter.ThreadPatch)
	if len(p.Messages) != 2 || rawjson.GetText(p.Messages[0], "type") != "human" || rawjson.GetText(p.Messages[0], "id") != "m1" || rawjson.GetText(p.Messages[1], "id") == "" {
		t.Errorf("got %s", p.Messages)
	}
}

// The Agent Protocol has no "running", so it searches both active statuses.
func TestSearchPending(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.script = func(mapping.Run) []mapping.Event { return nil }
	for i, st := range []mapping.RunStatus{mapping.RunRunning, mapping.RunPending, mapping.RunSuccess, mapping.RunPending} {
		f.addRun(mapping.Run{ID: uuid(i), ThreadID: uuid(50), Status: st, CreatedAt: at.Add(time.Duration(i) * time.Second)}, -1)
	}
	srv := f.serve(t)
	res, err := http.Post(srv.URL+"/runs/search", "application/json", strings.NewReader(`{"status":"pending","limit":2,"offset":1}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got []struct {
		ID     string `json:"run_id"`
		Status string
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].ID != uuid(1) || got[1].ID != uuid(0) || got[1].Status != "pending" {
		t.Errorf("got %+v", got)
	}
}

// The router tries routes in order, so the most frequent ones must come first.
func TestBusyRoutesComeFirst(t *testing.T) {
	t.Parallel()
	want := []string{
		"POST /runs/wait", "POST /runs/stream", "POST /threads/{thread_id}/runs/wait", "POST /threads/{thread_id}/runs/stream",
		"POST /threads", "POST /threads/{thread_id}/runs", "GET /threads/{thread_id}", "GET /threads/{thread_id}/runs/{run_id}", "GET /threads/{thread_id}/state",
	}
	endpoints := new(server).endpoints()
	for i, w := range want {
		if got := endpoints[i].method + " " + endpoints[i].path; got != w {
			t.Errorf("route %d is %s, want %s", i, got, w)
		}
	}
}

func TestEveryEndpointIsReached(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.prepare("thread: {}\nrun: legacy")
	srv := f.serve(t)
	fill := strings.NewReplacer("{thread_id}", uuid(500), "{run_id}", uuid(600), "{assistant_id}", "legacy", "{agent_id}", "legacy",
		"{checkpoint_id}", uuid(51), "{namespace}", "n", "{cron_id}", uuid(9))
	check := func(method, path string, refused bool) {
		req, _ := http.NewRequest(method, srv.URL+fill.Replace(path), strings.NewReader("{}"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Code string }
		_ = json.NewDecoder(res.Body).Decode(&body)
		res.Body.Close()
		if body.Code == mapping.CodeRouteNotFound || res.StatusCode == 405 || (body.Code == mapping.CodeNotSupported) != refused {
			t.Errorf("%s %s: %d %s", method, path, res.StatusCode, body.Code)
		}
		if res.StatusCode >= 500 {
			t.Errorf("%s %s answers %d, which SDKs retry", method, path, res.StatusCode)
		}
	}
	for _, e := range new(server).endpoints() {
		if e.method != "DELETE" {
			check(e.method, e.path, false)
		}
	}
	for _, u := range unsupported {
		check(u.method, u.path, true)
	}
}

func TestErrorStatuses(t *testing.T) {
	t.Parallel()
	for class, want := range map[mapping.Class]int{
		mapping.Invalid: 422, mapping.Malformed: 400, mapping.NotFound: 404, mapping.Conflict: 409, mapping.TooLarge: 413, mapping.TooSlow: 408,
		mapping.Unsupported: 415, mapping.NotAllowed: 405, mapping.Unauthorized: 401, mapping.Forbidden: 403, mapping.Limited: 429,
		mapping.Unavailable: 503, mapping.StorageFull: 507, mapping.Upstream: 502, mapping.Timeout: 504, mapping.Internal: 500, "new": 500,
	} {
		f := newFake()
		f.startErr = mapping.Errorf(class, "some_code", "It did not work.")
		srv := f.serve(t)
		if got := send(t, "POST", srv.URL+"/runs/wait", `{}`); got != want {
			t.Errorf("%s: %d, want %d", class, got, want)
		}
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	run := mapping.Run{
		ID: uuid(1), ThreadID: uuid(2), Agent: "legacy", AssistantID: uuid(3), Status: mapping.RunRunning, Metadata: raw(`{"m":1}`),
		Kwargs: raw(`{}`), CreatedAt: at, UpdatedAt: at, StartedAt: at, EndedAt: at.Add(time.Second),
	}
	fault := &mapping.Fault{Code: "upstream_error", Message: "It broke."}
	got, err := render.WebhookBody(run, mapping.Outcome{Status: mapping.RunError, Fault: fault}, raw(`{"messages":[]}`))
	want := `{"run_id":"` + uuid(1) + `","thread_id":"` + uuid(2) + `","assistant_id":"` + uuid(3) + `","agent_id":"legacy","metadata":{"m":1},"status":"error","kwargs":{},` +
		`"multitask_strategy":"reject","created_at":"2026-11-21T08:00:00.000Z","updated_at":"2026-11-21T08:00:00.000Z","error":"It broke.","error_code":"upstream_error",` +
		`"run_started_at":"2026-11-21T08:00:00.000Z","run_ended_at":"2026-11-21T08:00:01.000Z","webhook_sent_at":"2026-11-21T08:00:01.000Z","values":{"messages":[]}}`
	if d := cmp.Diff(want, string(got)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// Status "all" cancels all runs, however many there are.
func TestCancelOfMoreRunsThanAPage(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.script = func(mapping.Run) []mapping.Event { return nil }
	const many = 2100
	f.cancelled = make(chan string, many)
	for range many {
		f.addRun(mapping.Run{ID: mapping.NewID(), ThreadID: uuid(50), Status: mapping.RunPending}, -1)
	}
	if st := send(t, "POST", f.serve(t).URL+"/runs/cancel", `{"status":"all"}`); st != 204 || len(f.cancelled) != many {
		t.Errorf("%d, and %d of %d runs cancelled", st, len(f.cancelled), many)
	}
}

// withGone lists, before all others, a run that is deleted before it is cancelled.
type withGone struct{ adapter.Service }

func (x withGone) ListRuns(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	return func(yield func(mapping.Run, error) bool) {
		if !yield(mapping.Run{ID: uuid(404), ThreadID: uuid(50)}, nil) {
			return
		}
		x.Service.ListRuns(ctx, q)(yield)
	}
}

// A run that ends and is deleted in the meantime does not prevent the others from being cancelled.
func TestCancelOfAllWhileOneGoes(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.script = func(mapping.Run) []mapping.Event { return nil }
	f.cancelled = make(chan string, 2)
	f.addRun(mapping.Run{ID: uuid(1), ThreadID: uuid(50), Status: mapping.RunPending}, -1)
	srv := f.serve(t, func(s *server) { s.svc = withGone{s.svc} })
	if st := send(t, "POST", srv.URL+"/runs/cancel", `{"status":"all"}`); st != 204 || len(f.cancelled) != 1 {
		t.Errorf("%d, and %d runs cancelled", st, len(f.cancelled))
	}
	f.addRun(mapping.Run{ID: uuid(2), ThreadID: uuid(50), Status: mapping.RunPending}, -1)
	if st := send(t, "POST", srv.URL+"/runs/cancel", `{"status":"all","run_ids":[]}`); st != 204 || len(f.cancelled) != 2 {
		t.Errorf("with an empty list: %d, and %d runs cancelled", st, len(f.cancelled))
	}
	if st := send(t, "POST", srv.URL+"/runs/cancel", `{"thread_id":"`+uuid(50)+`","run_ids":["`+uuid(404)+`"]}`); st != 404 {
		t.Errorf("a named run that does not exist: %d", st)
	}
}

// TestCommandOfRemoteGraph checks a command of RemoteGraph, which sends every member, even unused ones.
func TestCommandOfRemoteGraph(t *testing.T) {
	t.Parallel()
	for body, goesTo := range map[string]string{
		`{"resume":"forty-two","goto":[]}`:                              "",
		`{"lg_name":"Command","resume":"forty-two","goto":[]}`:          "",
		`{"graph":null,"update":null,"resume":"forty-two","goto":""}`:   "",
		`{"graph":null,"update":null,"resume":"forty-two","goto":null}`: "",
		`{"resume":"forty-two","goto":[ ]}`:                             "",
		`{"resume":"forty-two","goto":["act"]}`:                         `["act"]`,
		`{"resume":"forty-two","goto":{"node":"act","input":[]}}`:       `{"node":"act","input":[]}`,
	} {
		f := newFake()
		f.addThread(uuid(8), "")
		srv := f.serve(t)
		code := send(t, "POST", srv.URL+"/threads/"+uuid(8)+"/runs/wait", `{"assistant_id":"graph","command":`+body+`}`)
		cmd := f.lastRun.Command
		if code != 200 || cmd == nil || string(cmd.Resume) != `"forty-two"` || cmd.Update != nil || string(cmd.Goto) != goesTo {
			t.Errorf("%s: %d, %+v", body, code, cmd)
		}
	}
	f := newFake()
	f.addThread(uuid(8), "")
	if code := send(t, "POST", f.serve(t).URL+"/threads/"+uuid(8)+"/runs/wait", `{"command":{"resume":1,"graph":"__parent__"}}`); code != 422 {
		t.Errorf("a command to another graph: %d", code)
	}
}

// A key that is not text is refused wherever it is sent, and nothing is created.
func TestIdempotencyKeyIsText(t *testing.T) {
	t.Parallel()
	f := newFake()
	srv := f.serve(t)
	for _, path := range []string{"/threads", "/runs", "/runs/wait", "/runs/batch", aThread + "/runs", "/runs/crons"} {
		if status := send(t, "POST", srv.URL+path, `{}`, "Idempotency-Key", "\xff"); status != 422 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if len(f.written) > 0 {
		t.Errorf("something was written: %v", f.written)
	}
}

// A run must only refer to the parts of its request that it keeps, because a reference keeps the whole body in memory.
func TestRunDoesNotReferToItsRequestBody(t *testing.T) {
	t.Parallel()
	body := []byte(`{"agent_id":"a","input":{"a":"b"},"messages":[{"role":"user","content":"c"}],"config":{"tags":["d"]},"context":{"e":1}}`)
	o, err := request.Parse(body, 20)
	if err != nil {
		t.Fatal(err)
	}
	n := readRunBody(o, "").take()
	sent := []string{string(n.Input), string(n.Messages), string(n.Config), string(n.Context)}
	clear(body)
	if d := cmp.Diff(sent, []string{string(n.Input), string(n.Messages), string(n.Config), string(n.Context)}); d != "" {
		t.Error(d)
	}
}
