package crash

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

// messageScene is an A2A client: two messages in one context. Each has a push configuration, and its task gets another
// one, which is deleted after its end. Every request is repeated until it is answered, the messages with the same id.
type messageScene struct{}

func (s messageScene) play(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	receiver := newPushes(t)
	lost := 0
	var tasks []string
	for _, name := range []string{"one", "two"} {
		send := func(more string) string {
			return `{"message":{"messageId":"` + name + `","role":"ROLE_USER","contextId":"of the client","parts":[{"text":"hi"}]}` + more + `}`
		}
		first := send(`,"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"id":"kept","url":"` + receiver.url + `/kept"}}`)
		task := d.Sure("POST", "/a2a/agent/message:send", first).OK().Text("task.id")
		configs := "/a2a/agent/tasks/" + task + "/pushNotificationConfigs"
		d.Sure("POST", configs, `{"id":"mine","url":"`+receiver.url+`/mine","token":"t"}`).OK()
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
		if got := d.Get(configs).List("configs"); len(got) != 2 {
			t.Errorf("the configurations are %v", got)
		}
		d.Sure("DELETE", configs+"/mine", "").OK()
		if got := d.Get(configs).List("configs"); len(got) != 1 || rig.Dig(got[0], "id") != "kept" {
			t.Errorf("after the deletion of one, the configurations are %v", got)
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
	rig.Eventually(t, "the ends of the tasks are pushed, or the process has died", func() bool {
		d.Get("/readyz")
		return d.Died || receiver.ended("/kept") == len(tasks)
	})
	d.End()
	receiver.check(t, d.Dsn, tasks)
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

// pushes receives push notifications.
type pushes struct {
	url string
	mu  sync.Mutex
	got []push
}

// push is a received notification.
type push struct{ path, delivery, task, context, state string }

func newPushes(t *testing.T) *pushes {
	t.Helper()
	p := &pushes{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		type status struct{ State string }
		var m struct {
			Task *struct {
				ID, ContextID string
				Status        status
			}
			StatusUpdate *struct {
				TaskID, ContextID string
				Status            status
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		got := push{path: r.URL.Path, delivery: r.Header.Get("X-Apbridge-Delivery")}
		switch {
		case m.Task != nil:
			got.task, got.context, got.state = m.Task.ID, m.Task.ContextID, m.Task.Status.State
		case m.StatusUpdate != nil:
			got.task, got.context, got.state = m.StatusUpdate.TaskID, m.StatusUpdate.ContextID, m.StatusUpdate.Status.State
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got = append(p.got, got)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// of returns the notifications of a task at a path without repetitions, which directly follow each other.
func (p *pushes) of(path, task string) []push {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(p.got), func(g push) bool { return g.path != path || g.task != task })
	return slices.Compact(list)
}

// ended returns the number of ends of tasks among the notifications at a path.
func (p *pushes) ended(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := map[string]bool{}
	for _, g := range p.got {
		if g.path == path && (g.state == "TASK_STATE_COMPLETED" || g.state == "TASK_STATE_FAILED") {
			ended[g.task] = true
		}
	}
	return len(ended)
}

// check compares the notifications with the outbox. Each row of a kept configuration has arrived or will arrive, in order.
// The rows of the deleted configurations may be gone, so their states only have to be in order.
func (p *pushes) check(t *testing.T, dsn string, tasks []string) {
	t.Helper()
	st := openRecord(t, dsn)
	defer st.Close()
	for _, g := range p.got {
		if !slices.Contains(tasks, g.task) || g.context != "of the client" || g.delivery == "" {
			t.Errorf("pushed %+v", g)
		}
	}
	states := map[mapping.TaskStatus]string{mapping.TaskWorking: "TASK_STATE_WORKING", mapping.TaskDone: "TASK_STATE_COMPLETED", mapping.TaskFailed: "TASK_STATE_FAILED"}
	for _, task := range tasks {
		rows, err := st.Deliveries.List(t.Context(), task, 0) // the task has the id of its run
		if err != nil {
			t.Fatal(err)
		}
		rows = slices.DeleteFunc(rows, func(d store.Delivery) bool { return d.Hook != "a2a kept" })
		slices.Reverse(rows)
		got := p.of("/kept", task)
		if len(rows) != 2 || rows[0].Status != mapping.TaskWorking || !rows[1].Status.Ended() || len(got) > len(rows) {
			t.Errorf("task %s has %d rows, and %d notifications arrived: %+v, %+v", task, len(rows), len(got), rows, got)
			continue
		}
		for i, row := range rows {
			switch want := (push{"/kept", row.ID, task, "of the client", states[row.Status]}); {
			case row.Error != "" || i >= len(got) && row.Due.IsZero():
				t.Errorf("the notification of %s did not arrive, and its row is %+v", row.Status, row)
			case i < len(got) && got[i] != want:
				t.Errorf("notification %d is %+v, want %+v", i, got[i], want)
			}
		}
		if mine := p.of("/mine", task); len(mine) > 2 || len(mine) == 2 && (mine[0].state != "TASK_STATE_WORKING" || mine[1].state != states[rows[1].Status]) {
			t.Errorf("a deleted configuration got %+v", mine)
		}
	}
}
