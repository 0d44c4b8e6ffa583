package taskstep

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTopicsRefused checks refusals that need more than one object or a rule of topics: 400 where v1 has 422, and
// nothing is written. TestBadInputOnEveryRoute of package matrix has malformed bodies, unknown ids, pages and methods.
func TestTopicsRefused(t *testing.T) {
	t.Parallel()
	b := startTopics(t)
	const root = "/ap/v2/topics"
	topic := root + "/" + b.want(201, "POST", root, `{"name":"x"}`).TopicID
	other := "/agents/graph/ap/v2/topics/" + b.want(201, "POST", "/agents/graph/ap/v2/topics", "{}").TopicID
	task := topic + "/tasks/" + deref(b.want(201, "POST", topic+"/tasks", `{"input":"hi"}`).TaskID)
	elsewhere := root + "/" + b.want(201, "POST", root, `{}`).TopicID + strings.TrimPrefix(task, topic)
	before := b.counts(topic)
	const form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n1\r\n--x--\r\n"
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"topic: a key of ours", "POST", root, `{"additional_input":{"graph_id":"graph"}}`, 400},
		{"topic: another agent's", "GET", strings.TrimPrefix(other, "/agents/graph"), "", 404},
		{"topic: ours at another agent", "GET", "/agents/graph" + topic, "", 404},
		{"interaction: no body", "POST", topic + "/interactions", "", 400},
		{"interaction: nothing said", "POST", topic + "/interactions", `{}`, 400},
		{"interaction: empty", "POST", topic + "/interactions", `{"input":""}`, 400},
		{"interaction: unknown role", "POST", topic + "/interactions", `{"role":"boss","input":"x"}`, 400},
		{"interaction: role is a number", "POST", topic + "/interactions", `{"role":1,"input":"x"}`, 400},
		{"interaction: derive_task is a text", "POST", topic + "/interactions", `{"input":"x","additional_input":{"derive_task":"no"}}`, 400},
		{"interaction: unknown strategy", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":"merge"}}`, 400},
		{"interaction: strategy is a number", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":1}}`, 400},
		{"interaction: concurrent is off", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":"concurrent"}}`, 400},
		{"interaction: parallel is off", "POST", topic + "/interactions", `{"input":"x","additional_input":{"multitask_strategy":"parallel"}}`, 400},
		{"interaction: a system that says nothing", "POST", topic + "/interactions", `{"role":"system"}`, 400},
		{"task: unknown strategy", "POST", topic + "/tasks", `{"additional_input":{"multitask_strategy":"merge"}}`, 400},
		{"task: of another topic", "GET", elsewhere, "", 404},
		{"step: of another topic", "POST", elsewhere + "/steps", "", 404},
		{"artifact: of another topic", "POST", elsewhere + "/artifacts", form, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &topicBridge{t: t, url: b.url, doc: b.doc}
			got := b.ask(c.method, c.path, c.body)
			if got.status != c.status || !strings.Contains(got.body, `"message":"`) {
				t.Errorf("got %d %s, want %d", got.status, got.body, c.status)
			}
		})
	}
	if diff := cmp.Diff(before, b.counts(topic)); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
}

// counts returns the number of objects of each kind.
func (b *topicBridge) counts(topic string) []int {
	b.t.Helper()
	var list []int
	for _, path := range []string{"/ap/v2/topics", "/agents/graph/ap/v2/topics", topic + "/interactions", topic + "/tasks", "/ap/v1/agent/tasks"} {
		list = append(list, b.want(200, "GET", path, "").Pagination.Total)
	}
	return append(list, len(b.want(200, "GET", topic, "").Artifacts))
}

// Lists have pages, a thread created through another face is a topic, and a task of v1 has a topic.
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
