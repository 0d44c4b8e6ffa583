package taskstep

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// The artifacts of a task are those of its state: a rollback removes the run's files and restores those that it
// replaced.
func TestFilesOfARolledBackRun(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]func(b *rig.Bridge, run string){
		"deleted":     func(b *rig.Bridge, run string) { b.Do("DELETE", run, "") },
		"rolled back": func(b *rig.Bridge, run string) { b.Post(run+"/cancel?action=rollback&wait=true", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, writer(`{"/a": "one", "/b": "one"}`, `{"/a": "two", "/c": "two", "/up": "two"}`))
			at := b.Task(`{"input":"hi"}`)
			b.Upload(at+"/artifacts", "up", "", "as uploaded").OK()
			rig.PullAll(t, b, at, "")
			thread, want := "/threads/"+strings.TrimPrefix(at, "/ap/v1/agent/tasks/"), filesAt(b, at)
			run := b.Post(thread+"/runs", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK().Text("run_id")
			b.Get(thread + "/runs/" + run + "/join").OK()
			if diff := cmp.Diff([]string{"a <nil> true two", "c <nil> true two", "up <nil> true two"}, filesAt(b, at)); diff != "" {
				t.Errorf("after the second run (-want +got):\n%s", diff)
			}
			undo(b, thread+"/runs/"+run)
			b.Get(thread + "/runs/" + run).Is(http.StatusNotFound)
			if diff := cmp.Diff(want, filesAt(b, at)); diff != "" {
				t.Errorf("after the rollback (-want +got):\n%s", diff)
			}
		})
	}
}
