package taskstep

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// A step that was handed out is not handed out again by the next process, although the response did not wait until the
// store had recorded it.
func TestCursorSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}})
	at := "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	want := []string{"planning", "thinking <b>", "the answer is 42"}
	for _, text := range want[:2] {
		if got := b.Post(at+"/steps", "").OK().Text("output"); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
	}
	b.End()
	b = b.Again()
	last := b.Post(at+"/steps", "").OK()
	if last.Text("output") != want[2] || last.At("is_last") != true {
		t.Errorf("after a restart: %s", last.Body)
	}
	if n := len(b.Get(at + "/steps").OK().List("steps")); n != 3 {
		t.Errorf("%d steps in all", n)
	}
}

// A task is deleted with its thread, whether or not one of its steps was pulled.
func TestDeletingAThreadDeletesItsTask(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}})
	for _, pulled := range []bool{false, true, false} { // the agent is known from the second on
		task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
		at := "/ap/v1/agent/tasks/" + task
		if pulled {
			rig.PullAll(t, b, at, "")
		}
		if got := b.Do(http.MethodDelete, "/threads/"+task, ""); got.Status != http.StatusNoContent {
			t.Fatalf("deleting the thread: %d %s", got.Status, got.Body)
		}
		if got := b.Get(at); got.Status != http.StatusNotFound {
			t.Errorf("pulled %t: the task of a deleted thread: %d %s", pulled, got.Status, got.Body)
		}
		if got := b.Post(at+"/steps", ""); got.Status != http.StatusNotFound {
			t.Errorf("pulled %t: a step of it: %d %s", pulled, got.Status, got.Body)
		}
	}
}
