package threadrun

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestRollbackAlsoUndoesTheRunAtTheAgent checks that the next run does not begin with the changes of a run that was
// stopped in the middle, although the graph's thread still has them.
func TestRollbackAlsoUndoesTheRunAtTheAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		earlier bool
		want    string
	}{
		"the thread's first run": {false, "third one two three"},
		"a later run":            {true, "first one two three third one two three"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nth := 1
			if c.earlier {
				nth = 2
			}
			gate := rig.NewGate(rig.NewMemoryGraph(), rig.RunPosts, nth)
			gate.Flushes = 4
			b := rig.InFront(t, gate)
			at := b.Thread()
			say := func(words string) { b.Post(at+"/runs/wait", saying(words)).OK() }
			if c.earlier {
				say("first")
			}
			run := at + "/runs/" + b.Post(at+"/runs", saying("second")).OK().Text("run_id")
			gate.Await(t)
			b.Post(run+"/cancel?wait=true&action=rollback", "")
			b.Get(run).Is(http.StatusNotFound)
			say("third")
			if got := contents(b.Get(at + "/state").OK()); got != c.want {
				t.Errorf("the state has %q, want %q", got, c.want)
			}
			say("fourth")
			if got := contents(b.Get(at + "/state").OK()); got != c.want+" fourth one two three" {
				t.Errorf("the state has %q after another run", got)
			}
		})
	}
}

// TestRollbackOfARunThatTheAgentHasNotAnswered checks the same for a run that the agent begins only after the bridge has
// stopped waiting for its first byte.
func TestRollbackOfARunThatTheAgentHasNotAnswered(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(rig.NewMemoryGraph(), rig.RunPosts, 2)
	executed := make(chan struct{}, 4)
	b := rig.InFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gate.ServeHTTP(w, r)
		if rig.RunPosts(r) {
			executed <- struct{}{}
		}
	}))
	at := b.Thread()
	b.Post(at+"/runs/wait", saying("first")).OK()
	<-executed
	run := at + "/runs/" + b.Post(at+"/runs", saying("second")).OK().Text("run_id")
	gate.Await(t)
	b.Post(run+"/cancel?wait=true&action=rollback", "")
	<-executed // the agent's thread has the second message
	b.Post(at+"/runs/wait", saying("third")).OK()
	want := "first one two three third one two three"
	if got := contents(b.Get(at + "/state").OK()); got != want {
		t.Errorf("the state has %q, want %q", got, want)
	}
}

// TestDeletingAQueuedRunUndoesNothing checks that the run after a failed one continues in its agent's thread, even if a
// run that had not started was deleted.
func TestDeletingAQueuedRunUndoesNothing(t *testing.T) {
	t.Parallel()
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{
		{Frames: []string{`metadata {"run_id":"{{run}}"}`, `values {"messages":`}}, adaptertest.ChatPlay(),
	}}
	b := rig.InFront(t, graph)
	at := b.Thread()
	b.Post(at+"/runs/wait", saying("first")).OK()
	late := b.Post(at+"/runs", `{"assistant_id":"agent","input":{},"after_seconds":600}`).OK().Text("run_id")
	b.Post(at+"/runs/"+late+"/cancel?wait=true&action=rollback", "")
	b.Get(at + "/runs/" + late).Is(http.StatusNotFound)
	if got := b.Post(at+"/runs/wait", saying("second")).OK(); got.At("__error__") != nil {
		t.Errorf("the run began on a separate upstream thread: %s", got.Body)
	}
}

// TestRealRollback is TestRollbackAlsoUndoesTheRunAtTheAgent with a LangGraph server.
func TestRealRollback(t *testing.T) {
	t.Parallel()
	o := newOwned(t, newWire(t))
	for _, earlier := range []bool{false, true} {
		at := o.Thread()
		say := func(words string) {
			o.Post(at+"/runs/wait", `{"assistant_id":"slow","input":{"messages":[{"role":"user","content":"`+words+`"}]}}`).OK()
		}
		if earlier {
			say("earlier, in 30 ms")
		}
		run := at + "/runs/" + o.Post(at+"/runs", `{"assistant_id":"slow","input":{"messages":[{"role":"user","content":"undone, in 9000 ms"}]}}`).OK().Text("run_id")
		rig.Eventually(t, "the first step is done", func() bool { return strings.Contains(contents(o.Get(at+"/state").OK()), "undone") })
		o.Post(run+"/cancel?wait=true&action=rollback", "")
		o.Get(run).Is(http.StatusNotFound)
		say("later, in 30 ms")
		got := contents(o.Get(at + "/state").OK())
		if strings.Contains(got, "undone") || strings.Contains(got, "earlier") != earlier || !strings.Contains(got, "later") {
			t.Errorf("with an earlier run %t the state has %q", earlier, got)
		}
	}
}

func saying(words string) string {
	return `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"` + words + `"}]}}`
}
