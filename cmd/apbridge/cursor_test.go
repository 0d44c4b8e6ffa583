package main

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// A step that was handed out is not handed out again by the next process,
// although the answer did not wait for the store.
func TestCursorSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	b := inFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}})
	at := "/ap/v1/agent/tasks/" + b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
	want := []string{"planning", "thinking <b>", "the answer is 42"}
	for _, text := range want[:2] {
		if got := b.post(at+"/steps", "").ok().text("output"); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
	}
	b.end()
	b = b.again()
	last := b.post(at+"/steps", "").ok()
	if last.text("output") != want[2] || last.at("is_last") != true {
		t.Errorf("after a restart: %s", last.body)
	}
	if n := len(b.get(at + "/steps").ok().list("steps")); n != 3 {
		t.Errorf("%d steps in all", n)
	}
}

// A task is gone with its thread, whether a step of it was pulled or not.
func TestTasksGoWithTheirThread(t *testing.T) {
	t.Parallel()
	b := inFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}})
	for _, pulled := range []bool{false, true, false} { // the agent is known from the second on
		task := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
		at := "/ap/v1/agent/tasks/" + task
		if pulled {
			pullAll(t, b, at, "")
		}
		if got := b.do(http.MethodDelete, "/threads/"+task, ""); got.status != http.StatusNoContent {
			t.Fatalf("deleting the thread: %d %s", got.status, got.body)
		}
		if got := b.get(at); got.status != http.StatusNotFound {
			t.Errorf("pulled %t: the task of a deleted thread: %d %s", pulled, got.status, got.body)
		}
		if got := b.post(at+"/steps", ""); got.status != http.StatusNotFound {
			t.Errorf("pulled %t: a step of it: %d %s", pulled, got.status, got.body)
		}
	}
}
