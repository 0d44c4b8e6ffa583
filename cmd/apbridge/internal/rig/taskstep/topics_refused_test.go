package taskstep

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What cannot be is refused in the words of the topic face: 400 where v1 says 422, and nothing is written.
func TestTopicsRefused(t *testing.T) {
	t.Parallel()
	b := startTopics(t, "APBRIDGE_LIMITS__BODY=4096", "APBRIDGE_LIMITS__MAX_JSON_DEPTH=20", "APBRIDGE_LIMITS__ARTIFACT=1024")
	const root = "/ap/v2/topics"
	topic := root + "/" + b.want(201, "POST", root, `{"name":"x"}`).TopicID
	other := "/agents/graph/ap/v2/topics/" + b.want(201, "POST", "/agents/graph/ap/v2/topics", "{}").TopicID
	task := topic + "/tasks/" + deref(b.want(201, "POST", topic+"/tasks", `{"input":"hi"}`).TaskID)
	elsewhere := root + "/" + b.want(201, "POST", root, `{}`).TopicID + strings.TrimPrefix(task, topic)
	before := b.counts(topic)
	deep := strings.Repeat("[", 30) + strings.Repeat("]", 30)
	form := func(head, name, content string) string {
		return "--x\r\n" + head + "Content-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--x--\r\n"
	}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"topic: cut", "POST", root, `{"name":"x"`, 400},
		{"topic: a list", "POST", root, `[]`, 400},
		{"topic: name is a number", "POST", root, `{"name":5}`, 400},
		{"topic: additional_input is a text", "POST", root, `{"additional_input":"x"}`, 400},
		{"topic: a key of ours", "POST", root, `{"additional_input":{"graph_id":"graph"}}`, 400},
		{"topic: the name twice", "POST", root, `{"name":"a","name":"b"}`, 400},
		{"topic: too deep", "POST", root, `{"additional_input":{"x":` + deep + `}}`, 400},
		{"topic: too large", "POST", root, `{"name":"` + strings.Repeat("x", 5000) + `"}`, 413},
		{"topic: no UTF-8", "POST", root, "{\"name\":\"\xff\"}", 400},
		{"topic: another type", "POST", root + "?as=text", `{}`, 415},
		{"topic: unknown", "GET", root + "/nothing", "", 404},
		{"topic: another agent's", "GET", strings.TrimPrefix(other, "/agents/graph"), "", 404},
		{"topic: ours at another agent", "GET", "/agents/graph" + topic, "", 404},
		{"topic: unknown agent", "POST", "/agents/nobody" + root, "{}", 404},
		{"topic: page 0", "GET", root + "?current_page=0", "", 400},
		{"topic: page size 0", "GET", root + "?page_size=0", "", 400},
		{"topic: page size 10^10", "GET", root + "?page_size=10000000000", "", 400},
		{"topic: page in words", "GET", root + "?current_page=one", "", 400},
		{"interaction: no body", "POST", topic + "/interactions", "", 400},
		{"interaction: nothing said", "POST", topic + "/interactions", `{}`, 400},
		{"interaction: empty", "POST", topic + "/interactions", `{"input":""}`, 400},
		{"interaction: input is a list", "POST", topic + "/interactions", `{"input":["x"]}`, 400},
		{"interaction: unknown role", "POST", topic + "/interactions", `{"role":"boss","input":"x"}`, 400},
		{"interaction: role is a number", "POST", topic + "/interactions", `{"role":1,"input":"x"}`, 400},
		{"interaction: derive_task is a text", "POST", topic + "/interactions", `{"input":"x","additional_input":{"derive_task":"no"}}`, 400},
		{"interaction: unknown strategy", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":"merge"}}`, 400},
		{"interaction: strategy is a number", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":1}}`, 400},
		{"interaction: concurrent is off", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":"concurrent"}}`, 400},
		{"interaction: parallel is off", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":"parallel"}}`, 400},
		{"interaction: a system that says nothing", "POST", topic + "/interactions", `{"role":"system"}`, 400},
		{"interaction: unknown topic", "POST", root + "/nothing/interactions", `{"input":"x"}`, 404},
		{"interaction: unknown", "GET", topic + "/interactions/nothing", "", 404},
		{"interactions: unknown topic", "GET", root + "/nothing/interactions", "", 404},
		{"interactions: page 0", "GET", topic + "/interactions?current_page=0", "", 400},
		{"task: wrong type", "POST", topic + "/tasks", `{"input":5}`, 400},
		{"task: unknown strategy", "POST", topic + "/tasks", `{"additional_input":{"multitask_strategy":"merge"}}`, 400},
		{"task: unknown topic", "POST", root + "/nothing/tasks", `{"input":"x"}`, 404},
		{"tasks: unknown topic", "GET", root + "/nothing/tasks", "", 404},
		{"task: unknown", "GET", topic + "/tasks/nothing", "", 404},
		{"task: of another topic", "GET", elsewhere, "", 404},
		{"step: of another topic", "POST", elsewhere + "/steps", "", 404},
		{"step: wrong type", "POST", task + "/steps", `{"input":{}}`, 400},
		{"step: cut", "POST", task + "/steps", `{"input":`, 400},
		{"step: unknown", "GET", task + "/steps/nothing", "", 404},
		{"steps: bad cursor of a stream", "GET", task + "/steps?stream=maybe", "", 400},
		{"artifact: unknown", "GET", task + "/artifacts/nothing", "", 404},
		{"artifact: traversal", "POST", task + "/artifacts", form("", "../../x", "1"), 400},
		{"artifact: absolute", "POST", task + "/artifacts", form("", "/etc/passwd", "1"), 400},
		{"artifact: no end", "POST", task + "/artifacts", strings.TrimSuffix(form("", "x", "1"), "--x--\r\n"), 400},
		{"artifact: too large", "POST", task + "/artifacts", form("", "x", strings.Repeat("y", 2000)), 413},
		{"artifact: JSON", "POST", task + "/artifacts", `{}`, 415},
		{"artifact: of another topic", "POST", elsewhere + "/artifacts", form("", "x", "1"), 404},
		{"method: DELETE topic", "DELETE", topic, "", 405},
		{"method: PUT interactions", "PUT", topic + "/interactions", "{}", 405},
		{"method: PATCH topics", "PATCH", root, "{}", 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &topicBridge{t: t, url: b.url, doc: b.doc}
			got := b.as(c.method, c.path, c.body)
			if got.status != c.status || !strings.Contains(got.body, `"message":"`) {
				t.Errorf("got %d %s, want %d", got.status, got.body, c.status)
			}
		})
	}
	if diff := cmp.Diff(before, b.counts(topic)); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
}

// as is ask; a path that says ?as=text is sent as plain text.
func (b *topicBridge) as(method, path, body string) topicSaid {
	b.t.Helper()
	plain, text := strings.CutSuffix(path, "?as=text")
	if !text {
		return b.ask(method, path, body)
	}
	res, err := http.Post(b.url+plain, "text/plain", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	return topicSaid{status: res.StatusCode, body: `"message":"`}
}

// counts is how many there are of everything.
func (b *topicBridge) counts(topic string) []int {
	b.t.Helper()
	var list []int
	for _, path := range []string{"/ap/v2/topics", "/agents/graph/ap/v2/topics", topic + "/interactions", topic + "/tasks", "/ap/v1/agent/tasks"} {
		list = append(list, b.want(200, "GET", path, "").Pagination.Total)
	}
	return append(list, len(b.want(200, "GET", topic, "").Artifacts))
}

// Lists have pages, a thread made elsewhere is a topic, and a task of v1 has one.
func TestTopicsAmongThreads(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	const root = "/ap/v2/topics"
	thread := b.want(200, "POST", "/threads", `{"thread_id":"0190e1f2-0000-7000-8000-000000000001","metadata":{"name":"from elsewhere","x":1}}`)
	if got := b.want(200, "GET", root+"/0190e1f2-0000-7000-8000-000000000001", ""); got.TopicID == "" || string(got.Additional) != `{"x":1}` {
		t.Errorf("thread %s as a topic: %s", thread.body, got.body)
	}
	b.want(200, "POST", "/threads/0190e1f2-0000-7000-8000-000000000001/runs/wait", `{"assistant_id":"legacy","input":{"messages":[{"role":"user","content":"hi"}]}}`)
	if got := b.conversation(root + "/0190e1f2-0000-7000-8000-000000000001"); !cmp.Equal(got, []string{"user: hi", "agent: Done: hi"}) {
		t.Errorf("its conversation: %q", got)
	}
	if got := b.ask("GET", "/agents/graph"+root+"/0190e1f2-0000-7000-8000-000000000001", ""); got.status != 404 {
		t.Errorf("a topic of another agent: %d %s", got.status, got.body)
	}
	task := b.want(200, "POST", "/ap/v1/agent/tasks", `{"input":"old style"}`)
	own := root + "/" + deref(task.TaskID)
	if got := b.conversation(own); !cmp.Equal(got, []string{"user: old style"}) {
		t.Errorf("the conversation of a task of v1: %q", got)
	}
	more := b.want(201, "POST", own+"/interactions", `{"input":"and more"}`)
	if got := b.want(200, "GET", "/ap/v1/agent/tasks/"+deref(more.TaskID), ""); deref(got.Input) != "and more" {
		t.Errorf("a task of the topic in v1: %s", got.body)
	}
	for range 3 {
		b.want(201, "POST", root, "{}")
	}
	page := b.want(200, "GET", root+"?page_size=2&current_page=3", "")
	if len(page.Topics) != 1 || page.Pagination.Total != 5 {
		t.Errorf("the last page: %s", page.body)
	}
	if beyond := b.want(200, "GET", root+"?page_size=2&current_page=9", ""); len(beyond.Topics) != 0 {
		t.Errorf("beyond the end: %s", beyond.body)
	}
}
