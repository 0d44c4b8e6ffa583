package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The artifacts of a task are those of its state: a run that is rolled back takes
// its files with it, and what it replaced is there again.
func TestFilesOfARunThatIsRolledBack(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]func(b *bridge, run string){
		"deleted":     func(b *bridge, run string) { b.do("DELETE", run, "") },
		"rolled back": func(b *bridge, run string) { b.post(run+"/cancel?action=rollback&wait=true", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := inFront(t, writer(`{"/a": "one", "/b": "one"}`, `{"/a": "two", "/c": "two", "/up": "two"}`))
			at := b.task(`{"input":"hi"}`)
			b.upload(at+"/artifacts", "up", "", "as uploaded").ok()
			pullAll(t, b, at, "")
			thread, want := "/threads/"+strings.TrimPrefix(at, "/ap/v1/agent/tasks/"), b.filesAt(at)
			run := b.post(thread+"/runs", `{"assistant_id":"agent",`+saysMore+`}`).ok().text("run_id")
			b.get(thread + "/runs/" + run + "/join").ok()
			if diff := cmp.Diff([]string{"a <nil> true two", "c <nil> true two", "up <nil> true two"}, b.filesAt(at)); diff != "" {
				t.Errorf("after the second run (-want +got):\n%s", diff)
			}
			undo(b, thread+"/runs/"+run)
			b.get(thread + "/runs/" + run).is(http.StatusNotFound)
			if diff := cmp.Diff(want, b.filesAt(at)); diff != "" {
				t.Errorf("without it (-want +got):\n%s", diff)
			}
		})
	}
}
