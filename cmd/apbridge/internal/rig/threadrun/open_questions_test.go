package threadrun

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// askedBefore returns a thread on which "agent" has asked a question, followed by a number of completed runs of "calm".
func askedBefore(t *testing.T, agent http.Handler, dialect string, ends int) (b *rig.Bridge, at, id string) {
	t.Helper()
	calm := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL
	b = rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, agent).URL, func(c *config.Agent) { c.Dialect = dialect }),
		"calm":  rig.AgentAt(calm, func(c *config.Agent) { c.Dialect = "taskstep" }),
	}))
	at, id = atItsQuestion(b, "")
	for range ends {
		b.Post(at+"/runs/wait", `{"assistant_id":"calm",`+rig.SaysHi+`}`).OK()
	}
	return b, at, id
}

// answersOf returns ways to answer an agent's question.
var answersOf = map[string]func(b *rig.Bridge, at, id string) rig.Answer{
	"resume": func(b *rig.Bridge, at, _ string) rig.Answer {
		return b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"blue"}}`)
	},
	"by its id": func(b *rig.Bridge, at, id string) rig.Answer {
		return b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"`+id+`":"blue"}}}`)
	},
	"input.respond": func(b *rig.Bridge, at, id string) rig.Answer {
		return command(b, at, `{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":"`+id+`","response":"blue"}}`)
	},
	"a batch": func(b *rig.Bridge, at, id string) rig.Answer {
		return command(b, at, `{"id":1,"method":"input.respond","params":{"namespace":[],"responses":[{"interrupt_id":"`+id+`","response":"blue"}]}}`)
	},
	"run.start": func(b *rig.Bridge, at, _ string) rig.Answer {
		return command(b, at, `{"id":1,"method":"run.start","params":{"assistant_id":"agent",`+message("blue")+`}}`)
	},
}

// TestQuestionStaysOpenDuringOtherAgentsRuns checks that new input for another agent neither answers nor drops the
// question.
func TestQuestionStaysOpenDuringOtherAgentsRuns(t *testing.T) {
	t.Parallel()
	for name, answer := range answersOf {
		t.Run(name+", task/step", func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b, at, id := askedBefore(t, agent, "taskstep", 1)
			checkOpen(b, at, id)
			answer(b, at, id).OK()
			b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
			b.Expect(at, "status", "idle")
		})
		t.Run(name+", thread/run", func(t *testing.T) {
			t.Parallel()
			agent := rig.Asking(adaptertest.ChatPlay())
			b, at, id := askedBefore(t, agent, "threadrun", 1)
			checkOpen(b, at, id)
			b.Expect(at+"/state", "next.0", "ask")
			answer(b, at, id).OK()
			b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
			b.Expect(at, "status", "idle")
			texts := fmt.Sprint(b.Get(at + "/state").OK().List("values.messages"))
			for _, said := range []string{"the answer is 42", "planning", "hi"} {
				if !strings.Contains(texts, said) {
					t.Errorf("no message %q: %s", said, texts)
				}
			}
		})
	}
	t.Run("the next step", func(t *testing.T) {
		t.Parallel()
		agent := rig.Curious(1)
		b, at, _ := askedBefore(t, agent, "taskstep", 1)
		steps := "/agents/agent/ap/v1/agent/tasks/" + b.Get(at+"/runs").OK().Text("1.run_id") + "/steps"
		for range 3 { // two steps have to be handed out first
			b.Post(steps, `{"input":"blue"}`).OK()
		}
		rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
		b.Expect(at, "status", "idle")
	})
	t.Run("an interaction", func(t *testing.T) {
		t.Parallel()
		agent := rig.Curious(1)
		b, at, _ := askedBefore(t, agent, "taskstep", 1)
		topic := "/agents/agent/ap/v2/topics/" + strings.TrimPrefix(at, "/threads/")
		said := b.Post(topic+"/interactions", `{"input":"blue"}`).Is(http.StatusCreated)
		if task := b.Get(at + "/runs").OK().Text("2.run_id"); said.Text("task_id") != task {
			t.Errorf("the answer is in task %s, want %s, which asked", said.Text("task_id"), task)
		}
		b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
		rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
	})
}

func checkOpen(b *rig.Bridge, at, id string) {
	b.T.Helper()
	b.Expect(at, "status", "interrupted")
	if open := b.Get(at + "/state").OK().Text("tasks.0.interrupts.0.id"); open != id {
		b.T.Errorf("the state's question is %q, want %q", open, id)
	}
	for name, body := range map[string]string{
		"another agent":    `{"assistant_id":"calm","command":{"resume":"blue"}}`,
		"another question": `{` + saysAgent + `"command":{"resume":{"` + rig.UnknownQuestion + `":"blue"}}}`,
	} {
		got := b.Post(at+"/runs/wait", body)
		if got.Status/100 != 4 || !strings.Contains(string(got.Body), id) {
			b.T.Errorf("an answer to %s: %d %s", name, got.Status, got.Body)
		}
	}
}

// TestOldQuestionIsAnswered checks that the agent that asked is found even after many other runs.
func TestOldQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for name, answer := range answersOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b, at, id := askedBefore(t, agent, "taskstep", 36)
			answer(b, at, id).OK()
			b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
		})
	}
}

// TestQuestionsOfConcurrentRuns checks concurrent runs that have each asked a question. An answer must name its
// question, and can answer the questions of one run only.
func TestQuestionsOfConcurrentRuns(t *testing.T) {
	t.Parallel()
	b := rig.StartBridge(t, rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, rig.Curious(1)).URL, func(c *config.Agent) {
			c.Dialect, c.AllowConcurrent, c.AnswerByMessage = "taskstep", true, "never"
		}),
	}))
	at, first := atItsQuestion(b, `"multitask_strategy":"concurrent",`)
	second := b.Post(at+"/runs/wait", `{`+saysAgent+`"multitask_strategy":"concurrent",`+rig.SaysHi+`}`).OK().Text("__interrupt__.0.id")
	for name, body := range map[string]string{
		"bare":    `{` + saysAgent + `"command":{"resume":"blue"}}`,
		"of both": `{` + saysAgent + `"command":{"resume":{"` + first + `":"blue","` + second + `":"red"}}}`,
		"other":   `{` + saysAgent + `"command":{"resume":{"` + rig.UnknownQuestion + `":"blue"}}}`,
	} {
		got := b.Post(at+"/runs/wait", body)
		if text := string(got.Body); got.Status/100 != 4 || !strings.Contains(text, first) || !strings.Contains(text, second) {
			t.Errorf("an answer, %s: %d %s", name, got.Status, text)
		}
	}
	for _, id := range []string{first, second} {
		b.Expect(at, "status", "interrupted")
		b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"`+id+`":"blue"}}}`).OK()
		if late := b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"`+id+`":"blue"}}}`); late.Status/100 != 4 {
			t.Errorf("a second answer: %d %s", late.Status, late.Body)
		}
	}
	b.Expect(at, "status", "idle")
}
