package taskstep

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// TestQuestionOfAnAgent checks that clients of both faces get an agent's question and can answer it, in every stepping
// mode.
func TestQuestionOfAnAgent(t *testing.T) {
	t.Parallel()
	t.Run("threadrun", func(t *testing.T) {
		t.Parallel()
		agent := rig.Curious(1)
		b := rig.InFront(t, agent)
		at := b.Thread()
		asked := b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
		if asked.At("__interrupt__.0.value.action_request.action") != "ask_user" {
			t.Fatalf("wait: %s", asked.Body)
		}
		b.Expect(at, "status", "interrupted")
		if th := b.Get(at).OK(); len(th.At("interrupts").(map[string]any)) != 1 {
			t.Errorf("the thread's interrupts: %s", th.Body)
		}
		for path, list := range map[string]string{"/state": "interrupts", "/history": "0.interrupts"} {
			if got := b.Get(at + path).OK(); got.At(list+".0.id") != asked.At("__interrupt__.0.id") || got.At(list+".1") != nil {
				t.Errorf("%s of GET %s: %s", list, path, got.Body)
			}
		}
		done := b.Post(at+"/runs/wait", `{"assistant_id":"agent","command":{"resume":"blue"}}`).OK()
		if diff := cmp.Diff([]any{"hi", "one", "I need to know more.", "blue", "blue it is"}, rig.Pluck(done.List("messages"), "content")); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
		b.Expect(at, "status", "idle")
	})
	for name, mode := range rig.ModesWithSteps() {
		t.Run("taskstep/"+name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent, mode)
			at := b.Task(`{"input":"hi"}`)
			b.Post(at+"/steps", "").OK()
			asks := b.Post(at+"/steps", "").OK()
			if asks.At("is_last") != false || asks.Text("output") != "I need to know more." || asks.At("additional_output.use_tool.arguments.question") != "Which colour?" {
				t.Errorf("the question: %s", asks.Body)
			}
			b.Expect(rig.ThreadOfTask(at), "status", "interrupted")
			last := say(b, at, "blue")
			if last.At("is_last") != true || last.Text("output") != "blue it is" {
				t.Errorf("the last step: %s", last.Body)
			}
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
		})
	}
}

// TestDefaultAnswer checks that a client that never answers continues, once per question, and that an agent that
// repeats a question ends its run.
func TestDefaultAnswer(t *testing.T) {
	t.Parallel()
	for name, mode := range rig.ModesWithSteps() {
		t.Run("asked once/"+name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent, mode)
			steps := rig.PullAll(t, b, b.Task(`{"input":"hi"}`), "")
			rig.CheckSteps(t, rig.Behind{Texts: []string{"one", "I need to know more.", "blue it is"}}, steps)
			if n := agent.Work(); n != 3 {
				t.Errorf("%d steps, want 3", n)
			}
		})
		t.Run("asked again/"+name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(5)
			b := rig.InFront(t, agent, mode)
			at := b.Task(`{"input":"hi"}`)
			steps := rig.PullAll(t, b, at, "")
			last := steps[len(steps)-1]
			if last.At("additional_output.error.type") != "repeated_question" || !rig.Says(last.Text("output"), "Which colour?") {
				t.Errorf("the last step: %s", last.Body)
			}
			b.Expect(rig.ThreadOfTask(at), "status", "error")
			if n := agent.Work(); n != 3 {
				t.Errorf("%d steps, want 3: the question, and once more after the default answer", n)
			}
		})
	}
}

// TestQuestionInOneStep checks that a question is a separate step even if one step is otherwise the whole run, and that
// the rest after the answer is one step.
func TestQuestionInOneStep(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		agent    adaptertest.Peer
		question string
		last     string
	}{
		"step agent": {rig.Curious(1), "I need to know more.", "blue it is"},
		"graph":      {rig.Asking(adaptertest.ChatPlay()), "Send this mail?", "the answer is 42"},
	} {
		for _, words := range []string{"", `{"input":"blue"}`} {
			t.Run(name+words, func(t *testing.T) {
				t.Parallel()
				b := rig.InFront(t, x.agent, rig.Whole)
				at := b.Task(`{"input":"hi"}`)
				asks := b.Post(at+"/steps", "").OK()
				if asks.At("is_last") != false || asks.Text("output") != x.question {
					t.Errorf("the question: %s", asks.Body)
				}
				if last := b.Post(at+"/steps", words).OK(); last.At("is_last") != true || last.Text("output") != x.last {
					t.Errorf("the rest: %s", last.Body)
				}
			})
		}
	}
}

// TestQuestionsOfAGraphWithoutIDs checks that text answers the first of several questions. Without ids the agent cannot
// assign it to another one, so it asks the others again.
func TestQuestionsOfAGraphWithoutIDs(t *testing.T) {
	t.Parallel()
	two := adaptertest.NamelessPlay()
	twice := func(text string) string {
		return nameless.ReplaceAllString(text, `[{"value":{"question":"Which colour?"}},{"value":{"question":"Which size?"}}]`)
	}
	two.State = twice(two.State)
	for i, f := range two.Frames {
		two.Frames[i] = twice(f)
	}
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{two, adaptertest.ChatPlay()}}
	b := rig.InFront(t, agent)
	at := b.Task(`{"input":"hi"}`)
	b.Post(at+"/steps", "").OK()
	asks := b.Post(at+"/steps", "").OK()
	if text := asks.Text("output"); !strings.Contains(text, "colour") || !strings.Contains(text, "size") {
		t.Fatalf("the questions: %s", text)
	}
	rest := append([]rig.Answer{say(b, at, "blue")}, rig.PullAll(t, b, at, "")...)
	if last := rest[len(rest)-1]; last.Text("output") != "the answer is 42" {
		t.Errorf("the last step: %s", last.Body)
	}
	var resumed struct {
		Command struct{ Resume json.RawMessage }
	}
	if bodies := agent.Bodies(rig.StartRoute); len(bodies) != 2 || json.Unmarshal(bodies[1], &resumed) != nil || string(resumed.Command.Resume) != `"blue"` {
		t.Errorf("%d requests for runs, the last one with the answer %s", len(bodies), resumed.Command.Resume)
	}
}

// nameless is the question of adaptertest.NamelessPlay.
var nameless = regexp.MustCompile(`\[\{"value":\[.*?"Send this mail\?"\}\]\}\]`)

// TestQuestionOfAGraph checks that an interrupt is a step but not the last, and that text resumes it.
func TestQuestionOfAGraph(t *testing.T) {
	t.Parallel()
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		agent := rig.Asking(adaptertest.ChatPlay())
		b := rig.InFront(t, agent)
		at := b.Task(`{"input":"hi"}`)
		one := b.Post(at+"/steps", "").OK()
		asks := b.Post(at+"/steps", "").OK()
		if one.Text("output") != "planning" || asks.Text("output") != "Send this mail?" || asks.At("is_last") != false || asks.At("additional_output.interrupt") == nil {
			t.Errorf("steps:\n%s\n%s", one.Body, asks.Body)
		}
		b.Expect(rig.ThreadOfTask(at), "status", "interrupted")
		rest := append([]rig.Answer{say(b, at, "not today")}, rig.PullAll(t, b, at, "")...)
		if last := rest[len(rest)-1]; last.Text("output") != "the answer is 42" {
			t.Errorf("the last step: %s", last.Body)
		}
		var resumed struct {
			Command struct{ Resume json.RawMessage }
			Input   any
		}
		bodies := agent.Bodies(rig.StartRoute)
		if len(bodies) != 2 || json.Unmarshal(bodies[1], &resumed) != nil || !rig.Says(string(resumed.Command.Resume), "not today") || resumed.Input != nil {
			t.Errorf("%d requests for runs, the last: %s", len(bodies), bodies[len(bodies)-1])
		}
	})
	t.Run("never answered", func(t *testing.T) {
		t.Parallel()
		again := adaptertest.AskPlay()
		again.Frames = slices.DeleteFunc(again.Frames, func(f string) bool { return strings.HasPrefix(f, `updates {"plan"`) })
		agent := rig.Asking(again)
		b := rig.InFront(t, agent)
		steps := rig.PullAll(t, b, b.Task(`{"input":"hi"}`), "")
		if last := steps[len(steps)-1]; last.At("additional_output.error.type") != "repeated_question" {
			t.Errorf("the last step: %s", last.Body)
		}
		if n := agent.Work(); n != 2 {
			t.Errorf("%d runs, want 2: the question, and once more after the default answer", n)
		}
	})
	t.Run("never answered, with work in between", func(t *testing.T) {
		t.Parallel()
		agent := rig.Asking() // asks again and again, each time after an update
		b := rig.InFront(t, agent)
		steps := rig.PullAtMost(t, b, b.Task(`{"input":"hi"}`), "", 40)
		checkUnanswered(t, steps, "Send this mail?")
		if n := agent.Work(); n != 11 {
			t.Errorf("%d runs, want 11: ten default answers", n)
		}
	})
	t.Run("never answered, two questions in turns", func(t *testing.T) {
		t.Parallel()
		b := rig.InFront(t, inTurns(40))
		checkUnanswered(t, rig.PullAtMost(t, b, b.Task(`{"input":"hi"}`), "", 90), "Send this mail?")
	})
	t.Run("an answer resets the count", func(t *testing.T) {
		t.Parallel()
		agent := rig.Asking()
		b := rig.InFront(t, agent)
		at := b.Task(`{"input":"hi"}`)
		for n := range 24 { // a step and a question each
			if n == 12 {
				say(b, at, "not today")
				continue
			}
			if step := b.Post(at+"/steps", "").OK(); step.At("is_last") == true {
				t.Fatalf("step %d: %s", n+1, step.Body)
			}
		}
	})
	t.Run("resumed through threads", func(t *testing.T) {
		t.Parallel()
		b, agent, at := answeredElsewhere(t)
		steps := rig.PullAll(t, b, at, "") // no default answer to the answered question
		if last := steps[len(steps)-1]; last.Text("output") != "the answer is 42" {
			t.Errorf("the last step: %s", last.Body)
		}
		if n := agent.Work(); n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
	})
	t.Run("resumed through threads, and listed", func(t *testing.T) {
		t.Parallel()
		b, _, at := answeredElsewhere(t)
		if n := len(b.Get(at + "/steps").OK().List("steps")); n != 5 {
			t.Errorf("%d steps after the answer, want 5", n)
		}
	})
}

// answeredElsewhere returns a task whose graph asked in its second step and was answered through the routes of threads.
func answeredElsewhere(t *testing.T) (b *rig.Bridge, agent *adaptertest.ThreadAgent, at string) {
	t.Helper()
	agent = rig.Asking(adaptertest.ChatPlay())
	b = rig.InFront(t, agent)
	at = b.Task(`{"input":"hi"}`)
	b.Post(at+"/steps", "").OK()
	b.Post(at+"/steps", "").OK()
	done := b.Post(rig.ThreadOfTask(at)+"/runs/wait", `{"assistant_id":"agent","command":{"resume":{"type":"accept"}}}`).OK()
	if done.At("__error__") != nil {
		t.Fatalf("the resume: %s", done.Body)
	}
	return b, agent, at
}

// inTurns is a graph that alternates between work and a question forever.
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

func checkUnanswered(t *testing.T, steps []rig.Answer, question string) {
	t.Helper()
	if last := steps[len(steps)-1]; last.At("additional_output.error.type") != "repeated_question" || !rig.Says(last.Text("output"), question) {
		t.Errorf("the last step: %s", last.Body)
	}
}
