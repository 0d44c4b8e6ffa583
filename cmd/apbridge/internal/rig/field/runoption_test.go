package field

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestRunOnAMissingThread checks that a run on a missing thread is refused unless the request creates the thread.
func TestRunOnAMissingThread(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	const thread = "0190c9a2-0000-7000-8000-0000000000aa"
	for _, path := range []string{"/threads/" + thread + "/runs", "/threads/" + thread + "/runs/wait", "/threads/" + thread + "/runs/stream"} {
		for _, option := range []string{``, `"if_not_exists":"reject",`} {
			if a := b.Post(path, `{"assistant_id":"agent",`+option+rig.SaysHi+`}`); a.Status != http.StatusNotFound {
				t.Errorf("%s %q: %d %s", path, option, a.Status, a.Body)
			}
		}
	}
	b.Get("/threads/" + thread).Is(http.StatusNotFound)
	b.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","if_not_exists":"create",`+rig.SaysHi+`}`).OK()
	b.Expect("/threads/"+thread, "status", "idle")
	b.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","if_not_exists":"create",`+rig.SaysMore+`}`).OK()
}

// TestDelayedRunHoldsItsThread checks that a delayed run is pending and holds its thread.
func TestDelayedRunHoldsItsThread(t *testing.T) {
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
