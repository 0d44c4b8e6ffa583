package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// tardy stands before an agent and has the nth request for work done and answered
// only when it is told to, whether or not who asked is there still.
type tardy struct {
	*gate
	left chan struct{} // closed when who asked has left
	done chan struct{} // closed when the answer is given
}

func newTardy(agent http.Handler, watches func(*http.Request) bool, nth int) *tardy {
	return &tardy{gate: newGate(agent, watches, nth), left: make(chan struct{}), done: make(chan struct{})}
}

func (a *tardy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	if a.watches(r) {
		a.seen++
	}
	held := a.watches(r) && a.seen == a.nth
	a.mu.Unlock()
	if held {
		left := gone(r)
		r = r.WithContext(context.WithoutCancel(r.Context()))
		close(a.reached)
		<-left
		close(a.left)
		<-a.passage
		defer close(a.done)
	}
	a.agent.ServeHTTP(w, r)
}

// TestA16_AnswerAfterTheTimeout: the agent does what it was asked for, and answers
// 200, after the run has timed out. The run and its thread stay as they were, the
// agent is not asked for it again, and the next run has nothing of it.
//
// Nobody can record that it was late: the connection is closed at the timeout, which
// is how the agent learns that nobody waits, and what is written to it is lost.
func TestA16_AnswerAfterTheTimeout(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*config.Agent){
		"step_timeout": func(a *config.Agent) { a.StepTimeout = 200 * time.Millisecond },
		"run_timeout":  func(a *config.Agent) { a.RunTimeout = 400 * time.Millisecond },
	} {
		t.Run(name+"/step agent", func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			late := newTardy(agent, stepPosts, 2)
			b := inFront(t, late, limit, func(a *config.Agent) { a.Dialect = "taskstep" })
			at := b.checkLate(name, late)
			if c := agent.Counts(); c.Creates != 1 || c.Steps != 2 || len(agent.Inputs()) != 2 {
				t.Errorf("%d tasks, %d steps, asked for %d; want 1, 2, 2", c.Creates, c.Steps, len(agent.Inputs()))
			}
			next := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok()
			if diff := cmp.Diff([]any{"hi", "one", "more", "one", "two", "three"}, pluck(next.list("messages"), "content")); diff != "" {
				t.Errorf("messages after the next run (-want +got):\n%s", diff)
			}
		})
		t.Run(name+"/graph", func(t *testing.T) {
			t.Parallel()
			agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
			late := newTardy(agent, runPosts, 1)
			b := inFront(t, late, limit, func(a *config.Agent) { a.Dialect = "threadrun" })
			b.checkLate(name, late)
			if agent.Work() != 1 || agent.Calls(startRoute) != 1 {
				t.Errorf("%d runs, asked for %d", agent.Work(), agent.Calls(startRoute))
			}
		})
	}
}

// checkLate starts a run, lets it time out and the agent answer, and compares what
// is told of it before and after. It returns the thread.
func (b *bridge) checkLate(code string, late *tardy) (at string) {
	b.t.Helper()
	at = b.thread()
	run := b.begin(at, `"stream_mode":["updates","values"],`)
	late.await(b.t)
	if ended := b.get(run + "/join").ok(); ended.at("__error__.error") != code {
		b.t.Errorf("the run ended with %s", ended.body)
	}
	await(b.t, "the agent sees that nobody waits", late.left)
	before := b.told(at, run)
	late.open()
	await(b.t, "the agent answers", late.done)
	b.get("/readyz").ok() // a write, after whatever the answer might have brought about
	if diff := cmp.Diff(before, b.told(at, run), cmp.AllowUnexported(frame{})); diff != "" {
		b.t.Errorf("what is told of the run (-before +after the late answer):\n%s", diff)
	}
	return at
}

// told is all that clients can learn of a run and its thread.
func (b *bridge) told(at, run string) []any {
	b.t.Helper()
	_, frames := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	all := []any{frames}
	for _, path := range []string{run, run + "/join", run + "/explain", at, at + "/state", at + "/history", at + "/runs"} {
		all = append(all, string(b.get(path).ok().body))
	}
	return all
}

func await(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(adaptertest.Patience):
		t.Fatalf("in vain waited for: %s", what)
	}
}
