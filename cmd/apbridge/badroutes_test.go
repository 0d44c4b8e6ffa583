package main

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// ours tells whether a route belongs to the task/step family, and what its
// version calls a request that cannot be.
func (m mounted) ours() (invalid int, ok bool) {
	path := strings.TrimPrefix(m.path, "/agents/{agent}")
	switch {
	case strings.HasPrefix(path, "/ap/v2/"):
		return 400, true
	case strings.HasPrefix(path, "/ap/v1/"), strings.HasPrefix(path, "/agent/"):
		return 422, !strings.HasSuffix(path, "/heartbeat")
	}
	return 0, false
}

// TestBadInputOnEveryRoute asks every route of v1 and v2, under every prefix,
// in every wrong way that fits it, before agents of both kinds. Each is refused
// as stated; afterwards nothing was written and no agent was asked.
func TestBadInputOnEveryRoute(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]adaptertest.Peer{
		"task/step agent": adaptertest.NewStepAgent(adaptertest.Plain), "thread/run agent": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := configFor(t, map[string]config.Agent{"agent": agentAt(adaptertest.Serve(t, agent).URL)})
			cfg.Limits.Body, cfg.Limits.Artifact = ourBody, 10<<10
			b := startBridge(t, cfg)
			ids := b.lived()
			before, work := b.snapshot(ids), agent.Work()
			asked := 0
			for _, m := range mountedRoutes(t) {
				if invalid, ok := m.ours(); ok {
					asked += b.refuses(m, ids, invalid)
				}
			}
			if asked < 1000 {
				t.Errorf("only %d requests were made", asked)
			}
			if diff := cmp.Diff(before, b.snapshot(ids)); diff != "" || agent.Work() != work {
				t.Errorf("the agent did %d steps more, and something was written (-before +after):\n%s", agent.Work()-work, diff)
			}
		})
	}
}

// lived makes a topic with a task that has ended, and one that has not begun.
func (b *bridge) lived() map[string]string {
	b.t.Helper()
	topic := b.post("/ap/v2/topics", `{"name":"x"}`).is(201).text("topic_id")
	at := "/ap/v2/topics/" + topic
	said := b.post(at+"/interactions", `{"input":"hi"}`).is(201)
	task := said.text("task_id")
	upload := b.upload(at+"/tasks/"+task+"/artifacts", "a.txt", "", "given").is(201)
	steps := pullAll(b.t, b, at+"/tasks/"+task, "")
	return map[string]string{
		"agent": "agent", "topic": topic, "task": task, "step": steps[0].text("step_id"),
		"artifact": upload.text("artifact_id"), "interaction": said.text("interaction_id"),
	}
}

func (b *bridge) snapshot(ids map[string]string) map[string]string {
	b.t.Helper()
	all := b.everything("/ap/v1/agent/tasks/"+ids["task"], "/threads/"+ids["topic"])
	at := "/ap/v2/topics/" + ids["topic"]
	for _, path := range []string{"/ap/v2/topics", at, at + "/interactions", at + "/tasks"} {
		all[path] = string(b.get(path).ok().body)
	}
	return all
}

// wrong is a request that must be refused.
type wrong struct {
	what, method, path, body string
	status                   int
	headers                  []string
}

// refuses makes the wrong requests to a route and returns how many those were.
func (b *bridge) refuses(m mounted, ids map[string]string, invalid int) int {
	b.t.Helper()
	path, missing := m.fill(ids)
	if missing != "" {
		b.t.Fatalf("%s: no %s", m.path, missing)
	}
	list := append(m.wrongIDs(ids), m.wrongMethods(path)...)
	list = append(append(list, m.wrongBodies(path, invalid)...), append(m.wrongForms(path, invalid), m.wrongQueries(path, invalid)...)...)
	for _, w := range list {
		what := fmt.Sprintf("%s %s, %s", m.method, m.path, w.what)
		res := b.insist(w)
		if res.status != w.status {
			b.t.Errorf("%s: answered %d, want %d: %.300s", what, res.status, w.status, res.body)
			continue
		}
		b.checkWording(what, res)
	}
	return len(list)
}

// insist sends a request again whose body the bridge stops reading: a client that
// goes on writing for half a second may find the connection closed before it has
// read the answer.
func (b *bridge) insist(w wrong) answer {
	b.t.Helper()
	for try := 1; ; try++ {
		res, err := b.try(context.Background(), w.method, w.path, w.body, w.headers...)
		if err == nil {
			return res
		}
		if w.status != http.StatusRequestEntityTooLarge || try == 5 {
			b.t.Fatalf("%s %s, %s: %v", w.method, w.path, w.what, err)
		}
	}
}

func (b *bridge) checkWording(what string, res answer) {
	b.t.Helper()
	if !isJSON(res.header) {
		b.t.Errorf("%s: answered %s", what, res.header.Get("Content-Type"))
		return
	}
	body, _ := res.at("").(map[string]any)
	message, _ := body["message"].(string)
	if len(message) < 10 || says(message, "panic") || says(message, "unmarshal") || says(message, "interface") {
		b.t.Errorf("%s: message %q", what, message)
	}
	alone := res.status == http.StatusNotFound || res.status == http.StatusMethodNotAllowed
	if alone != (len(body) == 1) {
		b.t.Errorf("%s: not in the dialect's form: %s", what, res.body)
	}
}

// valid is a request that the route would take.
func (m mounted) valid() (body string, headers []string) {
	switch {
	case m.method == http.MethodGet || m.is("cancel"):
		return "", nil
	case m.is("artifacts"):
		return formOf("f.txt", "", "x"), []string{"Content-Type", "multipart/form-data; boundary=b"}
	}
	return `{"input":"x"}`, nil
}

func (m mounted) is(last string) bool { return strings.HasSuffix(m.path, "/"+last) }

// wrongIDs puts what is not there in the place of each id of the path.
func (m mounted) wrongIDs(ids map[string]string) (list []wrong) {
	body, headers := m.valid()
	for name := range ids {
		if !strings.Contains(m.path, "{"+name+"}") {
			continue
		}
		for _, id := range []string{noneID, "nonsense", "%F0%9F%98%80", "a%20b", strings.Repeat("x", 300), "NULL", "-1", "'%20or%20'1'='1"} {
			other := make(map[string]string, len(ids))
			for k, v := range ids {
				other[k] = v
			}
			other[name] = id
			path, _ := m.fill(other)
			list = append(list, wrong{name + " " + id, m.method, path, body, 404, headers})
		}
	}
	return list
}

func (m mounted) wrongMethods(path string) (list []wrong) {
	for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch} {
		list = append(list, wrong{method, method, path, "{}", 405, nil})
	}
	return list
}

// wrongBodies are for routes that take JSON.
func (m mounted) wrongBodies(path string, invalid int) (list []wrong) {
	if m.method != http.MethodPost || m.is("artifacts") || m.is("cancel") {
		return nil
	}
	field := "input"
	if m.is("topics") {
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
		wrong{"too large", "POST", path, `{"` + field + `":"` + strings.Repeat("x", ourBody) + `"}`, 413, nil},
		wrong{"plain text", "POST", path, body, 415, []string{"Content-Type", "text/plain"}},
		wrong{"a form", "POST", path, field + "=a", 415, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		wrong{"latin 1", "POST", path, body, 415, []string{"Content-Type", "application/json; charset=iso-8859-1"}},
		wrong{"compressed", "POST", path, zipped(body), 415, []string{"Content-Encoding", "gzip"}},
		wrong{"no such compression", "POST", path, body, 415, []string{"Content-Encoding", "x-own"}},
	)
}

// wrongForms are for uploads.
func (m mounted) wrongForms(path string, invalid int) (list []wrong) {
	if m.method != http.MethodPost || !m.is("artifacts") {
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

// wrongQueries are for lists and streams.
func (m mounted) wrongQueries(path string, invalid int) (list []wrong) {
	lists := slices.ContainsFunc([]string{"tasks", "steps", "artifacts", "topics", "interactions"}, func(last string) bool { return m.is(last) })
	if m.method != http.MethodGet || !lists {
		return nil
	}
	for _, query := range []string{
		"current_page=0", "current_page=-1", "current_page=x", "current_page=1.5", "current_page=", "current_page=%2B1", "current_page=99999999999", "current_page=0x1",
		"page_size=0", "page_size=-5", "page_size=2147483648", "page_size=9999999999999999999999", "page_size=ten", "page_size=%201",
		"page_size=%zz",
	} {
		list = append(list, wrong{query, "GET", path + "?" + query, "", invalid, nil})
	}
	if m.is("steps") {
		for _, id := range []string{"x", "-2", "1.5", "99", "99999999999999999999"} {
			list = append(list, wrong{"cursor " + id, "GET", path + "?stream=true", "", invalid, []string{"Last-Event-ID", id}})
		}
		list = append(list, wrong{"stream=maybe", "GET", path + "?stream=maybe", "", invalid, nil})
	}
	return list
}

// isJSON reports whether an answer says it is JSON, with a charset or without.
func isJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/json"
}
