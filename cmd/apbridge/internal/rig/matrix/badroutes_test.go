package matrix

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// ours reports whether a route belongs to the task/step family, and the status of its version for an invalid request.
func ours(m rig.Route) (invalid int, ok bool) {
	path := strings.TrimPrefix(m.Path, "/agents/{agent}")
	switch {
	case strings.HasPrefix(path, "/ap/v2/"):
		return 400, true
	case strings.HasPrefix(path, "/ap/v1/"), strings.HasPrefix(path, "/agent/"):
		return 422, !strings.HasSuffix(path, "/heartbeat")
	}
	return 0, false
}

// TestBadInputOnEveryRoute sends every applicable kind of invalid request to every route of v1 and v2, under every
// prefix, for agents of both kinds. Each is refused with the expected status. Nothing is written and no agent is
// called.
func TestBadInputOnEveryRoute(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]adaptertest.Peer{
		"task/step agent": adaptertest.NewStepAgent(adaptertest.Plain), "thread/run agent": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL)})
			cfg.Limits.Body, cfg.Limits.Artifact = rig.OurBody, 10<<10
			b := rig.StartBridge(t, cfg)
			ids := lived(b)
			before, work := snapshot(b, ids), agent.Work()
			asked := 0
			for _, m := range rig.Routes(t) {
				if invalid, ok := ours(m); ok {
					asked += refuses(b, m, ids, invalid)
				}
			}
			if asked < 1000 {
				t.Errorf("only %d requests were sent", asked)
			}
			if diff := cmp.Diff(before, snapshot(b, ids)); diff != "" || agent.Work() != work {
				t.Errorf("%d steps of the agent, want 0; data (-before +after):\n%s", agent.Work()-work, diff)
			}
		})
	}
}

// lived creates a topic with one task that has ended and one that has not begun.
func lived(b *rig.Bridge) map[string]string {
	b.T.Helper()
	topic := b.Post("/ap/v2/topics", `{"name":"x"}`).Is(201).Text("topic_id")
	at := "/ap/v2/topics/" + topic
	said := b.Post(at+"/interactions", `{"input":"hi"}`).Is(201)
	task := said.Text("task_id")
	upload := b.Upload(at+"/tasks/"+task+"/artifacts", "a.txt", "", "given").Is(201)
	steps := rig.PullAll(b.T, b, at+"/tasks/"+task, "")
	return map[string]string{
		"agent": "agent", "topic": topic, "task": task, "step": steps[0].Text("step_id"),
		"artifact": upload.Text("artifact_id"), "interaction": said.Text("interaction_id"),
	}
}

func snapshot(b *rig.Bridge, ids map[string]string) map[string]string {
	b.T.Helper()
	all := everything(b, "/ap/v1/agent/tasks/"+ids["task"], "/threads/"+ids["topic"])
	at := "/ap/v2/topics/" + ids["topic"]
	for _, path := range []string{"/ap/v2/topics", at, at + "/interactions", at + "/tasks"} {
		all[path] = string(b.Get(path).OK().Body)
	}
	return all
}

// wrong is a request that must be refused.
type wrong struct {
	what, method, path, body string
	status                   int
	headers                  []string
}

// refuses sends the wrong requests to a route and returns their number.
func refuses(b *rig.Bridge, m rig.Route, ids map[string]string, invalid int) int {
	b.T.Helper()
	path, missing := m.Fill(ids)
	if missing != "" {
		b.T.Fatalf("%s: no %s", m.Path, missing)
	}
	list := append(wrongIDs(m, ids), wrongMethods(m, path)...)
	list = append(append(list, wrongBodies(m, path, invalid)...), append(wrongForms(m, path, invalid), wrongQueries(m, path, invalid)...)...)
	for _, w := range list {
		what := fmt.Sprintf("%s %s, %s", m.Method, m.Path, w.what)
		res := insist(b, w)
		if res.Status != w.status {
			b.T.Errorf("%s: got %d, want %d: %.300s", what, res.Status, w.status, res.Body)
			continue
		}
		checkWording(b, what, res)
	}
	return len(list)
}

// insist repeats a request whose body the bridge stops reading. A client that writes for half a second longer may find
// the connection closed before it has read the response.
func insist(b *rig.Bridge, w wrong) rig.Answer {
	b.T.Helper()
	for try := 1; ; try++ {
		res, err := b.Try(context.Background(), w.method, w.path, w.body, w.headers...)
		if err == nil {
			return res
		}
		if w.status != http.StatusRequestEntityTooLarge || try == 5 {
			b.T.Fatalf("%s %s, %s: %v", w.method, w.path, w.what, err)
		}
	}
}

func checkWording(b *rig.Bridge, what string, res rig.Answer) {
	b.T.Helper()
	if !rig.IsJSON(res.Header) {
		b.T.Errorf("%s: the content type is %s", what, res.Header.Get("Content-Type"))
		return
	}
	body, _ := res.At("").(map[string]any)
	message, _ := body["message"].(string)
	if len(message) < 10 || rig.Says(message, "panic") || rig.Says(message, "unmarshal") || rig.Says(message, "interface") {
		b.T.Errorf("%s: the message is %q", what, message)
	}
	code := mapping.CodeInvalid
	if strings.Contains(what, ", cursor ") {
		code = mapping.CodeInvalidCursor
	}
	if got := body["code"]; (res.Status == http.StatusBadRequest || res.Status == http.StatusUnprocessableEntity) && got != code {
		b.T.Errorf("%s: code %v, want %s", what, got, code)
	}
	alone := res.Status == http.StatusNotFound || res.Status == http.StatusMethodNotAllowed
	if alone != (len(body) == 1) {
		b.T.Errorf("%s: not in the dialect's form: %s", what, res.Body)
	}
}

// valid returns a request that the route would accept.
func valid(m rig.Route) (body string, headers []string) {
	switch {
	case m.Method == http.MethodGet || is(m, "cancel"):
		return "", nil
	case is(m, "artifacts"):
		return formOf("f.txt", "", "x"), []string{"Content-Type", "multipart/form-data; boundary=b"}
	}
	return `{"input":"x"}`, nil
}

func is(m rig.Route, last string) bool { return strings.HasSuffix(m.Path, "/"+last) }

// wrongIDs returns requests in which one id of the path is unknown.
func wrongIDs(m rig.Route, ids map[string]string) (list []wrong) {
	body, headers := valid(m)
	for name := range ids {
		if !strings.Contains(m.Path, "{"+name+"}") {
			continue
		}
		for _, id := range []string{rig.NoneID, "nonsense", "%F0%9F%98%80", "a%20b", strings.Repeat("x", 300), "NULL", "-1", "'%20or%20'1'='1"} {
			other := make(map[string]string, len(ids))
			for k, v := range ids {
				other[k] = v
			}
			other[name] = id
			path, _ := m.Fill(other)
			list = append(list, wrong{name + " " + id, m.Method, path, body, 404, headers})
		}
	}
	return list
}

func wrongMethods(m rig.Route, path string) (list []wrong) {
	for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch} {
		list = append(list, wrong{method, method, path, "{}", 405, nil})
	}
	return list
}

// wrongBodies returns requests for routes that accept JSON.
func wrongBodies(m rig.Route, path string, invalid int) (list []wrong) {
	if m.Method != http.MethodPost || is(m, "artifacts") || is(m, "cancel") {
		return nil
	}
	field := "input"
	if is(m, "topics") {
		field = "name"
	}
	for what, body := range map[string]string{
		"cut":             `{"` + field + `":`,
		"cut in a string": `{"` + field + `":"x`,
		"a list":          `[]`,
		"a string":        `"x"`,
		"a number":        `5`,
		"null":            `null`,
		"words":           `hello`,
		"a number inside": `{"` + field + `":7}`,
		"an object":       `{"` + field + `":{}}`,
		"true":            `{"` + field + `":true}`,
		"list as further": `{"` + field + `":"x","additional_input":[]}`,
		"text as further": `{"` + field + `":"x","additional_input":"x"}`,
		"a name twice":    `{"` + field + `":"a","` + field + `":"b"}`,
		"something more":  `{"` + field + `":"a"} {}`,
		"too deep":        `{"` + field + `":"a","additional_input":{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}`,
		"no UTF-8":        "{\"" + field + "\":\"caf\xe9\"}",
		"half a sign":     `{"` + field + `":"\ud800"}`,
		"single quotes":   `{'` + field + `':'a'}`,
	} {
		list = append(list, wrong{what, "POST", path, body, invalid, nil})
	}
	body := `{"` + field + `":"a"}`
	return append(list,
		wrong{"too large", "POST", path, `{"` + field + `":"` + strings.Repeat("x", rig.OurBody) + `"}`, 413, nil},
		wrong{"plain text", "POST", path, body, 415, []string{"Content-Type", "text/plain"}},
		wrong{"a form", "POST", path, field + "=a", 415, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		wrong{"latin 1", "POST", path, body, 415, []string{"Content-Type", "application/json; charset=iso-8859-1"}},
		wrong{"compressed", "POST", path, zipped(body), 415, []string{"Content-Encoding", "gzip"}},
		wrong{"no such compression", "POST", path, body, 415, []string{"Content-Encoding", "x-own"}},
	)
}

// wrongForms returns requests for uploads.
func wrongForms(m rig.Route, path string, invalid int) (list []wrong) {
	if m.Method != http.MethodPost || !is(m, "artifacts") {
		return nil
	}
	multi := []string{"Content-Type", "multipart/form-data; boundary=b"}
	for _, name := range []string{
		"..", "../x", "..%2Fx", "/etc/passwd", "%2Fetc%2Fpasswd", "C:x", `..\x`, "a/../../b", "CON", "nul.txt", "com1", "a%00b", "a%0Ab", " ", "...", "./", strings.Repeat("a", 1100),
	} {
		list = append(list, wrong{"file " + name[:min(len(name), 20)], "POST", path, formOf(strings.ReplaceAll(name, `\`, `\\`), "", "x"), invalid, multi})
	}
	for _, folder := range []string{"..", "a/../..", "/etc", "C:/x", "a//b", `a\..\b`, "aux", strings.Repeat("a/", 2500)} {
		list = append(list, wrong{"folder " + folder[:min(len(folder), 20)], "POST", path, formOf("f.txt", folder, "x"), invalid, multi})
	}
	form := formOf("f.txt", "", "x")
	for what, body := range map[string]string{
		"no end":          strings.TrimSuffix(form, "--b--\r\n"),
		"cut in the head": form[:30],
		"no file part":    "--b\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\nx\r\n--b--\r\n",
		"another field":   strings.Replace(form, `name="file"`, `name="data"`, 1),
		"no name":         strings.Replace(form, `; filename="f.txt"`, "", 1),
		"two files":       strings.TrimSuffix(form, "--b--\r\n") + form,
		"no form at all":  `{"file":"x"}`,
		"only the end":    "--b--\r\n",
		"other boundary":  strings.ReplaceAll(form, "--b", "--c"),
		"too many parts":  strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n", 1100) + form,
	} {
		list = append(list, wrong{what, "POST", path, body, invalid, multi})
	}
	return append(list,
		wrong{"too large", "POST", path, formOf("f.txt", "", strings.Repeat("x", 20<<10)), 413, multi},
		wrong{"JSON", "POST", path, `{}`, 415, nil},
		wrong{"mixed", "POST", path, form, 415, []string{"Content-Type", "multipart/mixed; boundary=b"}},
		wrong{"no boundary", "POST", path, form, invalid, []string{"Content-Type", "multipart/form-data"}},
		wrong{"compressed", "POST", path, zipped(form), 415, append(slices.Clone(multi), "Content-Encoding", "gzip")},
	)
}

// wrongQueries returns requests for lists and streams.
func wrongQueries(m rig.Route, path string, invalid int) (list []wrong) {
	lists := slices.ContainsFunc([]string{"tasks", "steps", "artifacts", "topics", "interactions"}, func(last string) bool { return is(m, last) })
	if m.Method != http.MethodGet || !lists {
		return nil
	}
	for _, query := range []string{
		"current_page=0", "current_page=-1", "current_page=x", "current_page=1.5", "current_page=", "current_page=%2B1", "current_page=99999999999", "current_page=0x1",
		"page_size=0", "page_size=-5", "page_size=2147483648", "page_size=9999999999999999999999", "page_size=ten", "page_size=%201",
		"page_size=%zz",
	} {
		list = append(list, wrong{query, "GET", path + "?" + query, "", invalid, nil})
	}
	if is(m, "steps") {
		for _, id := range []string{"x", "-2", "1.5", "99", "99999999999999999999"} {
			list = append(list, wrong{"cursor " + id, "GET", path + "?stream=true", "", invalid, []string{"Last-Event-ID", id}})
		}
		list = append(list, wrong{"stream=maybe", "GET", path + "?stream=maybe", "", invalid, nil})
	}
	return list
}
