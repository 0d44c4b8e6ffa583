package main

import (
	"net/http"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// task makes a task of the default agent and returns its path.
func (b *bridge) task(body string) string {
	b.t.Helper()
	return "/ap/v1/agent/tasks/" + b.post("/ap/v1/agent/tasks", body).ok().text("task_id")
}

// say posts for a step with words.
func (b *bridge) say(at, words string) answer {
	b.t.Helper()
	return b.post(at+"/steps", `{"input":"`+words+`"}`).ok()
}

// threadOfTask is the path of a task's thread.
func threadOfTask(at string) string { return "/threads/" + at[len("/ap/v1/agent/tasks/"):] }

// TestLockstepModes: what each way of stepping hands out before either kind of
// agent, and how far the agent is ahead of its client.
func TestLockstepModes(t *testing.T) {
	t.Parallel()
	graph := func(plays ...adaptertest.ThreadPlay) func() adaptertest.Peer {
		return func() adaptertest.Peer { return &adaptertest.ThreadAgent{Plays: plays} }
	}
	steps := func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Plain) }
	for _, tt := range []struct {
		name    string
		peer    func() adaptertest.Peer
		mode    func(*config.Agent)
		texts   []string
		atFirst int // work the agent has done when the first step was handed out and nothing more comes
	}{
		{"lockstep/step agent", steps, lockstep, []string{"one", "two", "three"}, 1},
		{"free/step agent", steps, free, []string{"one", "two", "three"}, 3},
		{"run/step agent", steps, whole, []string{"three"}, 3},
		{"lockstep/graph", graph(adaptertest.StepPlays()...), lockstep, []string{"planning", "thinking <b>", "the answer is 42"}, 1},
		{"free/graph", graph(adaptertest.ChatPlay()), free, []string{"planning", "thinking <b>", "the answer is 42"}, 1},
		{"run/graph", graph(adaptertest.ChatPlay()), whole, []string{"the answer is 42"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			peer := tt.peer()
			b := inFront(t, peer, tt.mode)
			at := b.task(`{"input":"hi"}`)
			if n := peer.Work(); n != 0 {
				t.Errorf("the agent did %d pieces of work before the first step", n)
			}
			first := b.post(at+"/steps", "").ok()
			eventually(t, "the agent's work", func() bool { return peer.Work() >= tt.atFirst })
			if n := peer.Work(); n != tt.atFirst {
				t.Errorf("the agent did %d pieces of work by the first step, want %d", n, tt.atFirst)
			}
			got := []answer{first}
			if first.at("is_last") != true {
				got = append(got, pullAll(t, b, at, "")...)
			}
			checkSteps(t, behind{texts: tt.texts}, got)
			same(t, "the last step, asked for again", b.post(at+"/steps", "").ok().body, got[len(got)-1].body)
			b.expect(threadOfTask(at), "status", "idle")
		})
	}
}

// TestLockstepWords reach the agent as the client said them, step by step.
func TestLockstepWords(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := inFront(t, agent)
	at := b.task(`{"input":"hi"}`)
	b.say(at, "do it well")
	b.post(at+"/steps", "").ok()
	last := b.say(at, "y")
	if last.at("is_last") != true || last.text("input") != "y" {
		t.Errorf("the last step: %s", last.body)
	}
	if diff := cmp.Diff([]string{`{"input":"do it well"}`, "", `{"input":"y"}`}, agent.Inputs()); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	if n := agent.Counts().Creates; n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
	var inputs []any
	for _, s := range b.get(at + "/steps").ok().list("steps") {
		inputs = append(inputs, dig(s, "input"))
	}
	if diff := cmp.Diff([]any{"do it well", nil, "y"}, inputs); diff != "" {
		t.Errorf("inputs listed (-want +got):\n%s", diff)
	}
}

// TestFollowUps: more words make a run of the same task, also while the first
// one goes on; is_last is told of the last step of the last run only.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	t.Run("after the end", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := inFront(t, agent, free)
		at := b.task(`{"input":"hi"}`)
		pullAll(t, b, at, "")
		second := pullAll(t, b, at, `{"input":"and now?"}`)
		checkSteps(t, behind{texts: []string{"one", "two", "three"}}, second)
		if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
			t.Errorf("%d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
		}
		if made := agent.Creates(); len(made) == 2 && !says(made[1], "Conversation so far", "Current request:", "and now?") {
			t.Errorf("the second task was told %s", made[1])
		}
	})
	t.Run("in mid-run", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		g := newGate(agent, stepPosts, 2)
		b := inFront(t, g, free)
		at := b.task(`{"input":"hi"}`)
		b.post(at+"/steps", "").ok()
		g.await(t)
		var second answer
		var told sync.WaitGroup
		told.Go(func() { second, _ = b.try(t.Context(), "POST", at+"/steps", `{"input":"and also"}`) })
		thread := threadOfTask(at)
		eventually(t, "the follow-up is queued", func() bool { return len(b.get(thread+"/runs").ok().list("")) == 2 })
		g.open()
		told.Wait()
		steps := append([]answer{second.ok()}, pullAll(t, b, at, "")...)
		checkSteps(t, behind{texts: []string{"two", "three", "one", "two", "three"}}, steps)
		b.expect(thread, "status", "idle")
	})
	t.Run("turned off", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := inFront(t, agent, func(a *config.Agent) { a.Stepping.FollowUp = false })
		at := b.task(`{"input":"hi"}`)
		steps := pullAll(t, b, at, "")
		again := b.say(at, "and now?")
		if again.text("step_id") != steps[2].text("step_id") || agent.Counts().Creates != 1 {
			t.Errorf("more words brought %s", again.body)
		}
	})
}

// TestLockstepConcurrentPosts: first come, first served, each its own step.
func TestLockstepConcurrentPosts(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"lockstep": lockstep, "free": free} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			g := newGate(agent, stepPosts, 1)
			b := inFront(t, g, mode)
			at := b.task(`{"input":"hi"}`)
			var first answer
			var all sync.WaitGroup
			all.Go(func() { first, _ = b.try(t.Context(), "POST", at+"/steps", "") })
			g.await(t)
			got := make(chan answer, 5)
			for range 5 {
				all.Go(func() {
					a, _ := b.try(t.Context(), "POST", at+"/steps", "")
					got <- a
				})
			}
			g.open()
			all.Wait()
			close(got)
			if first.ok().text("output") != "one" {
				t.Errorf("who came first got %s", first.body)
			}
			var texts []string
			for a := range got {
				texts = append(texts, a.ok().text("output"))
			}
			sort.Strings(texts) // the last step goes to everybody who comes after it
			if diff := cmp.Diff([]string{"three", "three", "three", "three", "two"}, texts); diff != "" {
				t.Errorf("the others got (-want +got):\n%s", diff)
			}
			if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
				t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
			}
		})
	}
}

// TestLockstepIdle: a task whose client does not come back is given up, but
// not while it is being served, and not when it is done.
func TestLockstepIdle(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) func(*config.Agent) {
		return func(a *config.Agent) { a.Stepping.Idle = d }
	}
	idle := after(150 * time.Millisecond)
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := inFront(t, agent, idle)
		at := b.task(`{"input":"hi"}`)
		b.post(at+"/steps", "").ok()
		thread := threadOfTask(at)
		eventually(t, "the run is cancelled", func() bool { return b.get(thread).ok().text("status") == "idle" })
		last := b.post(at+"/steps", "").ok()
		if last.at("is_last") != true || last.at("additional_output.error.type") == nil || agent.Work() != 1 {
			t.Errorf("the step after: %s; %d steps", last.body, agent.Work())
		}
	})
	t.Run("free run that nobody pulls", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		agent.Script[2].Fault = adaptertest.Hang
		b := inFront(t, agent, free, after(700*time.Millisecond))
		at := b.task(`{"input":"hi"}`)
		b.post(at+"/steps", "").ok()
		thread := threadOfTask(at)
		eventually(t, "the run is cancelled", func() bool { return b.get(thread).ok().text("status") == "idle" })
		if two := b.post(at+"/steps", "").ok(); two.text("output") != "two" {
			t.Errorf("what was done before: %s", two.body)
		}
	})
	t.Run("slow step", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		g := newGate(agent, stepPosts, 2)
		b := inFront(t, g, after(time.Second))
		at := b.task(`{"input":"hi"}`)
		b.post(at+"/steps", "").ok()
		var rest []answer
		var all sync.WaitGroup
		all.Go(func() {
			second, err := b.try(t.Context(), "POST", at+"/steps", "")
			if err == nil {
				rest = append(rest, second)
			}
		})
		g.await(t)
		<-time.After(1200 * time.Millisecond) // longer than the time after which it would be given up
		g.open()
		all.Wait()
		rest = append(rest, pullAll(t, b, at, "")...)
		checkSteps(t, behind{texts: []string{"two", "three"}}, rest)
	})
}

// TestLockstepParkedThread: another run of a parked task's thread follows its
// strategy.
func TestLockstepParkedThread(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := inFront(t, agent)
	at := b.task(`{"input":"hi"}`)
	b.post(at+"/steps", "").ok()
	thread := threadOfTask(at)
	parked := thread + "/runs/" + dig(b.get(thread+"/runs").ok().list(""), "0.run_id").(string)
	refused := b.post(thread+"/runs", `{"assistant_id":"agent","multitask_strategy":"reject",`+saysMore+`}`).is(http.StatusConflict)
	if refused.text("code") != "thread_busy" {
		t.Errorf("refused with %s", refused.body)
	}
	queued := b.begin(thread, `"multitask_strategy":"enqueue",`)
	b.expect(queued, "status", "pending")
	b.post(queued+"/cancel?wait=true", "").ok()
	b.expect(parked, "status", "running")
	displacing := b.begin(thread, `"multitask_strategy":"interrupt",`)
	b.get(displacing + "/join").ok()
	b.expect(displacing, "status", "success")
	b.expect(parked, "status", "interrupted")
	if c := agent.Counts(); c.Creates != 2 || c.Steps != 4 {
		t.Errorf("%d tasks and %d steps, want 2 and 1 + 3", c.Creates, c.Steps)
	}
}
