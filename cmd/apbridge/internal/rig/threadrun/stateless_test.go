package threadrun

import (
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestListsOmitThreadsOfStatelessRuns checks that lists of threads omit the threads of stateless runs, while lists of
// runs include all runs.
func TestListsOmitThreadsOfStatelessRuns(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, "limits: {tenant: {threads: 2}}"+rig.OneAgent, rig.Legacy())
	thread := b.Thread()[len("/threads/"):]
	for range 3 { // ended ones do not count as threads
		b.Do("POST", "/runs/wait", `{"input":"hi"}`).Want(t, 200, `"status":"success"`)
	}
	runs := b.Do("POST", "/runs/search", `{}`).OK()
	if n := len(runs.List("")); n != 3 {
		t.Errorf("%d runs are listed", n)
	}
	if list := b.Do("POST", "/threads/search", `{}`).OK(); len(list.List("")) != 1 || list.Text("0.thread_id") != thread {
		t.Errorf("threads: %s", list.Body)
	}
	if n := b.Do("POST", "/threads/count", `{}`).OK(); string(n.Body) != "1" {
		t.Errorf("the count of threads is %s", n.Body)
	}
	of := runs.Text("0.thread_id")
	b.Get("/threads/" + of).OK()
	if list := b.Do("POST", "/threads/search", `{"ids":["`+of+`"]}`).OK(); len(list.List("")) != 1 {
		t.Errorf("a thread with a given id is not found: %s", list.Body)
	}
	b.Thread()
	b.Do("POST", "/threads", `{}`).Want(t, 429, "quota_threads")
}
