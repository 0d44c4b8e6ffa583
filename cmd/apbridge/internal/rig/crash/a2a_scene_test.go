package crash

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// messageScene is an A2A client: two messages in one context, the first of which has a push configuration. Every
// request is repeated until it is answered, the messages with the same id.
type messageScene struct{}

func (s messageScene) play(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	lost := 0
	var tasks []string
	for _, name := range []string{"one", "two"} {
		send := func(more string) string {
			return `{"message":{"messageId":"` + name + `","role":"ROLE_USER","contextId":"of the client","parts":[{"text":"hi"}]}` + more + `}`
		}
		task := d.Sure("POST", "/a2a/agent/message:send", send(`,"configuration":{"returnImmediately":true}`)).OK().Text("task.id")
		configs := "/a2a/agent/tasks/" + task + "/pushNotificationConfigs"
		d.Sure("POST", configs, `{"id":"mine","url":"`+receiver.URL+`","token":"t"}`).OK()
		done := d.Sure("POST", "/a2a/agent/message:send", send("")).OK()
		switch state := done.Text("task.status.state"); {
		case state == "TASK_STATE_COMPLETED":
		case state == "TASK_STATE_FAILED" && strings.Contains(done.String(), `{"code":"outcome_unknown"}`):
			lost++
		default:
			t.Errorf("task %s is %s: %.500s", name, state, done.Body)
		}
		if again := done.Text("task.id"); again != task {
			t.Errorf("message %s was acknowledged as task %s, and is %s now", name, task, again)
		}
		if got := d.Get(configs).List("configs"); len(got) != 1 {
			t.Errorf("the configurations are %v", got)
		}
		d.Sure("DELETE", configs+"/mine", "").OK()
		if got := d.Get(configs).List("configs"); len(got) != 0 {
			t.Errorf("a deleted configuration still exists: %v", got)
		}
		tasks = append(tasks, task)
	}
	if lost > 1 {
		t.Errorf("%d outcomes are unknown after one death", lost)
	}
	if list := d.Get("/a2a/agent/tasks?contextId=of+the+client").List("tasks"); len(list) != 2 {
		t.Errorf("the context has %d tasks", len(list))
	}
	s.checkStreams(t, d, tasks)
	checkWork(t, peer, 2, lost)
	d.Get("/readyz")
	d.End()
}

// checkStreams checks that repeated reads of a task's stream return the same.
func (s messageScene) checkStreams(t *testing.T, d *rig.Killable, tasks []string) {
	t.Helper()
	for _, task := range tasks {
		read := func() string {
			return d.Sure("POST", "/a2a/agent/tasks/"+task+":subscribe", "", "Last-Event-ID", "0").OK().String()
		}
		first := read()
		if diff := cmp.Diff(first, read()); diff != "" || !strings.Contains(first, "statusUpdate") {
			t.Errorf("the stream of %s (-first +again):\n%s\n%s", task, first, diff)
		}
	}
}
