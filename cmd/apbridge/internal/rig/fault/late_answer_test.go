package fault

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// lateAgent is a proxy of an agent. It delays the nth request for work until it is released, whether or not the caller
// is still connected.
type lateAgent struct {
	*rig.Gate
	left chan struct{} // closed when the caller has left
	done chan struct{} // closed when the answer is given
}

func newLateAgent(agent http.Handler, watches func(*http.Request) bool, nth int) *lateAgent {
	return &lateAgent{Gate: rig.NewGate(agent, watches, nth), left: make(chan struct{}), done: make(chan struct{})}
}

func (a *lateAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.Mu.Lock()
	if a.Watches(r) {
		a.Seen++
	}
	held := a.Watches(r) && a.Seen == a.Nth
	a.Mu.Unlock()
	if held {
		left := rig.Gone(r)
		r = r.WithContext(context.WithoutCancel(r.Context()))
		close(a.Reached)
		<-left
		close(a.left)
		<-a.Passage
		defer close(a.done)
	}
	a.Agent.ServeHTTP(w, r)
}

// TestAnswerAfterTheTimeout covers an agent that does its work and answers 200 after the run has timed out. The run and
// its thread are unchanged, the agent is not called again, and the next run does not get the late result. The late
// answer is not recorded, because the connection is closed at the timeout.
func TestAnswerAfterTheTimeout(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*config.Agent){
		"step_timeout": func(a *config.Agent) { a.StepTimeout = 3 * time.Second },
		"run_timeout":  func(a *config.Agent) { a.RunTimeout = 5 * time.Second },
	} {
		t.Run(name+"/step agent", func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			late := newLateAgent(agent, rig.StepPosts, 2)
			b := rig.InFront(t, late, limit, func(a *config.Agent) { a.Dialect = "taskstep" })
			at := checkLate(b, name, late)
			if c := agent.Counts(); c.Creates != 1 || c.Steps != 2 || len(agent.Inputs()) != 2 {
				t.Errorf("%d tasks, %d steps, asked for %d; want 1, 2, 2", c.Creates, c.Steps, len(agent.Inputs()))
			}
			next := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK()
			if diff := cmp.Diff([]any{"hi", "one", "Error: ", "more", "one", "two", "three"}, withoutReasons(rig.Pluck(next.List("messages"), "content"))); diff != "" {
				t.Errorf("messages after the next run (-want +got):\n%s", diff)
			}
		})
		t.Run(name+"/graph", func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			late := newLateAgent(agent, rig.RunPosts, 1)
			b := rig.InFront(t, late, limit, func(a *config.Agent) { a.Dialect = "threadrun" })
			checkLate(b, name, late)
			if agent.Work() != 1 || agent.Calls(rig.StartRoute) != 1 {
				t.Errorf("%d runs, asked for %d", agent.Work(), agent.Calls(rig.StartRoute))
			}
		})
	}
}

// withoutReasons replaces the reasons in messages about failed runs.
func withoutReasons(texts []any) []any {
	for i, text := range texts {
		if said, _ := text.(string); strings.HasPrefix(said, "Error: ") {
			texts[i] = "Error: "
		}
	}
	return texts
}

// checkLate starts a run, waits for its timeout and then lets the agent answer. It compares the responses about the run
// before and after the answer, and returns the thread.
func checkLate(b *rig.Bridge, code string, late *lateAgent) (at string) {
	b.T.Helper()
	at = b.Thread()
	run := b.Begin(at, `"stream_mode":["updates","values"],`)
	late.Await(b.T)
	if ended := b.Get(run + "/join").OK(); ended.At("__error__.error") != code {
		b.T.Errorf("the run ended with %s", ended.Body)
	}
	await(b.T, "the agent sees that nobody waits", late.left)
	before := told(b, at, run)
	late.Open()
	await(b.T, "the agent answers", late.done)
	b.Get("/readyz").OK() // a write, after any effect of the late answer
	if diff := cmp.Diff(before, told(b, at, run)); diff != "" {
		b.T.Errorf("what is told of the run (-before +after the late answer):\n%s", diff)
	}
	return at
}

// told returns everything that clients can read about a run and its thread.
func told(b *rig.Bridge, at, run string) []any {
	b.T.Helper()
	_, frames := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	all := []any{frames}
	for _, path := range []string{run, run + "/join", run + "/explain", at, at + "/state", at + "/history", at + "/runs"} {
		all = append(all, string(b.Get(path).OK().Body))
	}
	return all
}

func await(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(adaptertest.Patience):
		t.Fatalf("timed out waiting for: %s", what)
	}
}
