package main

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// TestThreadThatIsNotThere: a run on it is refused, unless it is to make it.
func TestThreadThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	const thread = "0190c9a2-0000-7000-8000-0000000000aa"
	for _, path := range []string{"/threads/" + thread + "/runs", "/threads/" + thread + "/runs/wait", "/threads/" + thread + "/runs/stream"} {
		for _, said := range []string{``, `"if_not_exists":"reject",`} {
			if a := b.post(path, `{"assistant_id":"agent",`+said+saysHi+`}`); a.status != http.StatusNotFound {
				t.Errorf("%s %q: %d %s", path, said, a.status, a.body)
			}
		}
	}
	b.get("/threads/" + thread).is(http.StatusNotFound)
	b.post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","if_not_exists":"create",`+saysHi+`}`).ok()
	b.expect("/threads/"+thread, "status", "idle")
	b.post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","if_not_exists":"create",`+saysMore+`}`).ok()
}

// TestRunThatIsToStartLater: until then it is pending and holds its thread.
func TestRunThatIsToStartLater(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at := b.thread()
	run := b.begin(at, `"after_seconds":3600,`)
	b.expect(run, "status", "pending")
	b.expect(at, "status", "busy")
	b.post(at+"/runs", `{"assistant_id":"agent","multitask_strategy":"reject",`+saysHi+`}`).is(http.StatusConflict)
	b.post(run+"/cancel?wait=true", "").ok()
	b.expect(run, "status", "interrupted")
	b.expect(at, "status", "idle")
	b.get(run + "/join").ok()
	soon := b.begin(at, `"after_seconds":0,`)
	b.get(soon + "/join").ok()
	b.expect(soon, "status", "success")
}

// TestThreadOfAStatelessRun: it is there, and stays where it is to be kept.
func TestThreadOfAStatelessRun(t *testing.T) {
	t.Parallel()
	b := inFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	for _, said := range []string{`"on_completion":"keep",`, ``} {
		made := b.post("/runs", `{"assistant_id":"agent",`+said+saysHi+`}`).ok()
		run, thread := "/runs/"+made.text("run_id"), "/threads/"+made.text("thread_id")
		b.get(run + "/wait").ok()
		got := b.get(thread).ok()
		if kept := got.at("ttl") == nil; kept != (said != "") {
			t.Errorf("%q: the thread is to go: %s", said, got.body)
		}
	}
}
