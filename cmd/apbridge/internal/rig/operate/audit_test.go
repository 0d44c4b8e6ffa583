package operate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// auditLine has the checked members of a line.
type auditLine struct {
	Operation, Kind, Outcome, Key, Tenant, From, Route, Method, Code string
	RequestID                                                        string `json:"request_id"`
	Status                                                           int
	Objects                                                          []struct{ Kind, ID string }
}

// audited starts a bridge with an audit log. lines reads the log.
func audited(t *testing.T, change ...func(*config.Config)) (b *rig.Bridge, lines func() []auditLine) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit.log")
	b = bounded(t, config.Allowance{}, append([]func(*config.Config){func(c *config.Config) { c.Audit.File = file }}, change...)...)
	return b, func() []auditLine { return readAudit(t, file) }
}

func readAudit(t *testing.T, pattern string) (list []auditLine) {
	t.Helper()
	files, err := filepath.Glob(strings.TrimSuffix(pattern, ".log") + "*.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if about, err := os.Stat(f); err != nil || about.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, about.Mode(), err)
		}
		for line := range strings.Lines(string(text)) {
			var one auditLine
			if err := json.Unmarshal([]byte(line), &one); err != nil && strings.HasSuffix(line, "\n") {
				t.Fatalf("%q: %v", line, err)
			}
			list = append(list, one)
		}
	}
	return list
}

// TestAuditOfEachRoute checks that each route of each dialect, requested with unknown ids, logs exactly one line with
// the route's effect. A route whose effect its dialect does not define fails here.
func TestAuditOfEachRoute(t *testing.T) {
	t.Parallel()
	b, lines := audited(t)
	ids := map[string]string{}
	for _, name := range []string{"thread_id", "run_id", "cron_id", "assistant_id", "checkpoint_id", "task", "step", "artifact", "topic", "interaction", "config"} {
		ids[name] = rig.NoneID
	}
	ids["agent"], ids["agent_id"], ids["namespace"] = "agent", "agent", "x"
	asked := map[string]string{} // request id → method and route
	for i, m := range rig.Routes(t) {
		path, missing := m.Fill(ids)
		if missing != "" {
			t.Fatalf("%s: no id for %s", m.Path, missing)
		}
		id := fmt.Sprintf("route-%d", i)
		got := b.Do(m.Method, path, "{}", "X-Api-Key", boundKey, "X-Request-Id", id)
		if m.Path != "/ok" && !strings.Contains(m.Path, "/.well-known/") && !rig.Says(string(got.Body), "Not supported here") { // public paths, and routes that are refused by name
			asked[id] = m.Method + " " + m.Path
		}
	}
	b.End()
	dialects, found := bridge.Dialects(), map[string]int{}
	for _, l := range lines() {
		if found[l.RequestID]++; asked[l.RequestID] == "" {
			continue
		}
		method, route, _ := strings.Cut(asked[l.RequestID], " ")
		d, _ := dialects.Owner(route)
		op, _ := d.Effect(method, route)
		if l.Operation != string(op.Verb) || l.Kind != op.Kind || l.Key != "bound" || l.Tenant != "acme" || l.From != "127.0.0.1" || l.Route != route || l.Status == 0 {
			t.Errorf("%s %s: %+v", method, route, l)
		}
	}
	for id, route := range asked {
		if found[id] != 1 {
			t.Errorf("%s has logged %d lines, want 1", route, found[id])
		}
	}
}

// TestAuditOfTheInspector checks that actions in the inspector are logged with the person's key, and refused forms as
// such. Reads of pages are logged, but not those of their files.
func TestAuditOfTheInspector(t *testing.T) {
	t.Parallel()
	b, lines := audited(t)
	try := func(id, text string, headers ...string) rig.Answer {
		return b.Do("POST", "/inspect/agents/agent/try", text, append(headers, "X-Api-Key", boundKey, "X-Request-Id", id, "Content-Type", "application/x-www-form-urlencoded")...)
	}
	try("asked", "text=hi").OK()
	try("created", "text=hi&sure=yes").OK()
	try("foreign", "text=hi&sure=yes", "Sec-Fetch-Site", "same-site").Is(403)
	b.Do("GET", "/inspect", "", "X-Api-Key", boundKey, "X-Request-Id", "read").OK()
	b.Do("GET", "/inspect/web/live.js", "", "X-Api-Key", boundKey, "X-Request-Id", "file").OK()
	b.End()
	found := map[string]string{}
	for _, l := range lines() {
		found[l.RequestID] = fmt.Sprintf("%s %s %s %s %d", l.Operation, l.Kind, l.Outcome, l.Key, len(l.Objects))
	}
	want := map[string]string{"asked": "read run done bound 1", "created": "created run done bound 3", "foreign": "created run refused bound 1", "read": "read run done bound 0"}
	delete(found, "")
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestAuditNamesObjectsAndVerbs checks that lines have the ids of created objects and different verbs for answers and
// runs, and that clients cannot break the JSON of a line.
func TestAuditNamesObjectsAndVerbs(t *testing.T) {
	t.Parallel()
	b, lines := audited(t)
	thread := as(b, "POST", "/threads", `{}`).Is(200).Text("thread_id")
	run := as(b, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"agent","input":"hi"}`).Is(200).Text("run_id")
	cron := as(b, "POST", "/runs/crons", aCron).OK().Text("cron_id")
	task := as(b, "POST", "/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	wild := "k\n\",\"operation\":\"\u2028" + strings.Repeat("x", 1000)
	body, err := json.Marshal(map[string]any{"namespace": []string{"a"}, "key": wild, "value": map[string]any{"secret": "canary"}})
	if err != nil {
		t.Fatal(err)
	}
	as(b, "PUT", "/store/items", string(body)).OK()
	as(b, "GET", "/threads/"+strings.Repeat("%0A", 15_000), "")
	as(b, "DELETE", "/threads/"+thread, "").Is(204)
	b.Do("GET", "/threads/"+thread, "", "X-Api-Key", freeKey).Is(404)
	b.End()
	list := lines()
	for _, want := range []auditLine{
		{Operation: "created", Kind: "thread", Outcome: "done", Key: "bound", Objects: []struct{ Kind, ID string }{{"thread", thread}}},
		{Operation: "created", Kind: "run", Outcome: "done", Key: "bound", Objects: []struct{ Kind, ID string }{{"run", run}, {"thread", thread}}},
		{Operation: "created", Kind: "cron", Outcome: "done", Key: "bound", Objects: []struct{ Kind, ID string }{{"cron", cron}}},
		{Operation: "created", Kind: "task", Outcome: "done", Key: "bound", Objects: []struct{ Kind, ID string }{{"task", task}}},
		{Operation: "changed", Kind: "item", Outcome: "done", Key: "bound", Objects: []struct{ Kind, ID string }{{"item", "a/" + wild}}},
		{Operation: "deleted", Kind: "thread", Outcome: "done", Key: "bound", Objects: []struct{ Kind, ID string }{{"thread", thread}}},
		{Operation: "read", Kind: "thread", Outcome: "refused", Key: "free", Objects: []struct{ Kind, ID string }{{"thread", thread}}},
	} {
		n := 0
		for _, l := range list {
			if l.Operation == want.Operation && l.Kind == want.Kind && l.Outcome == want.Outcome && l.Key == want.Key && fmt.Sprint(l.Objects) == fmt.Sprint(want.Objects) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d lines like %+v, want 1", n, want)
		}
	}
	text, err := os.ReadFile(b.Cfg.Audit.File)
	if err != nil || strings.Contains(string(text), "canary") || strings.Contains(string(text), boundKey) {
		t.Errorf("the log contains contents or keys, or was not read: %v", err)
	}
}

// TestAuditWithoutReads checks that reads are not logged if reads is false.
func TestAuditWithoutReads(t *testing.T) {
	t.Parallel()
	b, lines := audited(t, func(c *config.Config) { c.Audit.Reads = false })
	as(b, "POST", "/threads/search", `{}`).Is(200)
	as(b, "GET", "/info", "").Is(200)
	as(b, "POST", "/threads", `{}`).Is(200)
	b.End()
	if list := lines(); len(list) != 1 || list[0].Operation != "created" {
		t.Errorf("lines: %+v", list)
	}
}

// TestAuditRotates checks that a full file is replaced during concurrent writes, that no line is lost, and that only
// the configured number of files remains.
func TestAuditRotates(t *testing.T) {
	t.Parallel()
	for keep, all := range map[int]bool{0: true, 1: false} {
		b, lines := audited(t, func(c *config.Config) { c.Audit.MaxSize, c.Audit.Keep = 1<<20, keep })
		key := strings.Repeat("k", 1000)
		var work sync.WaitGroup
		const each, workers = 300, 10
		for w := range workers {
			work.Go(func() {
				for i := range each {
					as(b, "DELETE", fmt.Sprintf("/threads/%s-%d-%d", key, w, i), "")
				}
			})
		}
		work.Wait()
		b.End()
		if n := len(lines()); n != each*workers && all || n >= each*workers && !all {
			t.Errorf("keep %d: %d lines of %d", keep, n, each*workers)
		}
	}
}

// TestAuditOfBackgroundWork checks that background work is logged with the principal for whom it was done.
func TestAuditOfBackgroundWork(t *testing.T) {
	t.Parallel()
	hook := adaptertest.NewStepAgent(adaptertest.Plain)
	at := adaptertest.Serve(t, hook).URL
	b, lines := audited(t, func(c *config.Config) { c.Webhooks.AllowPrivateNetworks = true })
	as(b, "POST", "/threads", `{"ttl":0.001}`).Is(200)
	as(b, "POST", "/runs/wait", `{"input":"hi","webhook":"`+at+`/ap/v1/agent/tasks"}`).Is(200)
	for _, want := range []auditLine{{Operation: "deleted", Kind: "thread", Tenant: "acme"}, {Operation: "notified", Kind: "webhook", Tenant: "acme"}} {
		rig.Eventually(t, "a line of "+want.Operation+" "+want.Kind, func() bool {
			for _, l := range lines() {
				if l.From == "" && l.Operation == want.Operation && l.Kind == want.Kind && l.Tenant == want.Tenant && (want.Key == "" || l.Key == want.Key) && len(l.Objects) > 0 {
					return true
				}
			}
			return false
		})
	}
}

// TestAuditOfCommands checks that each command of a WebSocket has its own line, in addition to that of the WebSocket.
func TestAuditOfCommands(t *testing.T) {
	t.Parallel()
	b, lines := audited(t)
	thread := as(b, "POST", "/threads", `{}`).Is(200).Text("thread_id")
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(b.URL, "http")+"/threads/"+thread+"/stream/events",
		&websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {boundKey}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		`{"id":1,"method":"run.start","params":{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]}}}`,
		`{"id":2,"method":"state.get","params":{}}`,
	} {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(command)); err != nil {
			t.Fatal(err)
		}
		if _, answer, err := conn.Read(t.Context()); err != nil || !rig.Says(string(answer), `"success"`) {
			t.Fatalf("%s: %s, %v", command, answer, err)
		}
	}
	if err := conn.CloseNow(); err != nil {
		t.Error(err)
	}
	b.End()
	var said []string
	for _, l := range lines() {
		said = append(said, fmt.Sprint(l.Operation, " ", l.Kind, " ", len(l.Objects), " ", l.Key, " ", l.From))
	}
	slices.Sort(said)
	want := []string{"created run 2 bound 127.0.0.1", "created thread 1 bound 127.0.0.1", "read thread 1 bound 127.0.0.1", "read thread 1 bound 127.0.0.1"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
