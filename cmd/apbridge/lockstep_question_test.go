package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

const asksColour = `{"use_tool":{"name":"ask_user","arguments":{"question":"Which colour?"}}}`

// curious is an AutoGPT that asks in its second step, as often as told.
func curious(times int) *adaptertest.StepAgent {
	asks := adaptertest.ScriptStep{Output: `"I need to know more."`, Additional: asksColour}
	script := []adaptertest.ScriptStep{{Output: `"one"`}}
	for range times {
		script = append(script, asks)
	}
	return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: append(script, adaptertest.ScriptStep{Output: `"blue it is"`, Last: true})}
}

func asking(plays ...adaptertest.ThreadPlay) *adaptertest.ThreadAgent {
	return &adaptertest.ThreadAgent{Plays: append([]adaptertest.ThreadPlay{adaptertest.AskPlay()}, plays...)}
}

// TestQuestionOfAnAgent crosses to both faces, and the answer back, in every
// mode that has steps.
func TestQuestionOfAnAgent(t *testing.T) {
	t.Parallel()
	t.Run("threadrun", func(t *testing.T) {
		t.Parallel()
		agent := curious(1)
		b := inFront(t, agent)
		at := b.thread()
		asked := b.post(at+"/runs/wait", `{"assistant_id":"agent",`+saysHi+`}`).ok()
		if asked.at("__interrupt__.0.value.0.action_request.action") != "ask_user" {
			t.Fatalf("wait: %s", asked.body)
		}
		b.expect(at, "status", "interrupted")
		if th := b.get(at).ok(); len(th.at("interrupts").(map[string]any)) != 1 {
			t.Errorf("the thread's interrupts: %s", th.body)
		}
		for path, list := range map[string]string{"/state": "interrupts", "/history": "0.interrupts"} {
			if got := b.get(at + path).ok(); got.at(list+".0.id") != asked.at("__interrupt__.0.id") || got.at(list+".1") != nil {
				t.Errorf("%s of GET %s: %s", list, path, got.body)
			}
		}
		done := b.post(at+"/runs/wait", `{"assistant_id":"agent","command":{"resume":"blue"}}`).ok()
		if diff := cmp.Diff([]any{"hi", "one", "I need to know more.", "blue", "blue it is"}, pluck(done.list("messages"), "content")); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		checkAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
		b.expect(at, "status", "idle")
	})
	for name, mode := range modesWithSteps() {
		t.Run("taskstep/"+name, func(t *testing.T) {
			t.Parallel()
			agent := curious(1)
			b := inFront(t, agent, mode)
			at := b.task(`{"input":"hi"}`)
			b.post(at+"/steps", "").ok()
			asks := b.post(at+"/steps", "").ok()
			if asks.at("is_last") != false || asks.text("output") != "I need to know more." || asks.at("additional_output.use_tool.arguments.question") != "Which colour?" {
				t.Errorf("the question: %s", asks.body)
			}
			b.expect(threadOfTask(at), "status", "interrupted")
			last := b.say(at, "blue")
			if last.at("is_last") != true || last.text("output") != "blue it is" {
				t.Errorf("the last step: %s", last.body)
			}
			checkAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
		})
	}
}

func checkAnswered(t *testing.T, agent *adaptertest.StepAgent, inputs []string) {
	t.Helper()
	if diff := cmp.Diff(inputs, agent.Inputs()); diff != "" {
		t.Errorf("bodies of the agent's steps (-want +got):\n%s", diff)
	}
	if n := agent.Counts().Creates; n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
}

// TestDefaultAnswer: a client that never says anything gets on, once per
// question; an agent that asks the same again ends its run.
func TestDefaultAnswer(t *testing.T) {
	t.Parallel()
	for name, mode := range modesWithSteps() {
		t.Run("asked once/"+name, func(t *testing.T) {
			t.Parallel()
			agent := curious(1)
			b := inFront(t, agent, mode)
			steps := pullAll(t, b, b.task(`{"input":"hi"}`), "")
			checkSteps(t, behind{texts: []string{"one", "I need to know more.", "blue it is"}}, steps)
			if n := agent.Work(); n != 3 {
				t.Errorf("%d steps, want 3", n)
			}
		})
		t.Run("asked again/"+name, func(t *testing.T) {
			t.Parallel()
			agent := curious(5)
			b := inFront(t, agent, mode)
			at := b.task(`{"input":"hi"}`)
			steps := pullAll(t, b, at, "")
			last := steps[len(steps)-1]
			if last.at("additional_output.error.type") != "unanswered_question" || !says(last.text("output"), "Which colour?") {
				t.Errorf("the last step: %s", last.body)
			}
			b.expect(threadOfTask(at), "status", "error")
			if n := agent.Work(); n != 3 {
				t.Errorf("%d steps, want 3: the question, and once more after the default answer", n)
			}
		})
	}
}

// TestQuestionInOneStep: where one step is the whole run, a question is a step
// of its own, and its answer brings the rest in one.
func TestQuestionInOneStep(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		agent    adaptertest.Peer
		question string
		last     string
	}{
		"step agent": {curious(1), "I need to know more.", "blue it is"},
		"graph":      {asking(adaptertest.ChatPlay()), "Send this mail?", "the answer is 42"},
	} {
		for _, words := range []string{"", `{"input":"blue"}`} {
			t.Run(name+words, func(t *testing.T) {
				t.Parallel()
				b := inFront(t, x.agent, whole)
				at := b.task(`{"input":"hi"}`)
				asks := b.post(at+"/steps", "").ok()
				if asks.at("is_last") != false || asks.text("output") != x.question {
					t.Errorf("the question: %s", asks.body)
				}
				if last := b.post(at+"/steps", words).ok(); last.at("is_last") != true || last.text("output") != x.last {
					t.Errorf("the rest: %s", last.body)
				}
			})
		}
	}
}

// TestQuestionOfAGraph: an interrupt is a step, not the last; words resume it.
func TestQuestionOfAGraph(t *testing.T) {
	t.Parallel()
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		agent := asking(adaptertest.ChatPlay())
		b := inFront(t, agent)
		at := b.task(`{"input":"hi"}`)
		one := b.post(at+"/steps", "").ok()
		asks := b.post(at+"/steps", "").ok()
		if one.text("output") != "planning" || asks.text("output") != "Send this mail?" || asks.at("is_last") != false || asks.at("additional_output.interrupt") == nil {
			t.Errorf("steps:\n%s\n%s", one.body, asks.body)
		}
		b.expect(threadOfTask(at), "status", "interrupted")
		rest := append([]answer{b.say(at, "not today")}, pullAll(t, b, at, "")...)
		if last := rest[len(rest)-1]; last.text("output") != "the answer is 42" {
			t.Errorf("the last step: %s", last.body)
		}
		var resumed struct {
			Command struct{ Resume json.RawMessage }
			Input   any
		}
		bodies := agent.Bodies(startRoute)
		if len(bodies) != 2 || json.Unmarshal(bodies[1], &resumed) != nil || !says(string(resumed.Command.Resume), "not today") || resumed.Input != nil {
			t.Errorf("%d requests for runs, the last: %s", len(bodies), bodies[len(bodies)-1])
		}
	})
	t.Run("never answered", func(t *testing.T) {
		t.Parallel()
		again := adaptertest.AskPlay()
		again.Frames = slices.DeleteFunc(again.Frames, func(f string) bool { return strings.HasPrefix(f, `updates {"plan"`) })
		agent := asking(again)
		b := inFront(t, agent)
		steps := pullAll(t, b, b.task(`{"input":"hi"}`), "")
		if last := steps[len(steps)-1]; last.at("additional_output.error.type") != "unanswered_question" {
			t.Errorf("the last step: %s", last.body)
		}
		if n := agent.Work(); n != 2 {
			t.Errorf("%d runs, want 2: the question, and once more after the default answer", n)
		}
	})
	t.Run("never answered, with work in between", func(t *testing.T) {
		t.Parallel()
		agent := asking() // asks again and again, each time after an update
		b := inFront(t, agent)
		steps := pullAtMost(t, b, b.task(`{"input":"hi"}`), "", 40)
		checkUnanswered(t, steps, "Send this mail?")
		if n := agent.Work(); n != 11 {
			t.Errorf("%d runs, want 11: ten default answers", n)
		}
	})
	t.Run("never answered, two questions in turns", func(t *testing.T) {
		t.Parallel()
		b := inFront(t, inTurns(40))
		checkUnanswered(t, pullAtMost(t, b, b.task(`{"input":"hi"}`), "", 90), "Send this mail?")
	})
	t.Run("an answer begins anew", func(t *testing.T) {
		t.Parallel()
		agent := asking()
		b := inFront(t, agent)
		at := b.task(`{"input":"hi"}`)
		for n := range 24 { // a step and a question each
			if n == 12 {
				b.say(at, "not today")
				continue
			}
			if step := b.post(at+"/steps", "").ok(); step.at("is_last") == true {
				t.Fatalf("step %d: %s", n+1, step.body)
			}
		}
	})
	t.Run("resumed through threads", func(t *testing.T) {
		t.Parallel()
		b, agent, at := answeredElsewhere(t)
		steps := pullAll(t, b, at, "") // no default answer to what was answered
		if last := steps[len(steps)-1]; last.text("output") != "the answer is 42" {
			t.Errorf("the last step: %s", last.body)
		}
		if n := agent.Work(); n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
	})
	t.Run("resumed through threads, and listed", func(t *testing.T) {
		t.Parallel()
		b, _, at := answeredElsewhere(t)
		if n := len(b.get(at + "/steps").ok().list("steps")); n != 5 {
			t.Errorf("%d steps after the answer, want 5", n)
		}
	})
}

// answeredElsewhere is a task whose graph asked in its second step and got its
// answer through the thread's routes.
func answeredElsewhere(t *testing.T) (b *bridge, agent *adaptertest.ThreadAgent, at string) {
	t.Helper()
	agent = asking(adaptertest.ChatPlay())
	b = inFront(t, agent)
	at = b.task(`{"input":"hi"}`)
	b.post(at+"/steps", "").ok()
	b.post(at+"/steps", "").ok()
	done := b.post(threadOfTask(at)+"/runs/wait", `{"assistant_id":"agent","command":{"resume":{"type":"accept"}}}`).ok()
	if done.at("__error__") != nil {
		t.Fatalf("the resume: %s", done.body)
	}
	return b, agent, at
}

func modesWithSteps() map[string]func(*config.Agent) {
	return map[string]func(*config.Agent){"lockstep": lockstep, "free": free}
}

// inTurns is a graph that asks two questions for ever, working before each.
func inTurns(plays int) *adaptertest.ThreadAgent {
	other := strings.NewReplacer("Send this mail?", "Send it now?")
	agent := &adaptertest.ThreadAgent{}
	for n := range plays {
		play := adaptertest.AskPlay()
		if n%2 == 1 {
			play.State = other.Replace(play.State)
			for i, f := range play.Frames {
				play.Frames[i] = other.Replace(f)
			}
		}
		agent.Plays = append(agent.Plays, play)
	}
	return agent
}

func checkUnanswered(t *testing.T, steps []answer, question string) {
	t.Helper()
	if last := steps[len(steps)-1]; last.at("additional_output.error.type") != "unanswered_question" || !says(last.text("output"), question) {
		t.Errorf("the last step: %s", last.body)
	}
}
