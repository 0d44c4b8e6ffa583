package main

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// struck is a process that dies, and what the next one makes of it.
type struck struct {
	name  string
	kind  adaptertest.Kind
	fault adaptertest.Fault // of the second step; "": it is done although nobody waits for it
	nth   int               // the step POST at which the process dies
	code  string            // "" : the run succeeds
	steps int               // that the agent has done when all is over
	asked int               // step POSTs it was sent, all told
}

func strikes() []struck {
	return []struck{
		{"A2_ListsWhatItDid", adaptertest.Plain, "", 2, "", 3, 3},
		{"A2_ListsWhatItDidFirst", adaptertest.Plain, "", 1, "", 3, 3},
		{"A2_ListsWhatItDidLast", adaptertest.Forge, "", 3, "", 3, 3},
		{"A2_CannotTell", adaptertest.JS, "", 2, "outcome_unknown", 2, 2},
		{"A2_NeverHeardAndCannotTell", adaptertest.Plain, adaptertest.Hang, 2, "outcome_unknown", 1, 2},
		{"A2_NeverHeardByAListingAgent", adaptertest.Python, adaptertest.Hang, 2, "outcome_unknown", 1, 2},
	}
}

// TestProcessDiesInAStep: the step's outcome is found out by asking the agent,
// or said to be unknown. No step is done twice.
func TestProcessDiesInAStep(t *testing.T) {
	t.Parallel()
	for _, s := range strikes() {
		t.Run(s.name+"/threadrun", func(t *testing.T) { t.Parallel(); s.throughThreads(t, (*bridge).kill) })
		t.Run(s.name+"/taskstep", func(t *testing.T) { t.Parallel(); s.throughTasks(t) })
	}
	stops := strikes()[3]
	t.Run("A7_GraceExceeded", func(t *testing.T) { t.Parallel(); stops.throughThreads(t, (*bridge).end) })
}

func (s struck) agent() (*adaptertest.StepAgent, *gate) {
	agent := adaptertest.NewStepAgent(s.kind)
	agent.Script[1].Fault = s.fault
	return agent, newGate(agent, stepPosts, s.nth)
}

func (s struck) throughThreads(t *testing.T, die func(*bridge)) {
	agent, g := s.agent()
	b := inFront(t, g)
	at := b.thread()
	run := b.begin(at, `"stream_mode":["updates","values"],`)
	g.await(t)
	eventually(t, "what was done before is durable", func() bool { return len(b.get(at+"/state").ok().list("values.messages")) == s.nth })
	die(b)
	eventually(t, "the agent is done with what it was asked for", func() bool { return len(agent.Inputs()) >= s.nth })
	b = b.again()
	joined := b.get(run + "/join").ok()
	s.check(t, agent, joined.at("__error__.error"), joined)
	if s.code != "" {
		b.expect(at, "status", "error")
	} else {
		checkTurns(t, "join", joined.at(""), behind{texts: []string{"one", "two", "three"}, steps: true}, 1)
		b.expect(at, "status", "idle")
	}
	_, frames := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	seen := map[string]int{}
	for _, f := range frames {
		seen[f.event]++
	}
	if seen["metadata"] != 1 || s.code == "" && seen["updates"] != 3 {
		t.Errorf("frames over both processes: %s", eventNames(frames))
	}
	if next := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysMore+`}`).ok(); next.at("__error__") != nil {
		t.Errorf("the next run: %s", next.body)
	}
}

func (s struck) throughTasks(t *testing.T) {
	agent, g := s.agent()
	b := inFront(t, g)
	at := "/ap/v1/agent/tasks/" + b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
	var steps []answer
	for range s.nth - 1 {
		steps = append(steps, b.post(at+"/steps", "").ok())
	}
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		_, _ = b.try(t.Context(), "POST", at+"/steps", "")
	}()
	g.await(t)
	b.kill()
	<-broken
	eventually(t, "the agent is done with what it was asked for", func() bool { return len(agent.Inputs()) >= s.nth })
	b = b.again()
	steps = append(steps, pullAll(t, b, at, "")...)
	last := steps[len(steps)-1]
	s.check(t, agent, last.at("additional_output.error.type"), last)
	if s.code == "" {
		checkSteps(t, behind{texts: []string{"one", "two", "three"}}, steps)
	}
	list := b.get(at + "/steps").ok()
	if len(list.list("steps")) != len(steps) {
		t.Errorf("%d steps handed out, %d listed", len(steps), len(list.list("steps")))
	}
}

func (s struck) check(t *testing.T, agent *adaptertest.StepAgent, code any, told answer) {
	t.Helper()
	var want any
	if s.code != "" {
		want = s.code
	}
	if code != want {
		t.Errorf("ended with %v, want %v: %.400s", code, want, told.body)
	}
	if c := agent.Counts(); c.Creates != 1 || c.Steps != s.steps || len(agent.Inputs()) != s.asked {
		t.Errorf("%d tasks, %d steps done, %d asked for; want 1, %d, %d", c.Creates, c.Steps, len(agent.Inputs()), s.steps, s.asked)
	}
}

// TestA3_ProcessDiesInAStream: the graph's stream is gone back to after the
// last frame that was logged; what its readers saw is a beginning of the whole.
func TestA3_ProcessDiesInAStream(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	g := newGate(agent, runPosts, 1)
	g.flushes = 13
	b := inFront(t, g)
	at := b.thread()
	run := b.begin(at, cursorModes)
	g.await(t)
	_, seen := b.stream("GET", run+"/stream", "", 5, "Last-Event-ID", "-1")
	b.kill()
	b = b.again()
	_, rest := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", seen[len(seen)-1].id)
	_, all := b.stream("GET", run+"/stream", "", 0, "Last-Event-ID", "-1")
	if diff := cmp.Diff(all, append(seen, rest...), cmp.AllowUnexported(frame{})); diff != "" {
		t.Errorf("read across the restart (-whole +pieces):\n%s", diff)
	}
	who := behind{texts: []string{"planning", "thinking <b>", "the answer is 42"}}
	checkTurns(t, "join", b.get(run+"/join").ok().at(""), who, 1)
	var updates int
	for _, f := range all {
		if f.event == "updates" {
			updates++
		}
	}
	if updates != 3 || agent.Work() != 1 || agent.Calls(startRoute) != 1 {
		t.Errorf("%d updates of %d runs, %d requests for one; want 3, 1, 1", updates, agent.Work(), agent.Calls(startRoute))
	}
}

// TestA1_ProcessDiesWhileQueued: the run keeps its id and runs once.
func TestA1_ProcessDiesWhileQueued(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := newGate(agent, stepPosts, 1)
	b := inFront(t, g)
	at := b.thread()
	first := b.begin(at, "")
	g.await(t)
	queued := b.begin(at, `"multitask_strategy":"enqueue",`)
	b.kill()
	eventually(t, "the agent is done with what it was asked for", func() bool { return agent.Work() == 1 })
	b = b.again()
	for _, run := range []string{first, queued} {
		if joined := b.get(run + "/join").ok(); joined.at("__error__") != nil {
			t.Errorf("%s: %s", run, joined.body)
		}
		b.expect(run, "status", "success")
	}
	if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
		t.Errorf("%d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
	}
	b.expect(at, "status", "idle")
}

// TestParkedAcrossARestart: a task between two POSTs goes on where it was, or
// is cancelled when nobody comes for it.
func TestParkedAcrossARestart(t *testing.T) {
	t.Parallel()
	t.Run("goes on", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []adaptertest.Kind{adaptertest.Plain, adaptertest.JS} {
			agent := adaptertest.NewStepAgent(kind)
			b := inFront(t, agent)
			id := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
			at := "/ap/v1/agent/tasks/" + id
			var steps []answer
			for len(steps) < 3 {
				steps = append(steps, b.post(at+"/steps", "").ok())
				b.kill()
				b = b.again()
			}
			checkSteps(t, behind{texts: []string{"one", "two", "three"}}, steps)
			if c := agent.Counts(); c.Creates != 1 || c.Steps != 3 {
				t.Errorf("%s: %d tasks and %d steps, want 1 and 3", kind, c.Creates, c.Steps)
			}
		}
	})
	t.Run("is given up", func(t *testing.T) {
		t.Parallel()
		agent := adaptertest.NewStepAgent(adaptertest.Plain)
		b := inFront(t, agent, func(a *config.Agent) { a.Stepping.Idle = 500 * time.Millisecond })
		task := b.post("/ap/v1/agent/tasks", `{"input":"hi"}`).ok().text("task_id")
		b.post("/ap/v1/agent/tasks/"+task+"/steps", "").ok()
		b.kill()
		b = b.again()
		b.expect("/threads/"+task, "status", "interrupted")
		eventually(t, "the parked run is cancelled", func() bool { return b.get("/threads/"+task).text("status") == "idle" })
		if n := agent.Work(); n != 1 {
			t.Errorf("%d steps, want 1", n)
		}
	})
}
