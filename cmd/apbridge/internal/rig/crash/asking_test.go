package crash

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

// TestNewTaskCancelsTheOneThatAsksAtOnce checks that a task that waits for an answer is canceled with the creation of the
// next task in its context (A2A, S 3.4.2), even if the process dies there and the client does not repeat its message.
func TestNewTaskCancelsTheOneThatAsksAtOnce(t *testing.T) {
	t.Parallel()
	for point, want := range map[failpoint.Point]struct {
		tasks int
		state string
	}{
		failpoint.Before("store.Runs.Create"): {1, "TASK_STATE_INPUT_REQUIRED"},
		failpoint.After("store.Runs.Create"):  {2, "TASK_STATE_CANCELED"},
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			d := rig.NewKillable(t, blank.DSN(t), &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.AskPlay(), adaptertest.ChatPlay()}}, string(point)+"#2")
			message := func(id string) string {
				return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","contextId":"c","parts":[{"text":"hi"}]}}`
			}
			asked := d.Sure("POST", "/a2a/agent/message:send", message("one")).OK()
			if got := asked.Text("task.status.state"); got != "TASK_STATE_INPUT_REQUIRED" {
				t.Fatalf("the first task is %s", got)
			}
			if a, ok := d.Try("POST", "/a2a/agent/message:send", message("two")); ok {
				t.Fatalf("the point was not reached: %s", a.Body)
			}
			list := d.Get("/a2a/agent/tasks?contextId=c").List("tasks")
			if len(list) != want.tasks {
				t.Errorf("%d tasks, want %d", len(list), want.tasks)
			}
			task := "/a2a/agent/tasks/" + asked.Text("task.id")
			if got := d.Get(task).Text("status.state"); got != want.state {
				t.Errorf("the task that asked is %s, want %s", got, want.state)
			}
			for _, one := range list { // the stream of the new task ends with its run
				d.Sure("POST", "/a2a/agent/tasks/"+rig.TextOf(rig.Dig(one, "id"))+":subscribe", "", "Last-Event-ID", "0").OK()
			}
			d.End()
			checkRecord(t, d.Dsn, false)
		})
	}
}
