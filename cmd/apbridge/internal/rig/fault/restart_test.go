package fault

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// deathInStep describes the death of a process and the outcome in the next one.
type deathInStep struct {
	name  string
	kind  adaptertest.Kind
	fault adaptertest.Fault // of the second step; "": it is executed although no caller waits for it
	nth   int               // the step POST at which the process dies
	code  string            // "" : the run succeeds
	steps int               // that the agent has done at the end
	asked int               // step POSTs it was sent, all told
}

func deathsInSteps() []deathInStep {
	return []deathInStep{
		{"A2_ListsWhatItDid", adaptertest.Plain, "", 2, "", 3, 3},
		{"A2_ListsWhatItDidFirst", adaptertest.Plain, "", 1, "", 3, 3},
		{"A2_ListsWhatItDidLast", adaptertest.Forge, "", 3, "", 3, 3},
		{"A2_CannotTell", adaptertest.JS, "", 2, "outcome_unknown", 2, 2},
		{"A2_NeverHeardAndCannotTell", adaptertest.Plain, adaptertest.Hang, 2, "outcome_unknown", 1, 2},
		{"A2_NeverHeardByAListingAgent", adaptertest.Python, adaptertest.Hang, 2, "outcome_unknown", 1, 2},
	}
}

// TestProcessDiesInAStep checks that the step's outcome is requested from the agent, or else reported as unknown. No
// step is executed twice.
func TestProcessDiesInAStep(t *testing.T) {
	t.Parallel()
	for _, s := range deathsInSteps() {
		t.Run(s.name+"/threadrun", func(t *testing.T) { t.Parallel(); s.throughThreads(t, (*rig.Bridge).Kill) })
		t.Run(s.name+"/taskstep", func(t *testing.T) { t.Parallel(); s.throughTasks(t) })
	}
	stops := deathsInSteps()[3]
	t.Run("A7_GraceExceeded", func(t *testing.T) { t.Parallel(); stops.throughThreads(t, (*rig.Bridge).End) })
}

func (s deathInStep) agent() (*adaptertest.StepAgent, *rig.Gate) {
	agent := adaptertest.NewStepAgent(s.kind)
	agent.Script[1].Fault = s.fault
	return agent, rig.NewGate(agent, rig.StepPosts, s.nth)
}

func (s deathInStep) throughThreads(t *testing.T, die func(*rig.Bridge)) {
	agent, g := s.agent()
	b := rig.InFront(t, g)
	at := b.Thread()
	run := b.Begin(at, `"stream_mode":["updates","values"],`)
	g.Await(t)
	rig.Eventually(t, "the earlier steps are durable", func() bool { return len(b.Get(at+"/state").OK().List("values.messages")) == s.nth })
	die(b)
	rig.Eventually(t, "the agent has done the requested work", func() bool { return len(agent.Inputs()) >= s.nth })
	b = b.Again()
	joined := b.Get(run + "/join").OK()
	s.check(t, agent, joined.At("__error__.error"), joined)
	if s.code != "" {
		b.Expect(at, "status", "error")
	} else {
		rig.CheckTurns(t, "join", joined.At(""), rig.Behind{Texts: []string{"one", "two", "three"}, Steps: true}, 1)
		b.Expect(at, "status", "idle")
	}
	_, frames := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	seen := map[string]int{}
	for _, f := range frames {
		seen[f.Event]++
	}
	if seen["metadata"] != 1 || s.code == "" && seen["updates"] != 3 {
		t.Errorf("frames over both processes: %s", rig.EventNames(frames))
	}
	if next := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysMore+`}`).OK(); next.At("__error__") != nil {
		t.Errorf("the next run: %s", next.Body)
	}
}

func (s deathInStep) throughTasks(t *testing.T) {
	agent, g := s.agent()
	b := rig.InFront(t, g)
	at := "/ap/v1/agent/tasks/" + b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
	var steps []rig.Answer
	for range s.nth - 1 {
		steps = append(steps, b.Post(at+"/steps", "").OK())
	}
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		_, _ = b.Try(t.Context(), "POST", at+"/steps", "")
	}()
	g.Await(t)
	b.Kill()
	<-broken
	rig.Eventually(t, "the agent has done the requested work", func() bool { return len(agent.Inputs()) >= s.nth })
	b = b.Again()
	steps = append(steps, rig.PullAll(t, b, at, "")...)
	last := steps[len(steps)-1]
	s.check(t, agent, last.At("additional_output.error.type"), last)
	if s.code == "" {
		rig.CheckSteps(t, rig.Behind{Texts: []string{"one", "two", "three"}}, steps)
	}
	list := b.Get(at + "/steps").OK()
	if len(list.List("steps")) != len(steps) {
		t.Errorf("%d steps handed out, %d listed", len(steps), len(list.List("steps")))
	}
}

func (s deathInStep) check(t *testing.T, agent *adaptertest.StepAgent, code any, told rig.Answer) {
	t.Helper()
	var want any
	if s.code != "" {
		want = s.code
	}
	if code != want {
		t.Errorf("the run ended with %v, want %v: %.400s", code, want, told.Body)
	}
	if c := agent.Counts(); c.Creates != 1 || c.Steps != s.steps || len(agent.Inputs()) != s.asked {
		t.Errorf("%d tasks, %d steps done, %d requested; want 1, %d, %d", c.Creates, c.Steps, len(agent.Inputs()), s.steps, s.asked)
	}
}

// TestProcessDiesInAStream checks that the graph's stream is resumed after the last logged frame, and that the frames
// its readers saw are a prefix of the complete stream.
func TestProcessDiesInAStream(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	g := rig.NewGate(agent, rig.RunPosts, 1)
	g.Flushes = 13
	b := rig.InFront(t, g)
	at := b.Thread()
	run := b.Begin(at, cursorModes)
	g.Await(t)
	_, seen := b.Stream("GET", run+"/stream", "", 5, "Last-Event-ID", "-1")
	b.Kill()
	b = b.Again()
	_, rest := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", seen[len(seen)-1].ID)
	_, all := b.Stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	if diff := cmp.Diff(all, append(seen, rest...)); diff != "" {
		t.Errorf("read across the restart (-whole +pieces):\n%s", diff)
	}
	who := rig.Behind{Texts: []string{"planning", "thinking <b>", "the answer is 42"}}
	rig.CheckTurns(t, "join", b.Get(run+"/join").OK().At(""), who, 1)
	var updates int
	for _, f := range all {
		if f.Event == "updates" {
			updates++
		}
	}
	if updates != 3 || agent.Work() != 1 || agent.Calls(rig.StartRoute) != 1 {
		t.Errorf("%d updates of %d runs, %d requests for one; want 3, 1, 1", updates, agent.Work(), agent.Calls(rig.StartRoute))
	}
}

// TestProcessDiesWhileQueued checks that the run keeps its id and is executed once.
func TestProcessDiesWhileQueued(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 1)
	b := rig.InFront(t, g)
	at := b.Thread()
	first := b.Begin(at, "")
	g.Await(t)
	queued := b.Begin(at, `"multitask_strategy":"enqueue",`)
	b.Kill()
	rig.Eventually(t, "the agent has done the requested work", func() bool { return agent.Work() == 1 })
	b = b.Again()
	for _, run := range []string{first, queued} {
		if joined := b.Get(run + "/join").OK(); joined.At("__error__") != nil {
			t.Errorf("%s: %s", run, joined.Body)
		}
		b.Expect(run, "status", "success")
	}
	if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
		t.Errorf("%d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
	}
	b.Expect(at, "status", "idle")
}

// TestParkedAcrossARestart checks that a task between two POSTs continues where it was, or is cancelled if no client
// requests a step.
func TestParkedAcrossARestart(t *testing.T) {
	t.Parallel()
	t.Run("continues", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []adaptertest.Kind{adaptertest.Plain, adaptertest.JS} {
			agent := adaptertest.NewStepAgent(kind)
			b := rig.InFront(t, agent)
			id := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
			at := "/ap/v1/agent/tasks/" + id
			var steps []rig.Answer
			for len(steps) < 3 {
				steps = append(steps, b.Post(at+"/steps", "").OK())
				b.Kill()
				b = b.Again()
			}
			rig.CheckSteps(t, rig.Behind{Texts: []string{"one", "two", "three"}}, steps)
			if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
				t.Errorf("%s: %d tasks and %d steps, want 1 and 3", kind, c.Creates, c.Steps)
			}
		}
	})
	t.Run("is abandoned", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := rig.InFront(t, agent, func(a *config.Agent) { a.Stepping.Idle = 4 * time.Second })
		task := b.Post("/ap/v1/agent/tasks", `{"input":"hi"}`).OK().Text("task_id")
		b.Post("/ap/v1/agent/tasks/"+task+"/steps", "").OK()
		b.Kill()
		b = b.Again()
		b.Expect("/threads/"+task, "status", "interrupted")
		rig.Eventually(t, "the parked run is cancelled", func() bool { return b.Get("/threads/"+task).Text("status") == "idle" })
		if n := agent.Work(); n != 1 {
			t.Errorf("%d steps, want 1", n)
		}
	})
}
