package operate

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestAuditOfAnswers checks that answers and cancellations have other verbs than created runs, in either dialect.
func TestAuditOfAnswers(t *testing.T) {
	t.Parallel()
	before := func(agent http.Handler) (*rig.Bridge, func() []auditLine) {
		url := adaptertest.Serve(t, agent).URL
		return audited(t, func(c *config.Config) { c.Agents["agent"] = rig.AgentAt(url, rig.Lockstep) })
	}
	graph, ofGraph := before(rig.Asking(adaptertest.HangPlay()))
	thread := "/threads/" + as(graph, "POST", "/threads", `{}`).Is(200).Text("thread_id")
	as(graph, "POST", thread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).Is(200)
	run := as(graph, "POST", thread+"/runs", `{"assistant_id":"agent","command":{"resume":"blue"}}`).Is(200).Text("run_id")
	as(graph, "POST", thread+"/runs/"+run+"/cancel?wait=true", "").OK()
	steps, ofSteps := before(rig.Curious(1))
	task := "/ap/v1/agent/tasks/" + as(steps, "POST", "/ap/v1/agent/tasks", `{"input":"hi"}`).Is(200).Text("task_id")
	for _, body := range []string{`{}`, `{}`, `{"input":"blue"}`} {
		as(steps, "POST", task+"/steps", body).Is(200)
	}
	for name, tt := range map[string]struct {
		b     *rig.Bridge
		lines func() []auditLine
		want  []string
	}{
		"graph": {graph, ofGraph, []string{"created thread done", "created run done", "answered run done", "cancelled run done"}},
		"steps": {steps, ofSteps, []string{"created task done", "changed task done", "changed task done", "answered task done"}},
	} {
		tt.b.End()
		var said []string
		for _, l := range tt.lines() {
			said = append(said, l.Operation+" "+l.Kind+" "+l.Outcome)
		}
		if diff := cmp.Diff(tt.want, said); diff != "" {
			t.Errorf("%s: lines (-want +got):\n%s", name, diff)
		}
	}
}

// TestAuditOfPassthrough checks that a passthrough request is logged with its method, without the path, the query and
// the body, which belong to the agent.
func TestAuditOfPassthrough(t *testing.T) {
	t.Parallel()
	b, lines := audited(t, through(streaming(nil))(t))
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		as(b, method, way+"/a/canary?q=canary", "canary").Is(200)
	}
	as(b, "GET", way, "").Is(200)
	as(b, "GET", "/agents/other/upstream/x", "").Is(404)
	b.End()
	var said []string
	for _, l := range lines() {
		said = append(said, fmt.Sprint(l.Operation, " ", l.Kind, " ", l.Outcome, " ", l.Key, " ", l.From, " ", l.Route, " ", l.Objects))
	}
	line := func(verb string) string { return verb + " upstream done bound 127.0.0.1 " + way + "/ []" }
	want := []string{
		line("read"), line("read"), line("read"), line("changed"), line("changed"), line("changed"), line("deleted"),
		"read upstream done bound 127.0.0.1 " + way + " []", "read upstream refused bound 127.0.0.1 unmatched []",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(b.Cfg.Audit.File)
	if err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("the log contains the agent's paths, or was not read: %v", err)
	}
}

// TestAuditOfRefusedRequests checks that a caller refused because of its key or a limit is logged with the reason but
// without the credentials, and that a hundred wrong keys do not cause a hundred lines.
func TestAuditOfRefusedRequests(t *testing.T) {
	t.Parallel()
	b, lines := audited(t, func(c *config.Config) {
		c.Auth.Keys = append(c.Auth.Keys, config.Key{ID: "gone", Key: "gone--0123456789abcdef", Expires: "2020-01-31T00:00:00Z"})
		c.Auth.Keys[1].Limits.Requests = "1/d"
		c.Audit.Reads = false
	})
	method := strings.Repeat("X", 10_000)
	for _, ask := range []struct{ method, path, key string }{
		{"GET", "/info", ""}, {"GET", "/nowhere/canary?q=canary", "canary-0123456789abcdef"}, {method, "/metrics", "gone--0123456789abcdef"},
		{"GET", "/metrics", boundKey}, {"POST", "/threads/count", freeKey}, {"POST", "/threads/count", freeKey}, {"GET", "/", "canary-0123456789abcdef"}, {"GET", "/", ""},
	} {
		header := []string{"X-Api-Key", ask.key}
		if ask.key == "" {
			header = nil
		}
		b.Do(ask.method, ask.path, "", header...)
	}
	for range 100 {
		b.Do("GET", "/info", "", "X-Api-Key", "canary-0123456789abcdef")
	}
	b.End()
	var said []string
	list := lines()
	for _, l := range list[:min(6, len(list))] {
		said = append(said, fmt.Sprint(l.Operation, " ", l.Kind, " ", l.Outcome, " ", l.Status, " ", l.Code, " ", l.Key, " ", l.From, " ", len(l.Method)))
	}
	line := func(rest string) string { return "refused request refused " + rest }
	want := []string{
		line("401 unauthorized  127.0.0.1 3"), line("401 unauthorized  127.0.0.1 3"), line("401 expired  127.0.0.1 32"),
		line("403 forbidden bound 127.0.0.1 3"), line("429 limit_requests free 127.0.0.1 4"), line("401 unauthorized  127.0.0.1 3"),
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if len(list) > 40 {
		t.Errorf("%d lines for a hundred refusals", len(list))
	}
	text, err := os.ReadFile(b.Cfg.Audit.File)
	if err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("the log contains credentials or contents, or was not read: %v", err)
	}
}

// TestAuditOfRepeatedRequests checks that a request repeated with an idempotency key names the object of the first
// one.
func TestAuditOfRepeatedRequests(t *testing.T) {
	t.Parallel()
	b, lines := audited(t)
	ids := map[string]string{}
	for path, tt := range map[string]struct{ kind, id, body string }{
		"/runs": {"run", "run_id", `{"input":"hi"}`}, "/threads": {"thread", "thread_id", `{}`}, "/runs/crons": {"cron", "cron_id", aCron},
		"/ap/v1/agent/tasks": {"task", "task_id", `{"input":"hi"}`}, "/ap/v2/topics": {"topic", "topic_id", `{}`},
	} {
		for range 2 {
			ids[tt.kind] = b.Do("POST", path, tt.body, "X-Api-Key", boundKey, "Idempotency-Key", "same").OK().Text(tt.id)
		}
	}
	at := "/ap/v2/topics/" + ids["topic"] + "/interactions"
	ids["interaction"] = as(b, "POST", at, `{"input":"hi"}`).OK().Text("interaction_id")
	as(b, "GET", at+"/"+ids["interaction"], "").OK()
	b.End()
	named := map[string]int{}
	for _, l := range lines() {
		for _, o := range l.Objects {
			if o.Kind == l.Kind && o.ID == ids[l.Kind] {
				named[l.Kind]++
			}
		}
	}
	for kind := range ids {
		if named[kind] != 2 {
			t.Errorf("%d of two lines name the %s", named[kind], kind)
		}
	}
}
