package taskstep

import (
	"net/http"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// say sends a POST for a step with text.
func say(b *rig.Bridge, at, words string) rig.Answer {
	b.T.Helper()
	return b.Post(at+"/steps", `{"input":"`+words+`"}`).OK()
}

// TestLockstepModes checks the steps of each mode for either kind of agent, and how far the agent is ahead of its
// client.
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
		atFirst int // work that the agent has done when the first step was handed out, without further requests
	}{
		{"lockstep/step agent", steps, rig.Lockstep, []string{"one", "two", "three"}, 1},
		{"free/step agent", steps, rig.Free, []string{"one", "two", "three"}, 3},
		{"run/step agent", steps, rig.Whole, []string{"three"}, 3},
		{"lockstep/graph", graph(adaptertest.StepPlays()...), rig.Lockstep, []string{"planning", "thinking <b>", "the answer is 42"}, 1},
		{"free/graph", graph(adaptertest.ChatPlay()), rig.Free, []string{"planning", "thinking <b>", "the answer is 42"}, 1},
		{"run/graph", graph(adaptertest.ChatPlay()), rig.Whole, []string{"the answer is 42"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			peer := tt.peer()
			b := rig.InFront(t, peer, tt.mode)
			at := b.Task(`{"input":"hi"}`)
			if n := peer.Work(); n != 0 {
				t.Errorf("the agent did %d pieces of work before the first step", n)
			}
			first := b.Post(at+"/steps", "").OK()
			rig.Eventually(t, "the agent works", func() bool { return peer.Work() >= tt.atFirst })
			if n := peer.Work(); n != tt.atFirst {
				t.Errorf("the agent did %d pieces of work by the first step, want %d", n, tt.atFirst)
			}
			got := []rig.Answer{first}
			if first.At("is_last") != true {
				got = append(got, rig.PullAll(t, b, at, "")...)
			}
			rig.CheckSteps(t, rig.Behind{Texts: tt.texts}, got)
			rig.SameJSON(t, "the last step, asked for again", b.Post(at+"/steps", "").OK().Body, got[len(got)-1].Body)
			b.Expect(rig.ThreadOfTask(at), "status", "idle")
		})
	}
}

// TestLockstepTextReachesTheAgent checks that the client's text reaches the agent unchanged, step by step.
func TestLockstepTextReachesTheAgent(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	say(b, at, "do it well")
	b.Post(at+"/steps", "").OK()
	last := say(b, at, "y")
	if last.At("is_last") != true || last.Text("input") != "y" {
		t.Errorf("the last step: %s", last.Body)
	}
	if diff := cmp.Diff([]string{`{"input":"do it well"}`, "", `{"input":"y"}`}, agent.Inputs()); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	if n := agent.Counts().Creates; n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
	var inputs []any
	for _, s := range b.Get(at + "/steps").OK().List("steps") {
		inputs = append(inputs, rig.Dig(s, "input"))
	}
	if diff := cmp.Diff([]any{"do it well", nil, "y"}, inputs); diff != "" {
		t.Errorf("inputs listed (-want +got):\n%s", diff)
	}
}

// TestFollowUps checks that more text starts a run of the same task, also during the first one, and that is_last is
// only set on the last step of the last run.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	t.Run("after the end", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := rig.InFront(t, agent, rig.Free)
		at := b.Task(`{"input":"hi"}`)
		rig.PullAll(t, b, at, "")
		second := rig.PullAll(t, b, at, `{"input":"and now?"}`)
		rig.CheckSteps(t, rig.Behind{Texts: []string{"one", "two", "three"}}, second)
		if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
			t.Errorf("%d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
		}
		if made := agent.Creates(); len(made) == 2 && !rig.Says(made[1], "Conversation so far", "Current request:", "and now?") {
			t.Errorf("the second task received %s", made[1])
		}
	})
	t.Run("in mid-run", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		g := rig.NewGate(agent, rig.StepPosts, 2)
		b := rig.InFront(t, g, rig.Free)
		at := b.Task(`{"input":"hi"}`)
		b.Post(at+"/steps", "").OK()
		g.Await(t)
		var second rig.Answer
		var told sync.WaitGroup
		told.Go(func() { second, _ = b.Try(t.Context(), "POST", at+"/steps", `{"input":"and also"}`) })
		thread := rig.ThreadOfTask(at)
		rig.Eventually(t, "the follow-up is queued", func() bool { return len(b.Get(thread+"/runs").OK().List("")) == 2 })
		g.Open()
		told.Wait()
		steps := append([]rig.Answer{second.OK()}, rig.PullAll(t, b, at, "")...)
		rig.CheckSteps(t, rig.Behind{Texts: []string{"two", "three", "one", "two", "three"}}, steps)
		b.Expect(thread, "status", "idle")
	})
	t.Run("turned off", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := rig.InFront(t, agent, func(a *config.Agent) { a.Stepping.FollowUpRuns = false })
		at := b.Task(`{"input":"hi"}`)
		steps := rig.PullAll(t, b, at, "")
		again := say(b, at, "and now?")
		if again.Text("step_id") != steps[2].Text("step_id") || agent.Counts().Creates != 1 {
			t.Errorf("more text is answered with %s", again.Body)
		}
	})
}

// TestLockstepConcurrentPosts checks that each POST gets its own step, in the order of arrival.
func TestLockstepConcurrentPosts(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"lockstep": rig.Lockstep, "free": rig.Free} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			g := rig.NewGate(agent, rig.StepPosts, 1)
			b := rig.InFront(t, g, mode)
			at := b.Task(`{"input":"hi"}`)
			var first rig.Answer
			var all sync.WaitGroup
			all.Go(func() { first, _ = b.Try(t.Context(), "POST", at+"/steps", "") })
			g.Await(t)
			got := make(chan rig.Answer, 5)
			for range 5 {
				all.Go(func() {
					a, _ := b.Try(t.Context(), "POST", at+"/steps", "")
					got <- a
				})
			}
			g.Open()
			all.Wait()
			close(got)
			if first.OK().Text("output") != "one" {
				t.Errorf("the first client got %s", first.Body)
			}
			var texts []string
			for a := range got {
				texts = append(texts, a.OK().Text("output"))
			}
			sort.Strings(texts) // later requests get the last step, too
			if diff := cmp.Diff([]string{"three", "three", "three", "three", "two"}, texts); diff != "" {
				t.Errorf("the others got (-want +got):\n%s", diff)
			}
			if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
				t.Errorf("%d tasks and %d steps, want 1 and 3", c.Creates, c.Steps)
			}
		})
	}
}

// TestLockstepIdle checks that a task is cancelled if its client does not return.
// TestTaskIsNotCancelledWhileAStepIsServed covers a task whose step is being served.
func TestLockstepIdle(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) func(*config.Agent) {
		return func(a *config.Agent) { a.Stepping.Idle = d }
	}
	idle := after(150 * time.Millisecond)
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := rig.InFront(t, agent, idle)
		at := b.Task(`{"input":"hi"}`)
		b.Post(at+"/steps", "").OK()
		thread := rig.ThreadOfTask(at)
		rig.Eventually(t, "the run is cancelled", func() bool { return b.Get(thread).OK().Text("status") == "idle" })
		last := b.Post(at+"/steps", "").OK()
		if last.At("is_last") != true || last.At("additional_output.error.type") == nil || agent.Work() != 1 {
			t.Errorf("the step after the cancellation: %s; %d steps", last.Body, agent.Work())
		}
	})
	t.Run("free run without requests for steps", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		agent.Script[2].Fault = adaptertest.Hang
		b := rig.InFront(t, agent, rig.Free, after(3*time.Second))
		at := b.Task(`{"input":"hi"}`)
		b.Post(at+"/steps", "").OK()
		thread := rig.ThreadOfTask(at)
		rig.Eventually(t, "the run is cancelled", func() bool { return b.Get(thread).OK().Text("status") == "idle" })
		if two := b.Post(at+"/steps", "").OK(); two.Text("output") != "two" {
			t.Errorf("the step done before the cancellation: %s", two.Body)
		}
	})
}

// TestLockstepParkedThread checks that another run on a parked task's thread follows its strategy.
func TestLockstepParkedThread(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	b.Post(at+"/steps", "").OK()
	thread := rig.ThreadOfTask(at)
	parked := thread + "/runs/" + rig.Dig(b.Get(thread+"/runs").OK().List(""), "0.run_id").(string)
	refused := b.Post(thread+"/runs", `{"assistant_id":"agent","multitask_strategy":"reject",`+rig.SaysMore+`}`).Is(http.StatusConflict)
	if refused.Text("code") != "thread_busy" {
		t.Errorf("refused with %s", refused.Body)
	}
	queued := b.Begin(thread, `"multitask_strategy":"enqueue",`)
	b.Expect(queued, "status", "pending")
	b.Post(queued+"/cancel?wait=true", "").OK()
	b.Expect(parked, "status", "running")
	displacing := b.Begin(thread, `"multitask_strategy":"interrupt",`)
	b.Get(displacing + "/join").OK()
	b.Expect(displacing, "status", "success")
	b.Expect(parked, "status", "interrupted")
	if c := agent.Counts(); c.Creates != 2 || c.Steps != 4 {
		t.Errorf("%d tasks and %d steps, want 2 and 1 + 3", c.Creates, c.Steps)
	}
}
