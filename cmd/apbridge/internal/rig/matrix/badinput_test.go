package matrix

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// bad is a request that must be refused with nothing written.
type bad struct {
	name, method, path string // {thread}, {busy} and {none} are replaced by ids
	body               string
	status             int
	code               string // "": not checked
	headers            []string
}

var (
	big      = `{"metadata":{"x":"` + strings.Repeat("x", rig.OurBody) + `"}}`
	bigInput = `{"input":"` + strings.Repeat("x", rig.OurBody) + `"}`
)

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// badThreads returns well-formed requests that cannot be fulfilled, and bodies that are refused before they are read.
// TestBadInputOnEveryThreadRunRoute has malformed bodies and wrong types, TestStoreRefusesBadInput bad items, and
// TestBusyAndRunningByFlavour runs on a busy thread.
func badThreads() []bad {
	run := func(name, field string, status int, code string) bad {
		return bad{"run, " + name, "POST", "/threads/{thread}/runs", `{"assistant_id":"agent",` + field + `}`, status, code, nil}
	}
	return []bad{
		{"thread, too large", "POST", "/threads", big, 413, "", nil},
		{"thread, XML", "POST", "/threads", `<a/>`, 415, "", []string{"Content-Type", "application/xml"}},
		{"thread, compressed", "POST", "/threads", zipped(`{}`), 415, "", []string{"Content-Encoding", "gzip"}},
		{"thread that is there", "POST", "/threads", `{"thread_id":"{thread}"}`, 409, "", nil},

		{"run, unknown agent", "POST", "/threads/{thread}/runs", `{"assistant_id":"nobody"}`, 404, "agent_not_found", nil},
		run("goto", `"command":{"goto":"x"}`, 422, "not_supported"),
		run("a node that cannot be named", `"interrupt_before":["plan"],`+rig.SaysHi, 422, "not_supported"),
		run("message of a wrong type", `"input":{"messages":[7]}`, 422, "invalid_request"),
		run("file outside", `"input":{"messages":[{"role":"user","content":"hi"}],"files":{"../../etc/passwd":"x"}}`, 422, "invalid_request"),
		run("resume of nothing", `"command":{"resume":"yes"}`, 409, "no_pending_interrupt"),
		{"run, too large", "POST", "/threads/{thread}/runs/wait", bigInput, 413, "", nil},
		{"run, XML", "POST", "/threads/{thread}/runs/stream", `<a/>`, 415, "", []string{"Content-Type", "text/xml"}},

		{"state of a busy thread", "POST", "/threads/{busy}/state", `{"values":{"a":1}}`, 409, "thread_busy", nil},
		{"state of an unknown thread", "POST", "/threads/{none}/state", `{"values":{}}`, 404, "thread_not_found", nil},
		{"patch of an unknown thread", "PATCH", "/threads/{none}", `{"metadata":{}}`, 404, "thread_not_found", nil},
		{"deleting an unknown thread", "DELETE", "/threads/{none}", "", 404, "thread_not_found", nil},
		{"history of an unknown thread", "GET", "/threads/{none}/history", "", 404, "thread_not_found", nil},
		{"unknown run", "GET", "/threads/{thread}/runs/{none}", "", 404, "run_not_found", nil},
		{"unknown run, anywhere", "GET", "/runs/{none}/wait", "", 404, "run_not_found", nil},
		{"cancelling an unknown run", "POST", "/threads/{thread}/runs/{none}/cancel", "", 404, "run_not_found", nil},
	}
}

func formOf(name, folder, content string) string {
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n"
	if folder != "" {
		form += "--b\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\n" + folder + "\r\n"
	}
	return form + "--b--\r\n"
}

// TestMatrixBadInput checks that such requests are refused in the caller's dialect and change nothing.
func TestMatrixBadInput(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 1)
	cfg := rig.ConfigFor(t, nil)
	cfg.Limits.Body = rig.OurBody
	cfg.Agents = map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, g).URL)}
	b := rig.StartBridge(t, cfg)
	busy := b.Thread()
	b.Begin(busy, "")
	g.Await(t)
	thread, idle := b.Thread(), b.Task(`{"input":"hi"}`)
	ids := strings.NewReplacer("{thread}", thread[len("/threads/"):], "{busy}", busy[len("/threads/"):], "{none}", rig.NoneID)
	before := everything(b, thread, busy, idle)
	for _, x := range badThreads() {
		t.Run(x.name, func(t *testing.T) {
			checkRefused(t, x, b.Do(x.method, ids.Replace(x.path), ids.Replace(x.body), x.headers...))
		})
	}
	if diff := cmp.Diff(before, everything(b, thread, busy, idle)); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	if c := agent.Counts(); c.Creates != 1 || len(agent.Inputs()) != 0 {
		t.Errorf("the agent was called: %+v", c)
	}
	g.Open()
}

func checkRefused(t *testing.T, x bad, res rig.Answer) {
	t.Helper()
	if res.Status != x.status {
		t.Fatalf("got %d, want %d: %.300s", res.Status, x.status, res.Body)
	}
	message := res.Text("message")
	if len(message) < 10 || rig.Says(message, "panic") || rig.Says(message, "interface") || rig.Says(message, "unmarshal") {
		t.Errorf("the message is %q", message)
	}
	if x.code != "" && res.At("code") != x.code {
		t.Errorf("the code is %v, want %s: %s", res.At("code"), x.code, message)
	}
	if _, detail := res.At("").(map[string]any)["detail"]; !detail || res.At("code") == nil {
		t.Errorf("the error is not in the dialect's form: %s", res.Body)
	}
}

// everything returns all data that a request could have written.
func everything(b *rig.Bridge, paths ...string) map[string]string {
	b.T.Helper()
	all := map[string]string{
		"threads": string(b.Post("/threads/count", `{}`).OK().Body),
		"runs":    fmt.Sprint(len(b.Post("/runs/search", `{"limit":100}`).OK().List(""))),
		"tasks":   fmt.Sprint(b.Get("/ap/v1/agent/tasks").OK().At("pagination")),
		"items":   string(b.Post("/store/items/search", `{"namespace_prefix":[]}`).OK().Body),
	}
	for _, p := range paths {
		all[p] = string(b.Get(p).OK().Body)
		if strings.HasPrefix(p, "/threads") {
			all[p+" history"] = string(b.Get(p + "/history").OK().Body)
		} else {
			all[p+" steps"] = string(b.Get(p + "/steps").OK().Body)
			all[p+" artifacts"] = string(b.Get(p + "/artifacts").OK().Body)
		}
	}
	return all
}
