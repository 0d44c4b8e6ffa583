package threadrun

import (
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// Each checkpoint has metadata about its run, as in LangGraph, and histories can be filtered by it. It contains no
// credentials.
func TestCheckpointMetadataDescribesTheRun(t *testing.T) {
	t.Parallel()
	for kind, start := range map[string]func(t *testing.T) *rig.Bridge{
		"task/step": func(t *testing.T) *rig.Bridge { return rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain)) },
		"thread/run": func(t *testing.T) *rig.Bridge {
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			return rig.InFront(t, agent, rig.AsThreads)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			assistant := b.Post("/assistants", `{"graph_id":"agent","metadata":{"team":"blue"},"config":{"configurable":{"model_name":"small"}}}`).OK().Text("assistant_id")
			at := "/threads/" + b.Post("/threads", `{"metadata":{"topic":"weather"}}`).OK().Text("thread_id")
			run := func(mark string) {
				b.Post(at+"/runs/wait", `{"assistant_id":"`+assistant+`","input":{"messages":[{"role":"user","content":"hi"}]},"metadata":{"mark":"`+mark+`"},
					"config":{"configurable":{"user_id":"ada","api_key":"plain-secret","parts":[1]}}}`).OK()
			}
			run("first")
			first := len(b.Get(at + "/history").OK().List(""))
			run("second")
			all := len(b.Post(at+"/history", `{"limit":100}`).OK().List(""))
			newest := b.Get(at + "/state").OK().Text("metadata.run_id")
			for metadata, want := range map[string]int{
				`{"mark":"first"}`:                              first,
				`{"mark":"second"}`:                             all - first,
				`{"mark":"third"}`:                              0,
				`{"run_id":"` + newest + `"}`:                   all - first,
				`{"mark":"second","source":"input"}`:            1,
				`{"user_id":"ada"}`:                             all,
				`{"model_name":"small"}`:                        all,
				`{"graph_id":"agent"}`:                          all,
				`{"assistant_id":"` + assistant + `"}`:          all,
				`{"team":"blue"}`:                               all,
				`{"topic":"weather"}`:                           all,
				`{"run_attempt":1}`:                             all,
				`{"parents":{}}`:                                all,
				`{"thread_id":"` + at[len("/threads/"):] + `"}`: all,
				`{"api_key":"plain-secret"}`:                    0,
				`{"parts":[1]}`:                                 0,
			} {
				found := b.Post(at+"/history", `{"limit":100,"metadata":`+metadata+`}`).OK()
				if got := len(found.List("")); got != want {
					t.Errorf("%s: %d of %d checkpoints, want %d", metadata, got, all, want)
				}
			}
			update := b.Post(at+"/state", `{"values":{"note":1},"as_node":"agent"}`).OK().Text("checkpoint.checkpoint_id")
			if found := b.Post(at+"/history", `{"metadata":{"source":"update","graph_id":"agent"}}`).OK().List(""); len(found) != 1 || rig.Dig(found[0], "checkpoint.checkpoint_id") != update ||
				rig.Dig(found[0], "metadata.run_id") != nil || rig.Dig(found[0], "metadata.as_node") != "agent" {
				t.Errorf("the update %s is found as %v", update, found)
			}
			if history := b.Get(at + "/history").OK(); rig.Says(fmt.Sprint(history), "plain-secret") {
				t.Errorf("the history contains a credential: %s", history)
			}
		})
	}
}
