package threadrun

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// inFrontOfInner starts a bridge with a graph whose question is in a graph two levels deep, and a thread with its
// question.
func inFrontOfInner(t *testing.T) (b *rig.Bridge, agent *adaptertest.ThreadAgent, at string) {
	t.Helper()
	agent = &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.InnerPlay(false), adaptertest.ChatPlay()}}
	b = rig.InFront(t, agent)
	at, _ = atItsQuestion(b, "")
	return b, agent, at
}

// TestStateNamesTheGraphThatAsks checks that the task of an inner graph names its checkpoints, from which clients take
// the namespace of its questions.
func TestStateNamesTheGraphThatAsks(t *testing.T) {
	t.Parallel()
	b, agent, at := inFrontOfInner(t)
	before := agent.Calls("GET /threads/{t}/state")
	want := map[string]any{"thread_id": strings.TrimPrefix(at, "/threads/"), "checkpoint_ns": adaptertest.MiddleNS}
	if diff := cmp.Diff(want, b.Get(at+"/state").OK().At("tasks.0.checkpoint")); diff != "" {
		t.Errorf("checkpoint of the task (-want +got):\n%s", diff)
	}
	if n := agent.Calls("GET /threads/{t}/state") - before; n > 1 {
		t.Errorf("the agent was called %d times for the tasks of one state", n)
	}
}

// TestProtocolSendsQuestionsInTheirNamespace checks that a question is exactly one event, with the namespace of the
// graph that asks.
func TestProtocolSendsQuestionsInTheirNamespace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subgraphs bool
		want      string
	}{"its frames are heard": {true, adaptertest.BottomNS}, "its frames are not heard": {false, adaptertest.MiddleNS}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.InnerPlay(c.subgraphs)}})
			thread := newThread()
			got := command(b, thread, starts)
			b.Get(thread + "/runs/" + got.Text("result.run_id") + "/join").OK()
			var asked []string
			for _, f := range events(b, thread+"/stream/events", everything, 1, runOver) {
				var ns []string
				for _, segment := range f.At("params.namespace").([]any) {
					ns = append(ns, segment.(string))
				}
				switch {
				case f.Event == "input.requested":
					asked = append(asked, strings.Join(ns, "|"))
				case len(ns) > 0 && (f.Event == "updates" || f.Event == "values"):
					t.Errorf("a question is in the event %s %s", f.Event, f.Data)
				}
			}
			if diff := cmp.Diff([]string{c.want}, asked); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		})
	}
}
