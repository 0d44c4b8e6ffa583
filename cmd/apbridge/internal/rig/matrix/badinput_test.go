package matrix

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// bad is a request that must be refused with nothing written.
type bad struct {
	name, method, path string // {thread}, {busy}, {task}, {idle} and {none} stand for ids
	body               string
	status             int
	code               string // where the dialect tells one
	headers            []string
}

var (
	big      = `{"metadata":{"x":"` + strings.Repeat("x", rig.OurBody) + `"}}`
	bigInput = `{"input":"` + strings.Repeat("x", rig.OurBody) + `"}`
	deep     = `{"metadata":{"x":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}}`
	deepRun  = `{"assistant_id":"agent","input":{"x":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}}`
	deepTask = `{"input":"hi","additional_input":{"x":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}}`
	latin    = "{\"metadata\":{\"x\":\"caf\xe9\"}}"
)

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func badThreads() []bad {
	run := func(name, field string, status int, code string) bad {
		return bad{"run, " + name, "POST", "/threads/{thread}/runs", `{"assistant_id":"agent",` + field + `}`, status, code, nil}
	}
	return []bad{
		{"thread, not JSON", "POST", "/threads", `{"metadata":`, 422, "invalid_request", nil},
		{"thread, a list", "POST", "/threads", `[]`, 422, "invalid_request", nil},
		{"thread, wrong type", "POST", "/threads", `{"metadata":[1]}`, 422, "invalid_request", nil},
		{"thread, id that is none", "POST", "/threads", `{"thread_id":"../x"}`, 422, "invalid_request", nil},
		{"thread, unknown choice", "POST", "/threads", `{"if_exists":"maybe"}`, 422, "invalid_request", nil},
		{"thread, a key twice", "POST", "/threads", `{"metadata":{"a":1,"a":2}}`, 422, "invalid_request", nil},
		{"thread, no UTF-8", "POST", "/threads", latin, 422, "invalid_request", nil},
		{"thread, too large", "POST", "/threads", big, 413, "", nil},
		{"thread, too deep", "POST", "/threads", deep, 422, "", nil},
		{"thread, XML", "POST", "/threads", `<a/>`, 415, "", []string{"Content-Type", "application/xml"}},
		{"thread, compressed", "POST", "/threads", zipped(`{}`), 415, "", []string{"Content-Encoding", "gzip"}},
		{"thread that is there", "POST", "/threads", `{"thread_id":"{thread}"}`, 409, "", nil},

		run("wrong type of agent", `"assistant_id":7`, 422, "invalid_request"), // a key twice
		{"run, agent of a wrong type", "POST", "/threads/{thread}/runs", `{"assistant_id":7}`, 422, "invalid_request", nil},
		{"run, unknown agent", "POST", "/threads/{thread}/runs", `{"assistant_id":"nobody"}`, 404, "agent_not_found", nil},
		run("unknown mode", `"stream_mode":["what"]`, 422, "invalid_request"),
		run("unknown strategy", `"multitask_strategy":"later"`, 422, "invalid_request"),
		run("strategy that is off", `"multitask_strategy":"concurrent",`+rig.SaysHi, 422, "not_supported"),
		run("goto", `"command":{"goto":"x"}`, 422, "not_supported"),
		run("a node that cannot be named", `"interrupt_before":["plan"],`+rig.SaysHi, 422, "not_supported"),
		run("checkpoint that is not there", `"checkpoint_id":"`+rig.NoneID+`",`+rig.SaysHi, 404, "checkpoint_not_found"),
		run("negative delay", `"after_seconds":-1,`+rig.SaysHi, 422, "invalid_request"),
		run("config of a wrong type", `"config":"x",`+rig.SaysHi, 422, "invalid_request"),
		run("message of a wrong type", `"input":{"messages":[7]}`, 422, "invalid_request"),
		run("file outside", `"input":{"messages":[{"role":"user","content":"hi"}],"files":{"../../etc/passwd":"x"}}`, 422, "invalid_request"),
		run("resume of nothing", `"command":{"resume":"yes"}`, 409, "no_pending_interrupt"),
		run("deleted at its end on a thread", `"on_completion":"delete",`+rig.SaysHi, 422, "invalid_request"),
		{"run, too deep", "POST", "/threads/{thread}/runs", deepRun, 422, "", nil},
		{"run, too large", "POST", "/threads/{thread}/runs/wait", bigInput, 413, "", nil},
		{"run, XML", "POST", "/threads/{thread}/runs/stream", `<a/>`, 415, "", []string{"Content-Type", "text/xml"}},
		{"run on an unknown thread", "POST", "/threads/{none}/runs", `{"assistant_id":"agent",` + rig.SaysHi + `}`, 404, "thread_not_found", nil},
		{"run on no thread", "POST", "/threads/nonsense/runs/wait", `{"assistant_id":"agent",` + rig.SaysHi + `}`, 422, "invalid_request", nil},
		{"run on a busy thread", "POST", "/threads/{busy}/runs", `{"assistant_id":"agent","multitask_strategy":"reject",` + rig.SaysHi + `}`, 409, "thread_busy", nil},
		{"wait on a busy thread", "POST", "/threads/{busy}/runs/wait", `{"assistant_id":"agent","multitask_strategy":"reject",` + rig.SaysHi + `}`, 409, "thread_busy", nil},
		{"stream on a busy thread", "POST", "/threads/{busy}/runs/stream", `{"assistant_id":"agent","multitask_strategy":"reject",` + rig.SaysHi + `}`, 409, "thread_busy", nil},
		{"Agent Protocol run on a busy thread", "POST", "/runs/wait", `{"agent_id":"agent","thread_id":"{busy}",` + rig.SaysHi + `}`, 409, "thread_busy", nil},
		{"state of a busy thread", "POST", "/threads/{busy}/state", `{"values":{"a":1}}`, 409, "thread_busy", nil},
		{"stateless run, unknown agent", "POST", "/runs/wait", `{"agent_id":"nobody",` + rig.SaysHi + `}`, 404, "agent_not_found", nil},

		{"state of a wrong type", "POST", "/threads/{thread}/state", `{"values":7}`, 422, "", nil},
		{"state of an unknown thread", "POST", "/threads/{none}/state", `{"values":{}}`, 404, "thread_not_found", nil},
		{"patch of a wrong type", "PATCH", "/threads/{thread}", `{"metadata":"x"}`, 422, "invalid_request", nil},
		{"patch of an unknown thread", "PATCH", "/threads/{none}", `{"metadata":{}}`, 404, "thread_not_found", nil},
		{"unknown thread", "GET", "/threads/{none}", "", 404, "thread_not_found", nil},
		{"deleting an unknown thread", "DELETE", "/threads/{none}", "", 404, "thread_not_found", nil},
		{"history of an unknown thread", "GET", "/threads/{none}/history", "", 404, "thread_not_found", nil},
		{"unknown run", "GET", "/threads/{thread}/runs/{none}", "", 404, "run_not_found", nil},
		{"unknown run, anywhere", "GET", "/runs/{none}/wait", "", 404, "run_not_found", nil},
		{"cancelling an unknown run", "POST", "/threads/{thread}/runs/{none}/cancel", "", 404, "run_not_found", nil},
		{"search, wrong type", "POST", "/threads/search", `{"limit":"x"}`, 422, "invalid_request", nil},
		{"search, negative", "POST", "/threads/search", `{"offset":-1}`, 422, "invalid_request", nil},
		{"item without a key", "PUT", "/store/items", `{"namespace":["a"],"value":{}}`, 422, "invalid_request", nil},
		{"item of a wrong type", "PUT", "/store/items", `{"namespace":"a","key":"k","value":7}`, 422, "invalid_request", nil},
		{"wrong method", "PUT", "/threads", `{}`, 405, "", nil},
		{"unknown route", "GET", "/threads/{thread}/nothing", "", 404, "route_not_found", nil},
	}
}

func badTasks() []bad {
	return []bad{
		{"task, not JSON", "POST", "/ap/v1/agent/tasks", `{"input":`, 422, "invalid_request", nil},
		{"task, a list", "POST", "/ap/v1/agent/tasks", `[]`, 422, "invalid_request", nil},
		{"task, wrong type", "POST", "/ap/v1/agent/tasks", `{"input":7}`, 422, "invalid_request", nil},
		{"task, wrong further input", "POST", "/ap/v1/agent/tasks", `{"additional_input":[]}`, 422, "invalid_request", nil},
		{"task, a key twice", "POST", "/ap/v1/agent/tasks", `{"input":"a","input":"b"}`, 422, "invalid_request", nil},
		{"task, something behind", "POST", "/ap/v1/agent/tasks", `{"input":"a"}{}`, 422, "invalid_request", nil},
		{"task, too large", "POST", "/ap/v1/agent/tasks", bigInput, 413, "", nil},
		{"task, too deep", "POST", "/ap/v1/agent/tasks", deepTask, 422, "invalid_request", nil},
		{"task, plain text", "POST", "/ap/v1/agent/tasks", `{"input":"a"}`, 415, "", []string{"Content-Type", "text/plain"}},
		{"task, compressed", "POST", "/ap/v1/agent/tasks", zipped(`{}`), 415, "", []string{"Content-Encoding", "gzip"}},
		{"task of an unknown agent", "POST", "/agents/nobody/ap/v1/agent/tasks", `{"input":"a"}`, 404, "", nil},
		{"unknown task", "GET", "/ap/v1/agent/tasks/{none}", "", 404, "", nil},
		{"task that is no UUID", "GET", "/ap/v1/agent/tasks/nonsense", "", 404, "", nil},
		{"step of an unknown task", "POST", "/ap/v1/agent/tasks/{none}/steps", "", 404, "", nil},
		{"step, wrong type", "POST", "/ap/v1/agent/tasks/{idle}/steps", `{"input":{}}`, 422, "invalid_request", nil},
		{"step, not JSON", "POST", "/ap/v1/agent/tasks/{idle}/steps", `{{`, 422, "invalid_request", nil},
		{"step, too large", "POST", "/ap/v1/agent/tasks/{idle}/steps", bigInput, 413, "", nil},
		{"step, XML", "POST", "/ap/v1/agent/tasks/{idle}/steps", `<a/>`, 415, "", []string{"Content-Type", "application/xml"}},
		{"unknown step", "GET", "/ap/v1/agent/tasks/{idle}/steps/{none}", "", 404, "", nil},
		{"steps of an unknown task", "GET", "/ap/v1/agent/tasks/{none}/steps", "", 404, "", nil},
		{"page that is none", "GET", "/ap/v1/agent/tasks?current_page=x", "", 422, "invalid_request", nil},
		{"page before the first", "GET", "/ap/v1/agent/tasks?current_page=0", "", 422, "invalid_request", nil},
		{"page without a size", "GET", "/ap/v1/agent/tasks/{idle}/steps?page_size=0", "", 422, "invalid_request", nil},
		{"unknown artifact", "GET", "/ap/v1/agent/tasks/{idle}/artifacts/{none}", "", 404, "", nil},
		{"artifacts of an unknown task", "GET", "/ap/v1/agent/tasks/{none}/artifacts", "", 404, "", nil},
		{"upload that is no form", "POST", "/ap/v1/agent/tasks/{idle}/artifacts", `{"file":"x"}`, 415, "", nil},
		{"upload without a file", "POST", "/ap/v1/agent/tasks/{idle}/artifacts", "--b\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\nx\r\n--b--\r\n", 422, "invalid_request",
			[]string{"Content-Type", "multipart/form-data; boundary=b"}},
		{"upload that breaks off", "POST", "/ap/v1/agent/tasks/{idle}/artifacts", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhalf", 422, "invalid_request",
			[]string{"Content-Type", "multipart/form-data; boundary=b"}},
		uploadOf("upload to a folder outside", "a.txt", "../../etc", 422),
		uploadOf("upload to the root of the disk", "a.txt", "C:\\\\x", 422),
		uploadOf("upload of a name that climbs", "..", "", 422),
		{"upload to an unknown task", "POST", "/ap/v1/agent/tasks/{none}/artifacts", formOf("a.txt", "", "x"), 404, "", []string{"Content-Type", "multipart/form-data; boundary=b"}},
		{"upload that is too large", "POST", "/ap/v1/agent/tasks/{idle}/artifacts", formOf("a.txt", "", strings.Repeat("x", 20<<10)), 413, "", []string{"Content-Type", "multipart/form-data; boundary=b"}},
		{"cancelling an unknown task", "POST", "/ap/v1/agent/tasks/{none}/cancel", "", 404, "", nil},
		{"wrong method", "DELETE", "/ap/v1/agent/tasks/{idle}", "", 405, "", nil},
		{"unknown route", "GET", "/ap/v1/agent/nothing", "", 404, "", nil},
	}
}

func formOf(name, folder, content string) string {
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n"
	if folder != "" {
		form += "--b\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\n" + folder + "\r\n"
	}
	return form + "--b--\r\n"
}

func uploadOf(name, file, folder string, status int) bad {
	return bad{name, "POST", "/ap/v1/agent/tasks/{idle}/artifacts", formOf(file, folder, "x"), status, "invalid_request",
		[]string{"Content-Type", "multipart/form-data; boundary=b"}}
}

// TestMatrixBadInput: whatever cannot be taken is refused in the caller's dialect, and afterwards everything is as
// before.
func TestMatrixBadInput(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 1)
	cfg := rig.ConfigFor(t, nil)
	cfg.Limits.Body, cfg.Limits.MaxJSONDepth, cfg.Limits.Artifact = rig.OurBody, 50, 10<<10
	cfg.Agents = map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, g).URL)}
	b := rig.StartBridge(t, cfg)
	busy := b.Thread()
	b.Begin(busy, "")
	g.Await(t)
	thread, idle := b.Thread(), b.Task(`{"input":"hi"}`)
	ids := strings.NewReplacer("{thread}", thread[len("/threads/"):], "{busy}", busy[len("/threads/"):], "{none}", rig.NoneID, "{idle}", idle[len("/ap/v1/agent/tasks/"):])
	before := everything(b, thread, busy, idle)
	for dialect, list := range map[string][]bad{"threadrun": badThreads(), "taskstep": badTasks()} {
		for _, x := range list {
			t.Run(dialect+"/"+x.name, func(t *testing.T) {
				res := b.Do(x.method, ids.Replace(x.path), ids.Replace(x.body), x.headers...)
				checkRefused(t, dialect, x, res)
			})
		}
	}
	if diff := cmp.Diff(before, everything(b, thread, busy, idle)); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	if c := agent.Counts(); c.Creates != 1 || len(agent.Inputs()) != 0 {
		t.Errorf("the agent was asked: %+v", c)
	}
	g.Open()
}

func checkRefused(t *testing.T, dialect string, x bad, res rig.Answer) {
	t.Helper()
	if res.Status != x.status {
		t.Fatalf("answered %d, want %d: %.300s", res.Status, x.status, res.Body)
	}
	message := res.Text("message")
	if len(message) < 10 || rig.Says(message, "panic") || rig.Says(message, "interface") || rig.Says(message, "unmarshal") {
		t.Errorf("message %q", message)
	}
	if x.code != "" && res.At("code") != x.code {
		t.Errorf("code %v, want %s: %s", res.At("code"), x.code, message)
	}
	_, detail := res.At("").(map[string]any)["detail"]
	if dialect == "threadrun" && (!detail || res.At("code") == nil) {
		t.Errorf("not in the dialect's form: %s", res.Body)
	}
	if dialect == "taskstep" && x.status == http.StatusNotFound && len(res.At("").(map[string]any)) != 1 {
		t.Errorf("not in the dialect's form: %s", res.Body)
	}
}

// everything is what could have been written.
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
