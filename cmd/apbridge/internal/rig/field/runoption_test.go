package field

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestThreadThatIsNotThere checks that a run on a missing thread is refused unless the request creates the thread.
func TestThreadThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	const thread = "0190c9a2-0000-7000-8000-0000000000aa"
	for _, path := range []string{"/threads/" + thread + "/runs", "/threads/" + thread + "/runs/wait", "/threads/" + thread + "/runs/stream"} {
		for _, said := range []string{``, `"if_not_exists":"reject",`} {
			if a := b.Post(path, `{"assistant_id":"agent",`+said+rig.SaysHi+`}`); a.Status != http.StatusNotFound {
				t.Errorf("%s %q: %d %s", path, said, a.Status, a.Body)
			}
		}
	}
	b.Get("/threads/" + thread).Is(http.StatusNotFound)
	b.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","if_not_exists":"create",`+rig.SaysHi+`}`).OK()
	b.Expect("/threads/"+thread, "status", "idle")
	b.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","if_not_exists":"create",`+rig.SaysMore+`}`).OK()
}

// TestRunThatIsToStartLater checks that a delayed run is pending and holds its thread.
func TestRunThatIsToStartLater(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at := b.Thread()
	run := b.Begin(at, `"after_seconds":3600,`)
	b.Expect(run, "status", "pending")
	b.Expect(at, "status", "busy")
	b.Post(at+"/runs", `{"assistant_id":"agent","multitask_strategy":"reject",`+rig.SaysHi+`}`).Is(http.StatusConflict)
	b.Post(run+"/cancel?wait=true", "").OK()
	b.Expect(run, "status", "interrupted")
	b.Expect(at, "status", "idle")
	b.Get(run + "/join").OK()
	soon := b.Begin(at, `"after_seconds":0,`)
	b.Get(soon + "/join").OK()
	b.Expect(soon, "status", "success")
}

// TestThreadOfAStatelessRun checks that the thread of a stateless run exists, and that it is kept if requested.
func TestThreadOfAStatelessRun(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	for _, said := range []string{`"on_completion":"keep",`, ``} {
		made := b.Post("/runs", `{"assistant_id":"agent",`+said+rig.SaysHi+`}`).OK()
		run, thread := "/runs/"+made.Text("run_id"), "/threads/"+made.Text("thread_id")
		b.Get(run + "/wait").OK()
		got := b.Get(thread + "?include=ttl").OK()
		if kept := got.At("ttl") == nil; kept != (said != "") {
			t.Errorf("%q: the thread is to go: %s", said, got.Body)
		}
	}
}
