package threadrun

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// A run from a missing checkpoint is refused with its id, wherever the client names it and with or without input. No
// run and no thread is created.
func TestRunFromAMissingCheckpoint(t *testing.T) {
	t.Parallel()
	const gone = "00000000-0000-7000-8000-000000000404"
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	graph := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}, rig.AsThreads)
	for name, b := range map[string]*rig.Bridge{"a task/step agent": b, "a graph": graph} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := b.Thread()
			b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
			for _, from := range []string{`"checkpoint_id":"` + gone + `"`, `"checkpoint":{"checkpoint_id":"` + gone + `"}`, `"config":{"configurable":{"checkpoint_id":"` + gone + `"}}`} {
				for _, input := range []string{"", `"input":null,`, rig.SaysHi + ","} {
					body := `{"assistant_id":"agent",` + input + from
					for _, path := range []string{at + "/runs", at + "/runs/wait", at + "/runs/stream"} {
						b.Post(path, body+"}").Want(t, 404, "checkpoint_not_found", gone)
					}
					b.Post("/runs", body+`,"thread_id":"`+strings.TrimPrefix(at, "/threads/")+`"}`).Want(t, 404, "checkpoint_not_found", gone)
					b.Post("/runs/wait", body+"}").Want(t, 404, "checkpoint_not_found", gone) // a separate thread
					b.Post(newThread()+"/runs/wait", body+`,"if_not_exists":"create"}`).Want(t, 404, "checkpoint_not_found", gone)
				}
			}
			for _, command := range []string{
				`{"id":1,"method":"run.start","params":{"assistant_id":"agent","config":{"configurable":{"checkpoint_id":"` + gone + `"}}}}`,
				`{"id":1,"method":"state.fork","params":{"checkpoint_id":"` + gone + `"}}`,
			} {
				if a := b.Post(at+"/commands", command).OK(); a.Text("error") != "no_such_checkpoint" || !strings.Contains(a.Text("message"), gone) {
					t.Errorf("%s: %s", command, a.Body)
				}
			}
			b.Post(at+"/runs", `{"assistant_id":"agent","config":{"configurable":{"checkpoint_id":"x"}}}`).Want(t, 422, "config.configurable.checkpoint_id must be a UUID")
			if runs := b.Get(at + "/runs").OK().List(""); len(runs) != 1 {
				t.Errorf("%d runs", len(runs))
			}
			if threads := b.Post("/threads/search", `{}`).OK().List(""); len(threads) != 1 {
				t.Errorf("%d threads", len(threads))
			}
		})
	}
}

// A run continues at the checkpoint in LangGraph's config as at one in the request.
func TestRunFromACheckpointInTheConfig(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, echo())
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	history := b.Get(at + "/history").OK().List("")
	root := rig.TextOf(rig.Dig(history[len(history)-1], "checkpoint.checkpoint_id"))
	got := said(t, b.Post(at+"/runs/wait", `{"assistant_id":"agent","input":"anew","config":{"configurable":{"checkpoint_id":"`+root+`"}}}`))
	if got != "anew" {
		t.Errorf("the agent received %q", got)
	}
	inner := `{"assistant_id":"agent","input":"again","config":{"configurable":{"checkpoint_ns":"node:1","checkpoint_id":"` + root + `"}}}`
	if got := said(t, b.Post(at+"/runs/wait", inner)); !strings.HasSuffix(got, "again") || got == "again" {
		t.Errorf("the agent received %q", got)
	}
}
