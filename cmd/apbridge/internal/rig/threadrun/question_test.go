package threadrun

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

const saysAgent = `"assistant_id":"agent",`

// atItsQuestion returns a thread whose agent has asked a question, and the question.
func atItsQuestion(b *rig.Bridge, more string) (at string, id string) {
	b.T.Helper()
	at = b.Thread()
	asked := b.Post(at+"/runs/wait", `{`+saysAgent+more+rig.SaysHi+`}`).OK()
	b.Expect(at, "status", "interrupted")
	return at, asked.Text("__interrupt__.0.id")
}

// message returns an input with one human message.
func message(text string) string {
	return fmt.Sprintf(`"input":{"messages":[{"type":"tool","id":"do-not-render-1","tool_call_id":"c","content":"Successfully handled tool call."},{"type":"human","id":"m1","content":%q}]}`, text)
}

// editAnswer is the answer of a chat page with a text field for the answer.
const editAnswer = `{"decisions":[{"type":"edit","edited_action":{"name":"ask_user","args":{"question":"Which colour?","answer":"blue"}}}]}`

// TestEveryWayToAnswer checks that the agent receives the text, whatever form a client's answer has.
func TestEveryWayToAnswer(t *testing.T) {
	t.Parallel()
	wait := func(b *rig.Bridge, at, body string) { b.Post(at+"/runs/wait", `{`+saysAgent+body+`}`).OK() }
	command := func(b *rig.Bridge, at, body string) {
		b.T.Helper()
		if a := b.Post(at+"/commands", body).OK(); a.At("type") != "success" {
			b.T.Fatalf("%s: %s", body, a.Body)
		}
		b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
	}
	for name, answer := range map[string]func(b *rig.Bridge, at, id string){
		"resume":    func(b *rig.Bridge, at, _ string) { wait(b, at, `"command":{"resume":"blue","goto":[]}`) },
		"by its id": func(b *rig.Bridge, at, id string) { wait(b, at, `"command":{"resume":{"`+id+`":"blue"}}`) },
		"a field":   func(b *rig.Bridge, at, _ string) { wait(b, at, `"command":{"resume":`+editAnswer+`}`) },
		"an old page": func(b *rig.Bridge, at, _ string) {
			wait(b, at, `"command":{"resume":[{"type":"response","args":"blue"}]}`)
		},
		"old, edited": func(b *rig.Bridge, at, _ string) {
			wait(b, at, `"command":{"resume":[{"type":"edit","args":{"action":"ask_user","args":{"question":"","answer":"blue"}}}]}`)
		},
		"a message": func(b *rig.Bridge, at, _ string) { wait(b, at, message("blue")) },
		"input.respond": func(b *rig.Bridge, at, id string) {
			command(b, at, `{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":"`+id+`","response":"blue"}}`)
		},
		"run.start": func(b *rig.Bridge, at, _ string) {
			command(b, at, `{"id":1,"method":"run.start","params":{"assistant_id":"agent",`+message("blue")+`}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent)
			at, id := atItsQuestion(b, "")
			answer(b, at, id)
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
			b.Expect(at, "status", "idle")
			var told []any
			for _, m := range b.Get(at + "/state").OK().List("values.messages") {
				if rig.Dig(m, "type") == "human" {
					told = append(told, rig.Dig(m, "content"))
					if name == "a message" || name == "run.start" {
						told[len(told)-1] = rig.Dig(m, "id")
					}
				}
			}
			if last := told[len(told)-1]; len(told) != 2 || last != "blue" && last != "m1" {
				t.Errorf("human messages: %v", told)
			}
		})
	}
}

// TestAnswerWithAFile checks that the files of an answering message reach the agent with their names, and that the
// message is unchanged. Without text, the file is the answer.
func TestAnswerWithAFile(t *testing.T) {
	t.Parallel()
	for content, told := range map[string]string{
		`[{"type":"text","text":"blue"},` + image + `]`: `blue\n[Attached file: a.png]`,
		`[` + image + `]`: `[Attached file: a.png]`,
		`[{"type":"text","text":" "},` + image + `]`: ` \n[Attached file: a.png]`,
	} {
		t.Run(told, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent)
			at, _ := atItsQuestion(b, "")
			b.Post(at+"/runs/wait", `{`+saysAgent+`"input":{"messages":[{"type":"human","id":"m1","content":`+content+`}]}}`).OK()
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"` + told + `"}`})
			if got, there := agent.Received("a.png"); !there || got != "hi" {
				t.Errorf("the agent has %q, %v", got, there)
			}
			state := b.Get(at + "/state").OK()
			i := slices.IndexFunc(state.List("values.messages"), func(m any) bool { return rig.Dig(m, "id") == "m1" })
			if i < 0 || cmp.Diff(anyOf(content), rig.Dig(state.List("values.messages")[i], "content")) != "" {
				t.Errorf("state %s", state.Body)
			}
			if diff := cmp.Diff([]string{"a.png"}, artifactNames(b, at)); diff != "" {
				t.Errorf("artifacts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMessagesWithAnAnswer checks that other new messages are sent to the agent with the answer, and that the
// loss header names those withheld from the agent.
func TestMessagesWithAnAnswer(t *testing.T) {
	t.Parallel()
	const system, blue = `{"type":"system","id":"s1","content":"Be brief."}`, `{"type":"human","id":"m1","content":"blue"}`
	const link = `{"type":"human","id":"m1","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`
	const cancelled = `{"type":"tool","id":"t1","tool_call_id":"CALL","content":"{\"cancelled\":true}"}`
	const other = `{"type":"tool","id":"t2","tool_call_id":"c2","content":"sunny"}`
	withholds := func(a *config.Agent) { a.Memory.History = "none" }
	beside := func(a *config.Agent) { a.Memory.Mode = "additional_input" }
	asWas := func(*config.Agent) {}
	for name, x := range map[string]struct {
		set        func(*config.Agent)
		sent, told string
		lossy      string
	}{
		"a system message":       {asWas, system + "," + blue, `Conversation so far:\n\nSystem: Be brief.\n\nCurrent request:\nblue`, ""},
		"delivered beside":       {beside, system + "," + blue, `Conversation so far:\n\nSystem: Be brief.\n\nCurrent request:\nblue`, ""},
		"kept from it":           {withholds, system + "," + blue, `blue`, "transcript;approximated"},
		"nothing to keep":        {withholds, blue, `blue`, ""},
		"a page's own mark":      {asWas, cancelled + "," + blue, `blue`, ""},
		"a mark, kept from it":   {withholds, cancelled + "," + blue, `blue`, ""},
		"the result of a call":   {asWas, other + "," + cancelled + "," + blue, `Conversation so far:\n\nTool: sunny\n\nCurrent request:\nblue`, ""},
		"a result, kept from it": {withholds, other + "," + blue, `blue`, "transcript;approximated"},
		"a link without a word":  {asWas, link, `[Attached link: https://example.com/a.png]`, "messages.links;approximated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent, x.set)
			at, _ := atItsQuestion(b, "")
			var known []string
			call := ""
			for _, m := range b.Get(at + "/state").OK().List("values.messages") {
				raw, _ := json.Marshal(m)
				known = append(known, string(raw))
				if made, ok := rig.Dig(m, "tool_calls.0.id").(string); ok {
					call = made
				}
			}
			sent := strings.ReplaceAll(x.sent, "CALL", call)
			said := b.Post(at+"/runs/wait", `{`+saysAgent+`"input":{"messages":[`+strings.Join(append(known, sent), ",")+`]}}`).OK()
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"` + x.told + `"}`})
			if got := said.Header.Get("X-Apbridge-Unsupported"); got != x.lossy {
				t.Errorf("unsupported fields %q, want %q", got, x.lossy)
			}
		})
	}
}

// TestMessagesWithAConsent checks that a mere consent sends no other messages to the agent, and that the loss header
// reports them.
func TestMessagesWithAConsent(t *testing.T) {
	t.Parallel()
	for sent, lossy := range map[string]string{
		`{"type":"human","id":"m1","content":"yes"}`:                                                   "",
		`{"type":"system","id":"s1","content":"Be brief."},{"type":"human","id":"m2","content":"yes"}`: "transcript;approximated",
	} {
		b := rig.InFront(t, rig.Curious(1), func(a *config.Agent) { a.Approval = "step" })
		at, _ := atItsQuestion(b, "")
		said := b.Post(at+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"agent","input":{"messages":[`+sent+`]}}}`).OK()
		if got := said.Header.Get("X-Apbridge-Unsupported"); got != lossy || said.At("type") != "success" {
			t.Errorf("%s: unsupported fields %q, want %q: %s", sent, got, lossy, said.Body)
		}
	}
}

// TestInvalidAnswersAreRefused checks that invalid answers are refused with the question's id, reach no agent, and
// leave the question open.
func TestInvalidAnswersAreRefused(t *testing.T) {
	t.Parallel()
	agent := rig.Curious(1)
	b := rig.InFront(t, agent)
	at, id := atItsQuestion(b, "")
	for _, body := range []string{
		`"command":{"resume":null}`, `"command":{"resume":""}`, `"command":{"resume":{"decisions":[]}}`, `"command":{"resume":[{"type":"accept"}]}`,
		`"command":{"resume":{"decisions":[{"type":"approve"},{"type":"approve"}]}}`, `"command":{"resume":{"` + rig.UnknownQuestion + `":"blue"}}`,
		`"command":{"resume":{"` + id + `":null}}`, `"input":null`, `"input":{"messages":[{"type":"human","content":""}]},"command":{"resume":" "}`,
	} {
		if refused := b.Post(at+"/runs/wait", `{`+saysAgent+body+`}`).Is(http.StatusUnprocessableEntity); !strings.Contains(string(refused.Body), id) {
			t.Errorf("%s: %s", body, refused.Body)
		}
	}
	b.Expect(at, "status", "interrupted")
	rig.CheckAnswered(t, agent, []string{"", ""})
	refused := b.Post(at+"/commands", `{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":"`+rig.UnknownQuestion+`","response":"blue"}}`).OK()
	if refused.At("error") != "no_such_interrupt" || !strings.Contains(refused.Text("message"), id) {
		t.Errorf("input.respond: %s", refused.Body)
	}
	b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"yes"}}`).OK()
	rig.CheckAnswered(t, agent, []string{"", "", `{"input":"yes"}`})
	b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"late"}}`).Is(http.StatusConflict)
}

// TestGotoEndDropsTheQuestion checks "Mark as resolved" of chat pages.
func TestGotoEndDropsTheQuestion(t *testing.T) {
	t.Parallel()
	for _, to := range []string{`{"goto":"__end__"}`, `{"goto":["__end__"],"update":null,"resume":null}`} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent)
			at, _ := atItsQuestion(b, "")
			for _, refused := range []string{`{"goto":"step"}`, `{"goto":["__end__","step"]}`, `{"goto":"__end__","resume":"blue"}`, `{"goto":"__end__"},` + message("told to nobody"), `{"resume":"blue","update":{"a":1}}`} {
				b.Post(at+"/runs/wait", `{`+saysAgent+`"command":`+refused+`}`).Is(http.StatusUnprocessableEntity)
			}
			_, frames := b.Stream("POST", at+"/runs/stream", `{`+saysAgent+`"stream_mode":["values","updates"],"input":null,"command":`+to+`}`, 0)
			for _, f := range frames {
				if f.Event == "error" || strings.Contains(f.Data, "__interrupt__") {
					t.Errorf("%s %s", f.Event, f.Data)
				}
			}
			state := b.Get(at + "/state").OK()
			if len(state.List("next")) != 0 || len(state.List("tasks")) != 0 || len(state.List("values.messages")) != 3 {
				t.Errorf("state %s", state.Body)
			}
			b.Expect(at, "status", "idle")
			rig.CheckAnswered(t, agent, []string{"", ""})
			steps := b.Get("/agents/agent/ap/v1/agent/tasks/" + strings.TrimPrefix(b.Get(at+"/runs").OK().Text("1.run_id"), "") + "/steps").OK().List("steps")
			if len(steps) != 3 || rig.Dig(steps[2], "is_last") != true || rig.Dig(steps[1], "is_last") != false {
				t.Errorf("the task's steps: %v", steps)
			}
			b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":"late"}}`).Is(http.StatusConflict)
			b.Post(at+"/runs/wait", `{`+saysAgent+`"input":{},"command":{"goto":"__end__"}}`).OK()
			b.Post(at+"/runs/wait", `{`+saysAgent+`"input":{"messages":[]},"command":{"goto":"__end__"}}`).OK()
			if b.Post(at+"/runs/wait", `{`+saysAgent+rig.SaysMore+`}`).OK(); agent.Counts().Creates != 2 {
				t.Errorf("%d tasks were created", agent.Counts().Creates)
			}
		})
	}
}

// TestRespondWithGotoEndDropsTheQuestion uses the streaming protocol, whose command must name the
// question and may have null as its answer.
func TestRespondWithGotoEndDropsTheQuestion(t *testing.T) {
	t.Parallel()
	agent := rig.Curious(1)
	b := rig.InFront(t, agent)
	at, id := atItsQuestion(b, "")
	respond := func(more string) rig.Answer {
		return command(b, at, `{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":"`+id+`",`+more+`}}`)
	}
	for _, refused := range []string{`"response":"blue","goto":"__end__"`, `"response":null,"goto":"step"`, `"response":{"a":null},"goto":["__end__"]`} {
		if got := respond(refused); got.At("error") != "not_supported" {
			t.Errorf("%s: %s", refused, got.Body)
		}
	}
	b.Expect(at, "status", "interrupted")
	if got := respond(`"response":null,"goto":"__end__"`); got.Text("type") != "success" {
		t.Fatal(got)
	}
	b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
	b.Expect(at, "status", "idle")
	if state := b.Get(at + "/state").OK(); len(state.List("next")) != 0 || len(state.List("tasks")) != 0 {
		t.Errorf("state %s", state.Body)
	}
	rig.CheckAnswered(t, agent, []string{"", ""})
	if got := respond(`"response":"late"`); got.At("error") != "no_such_interrupt" {
		t.Errorf("%s", got.Body)
	}
}

// TestGotoEndIsForwardedToAGraph checks that a thread/run agent receives the client's command, and that its result is
// the thread's state.
func TestGotoEndIsForwardedToAGraph(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		say  func(b *rig.Bridge, at, id string)
		want string
	}{
		"command": {func(b *rig.Bridge, at, _ string) {
			b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"goto":"__end__"}}`).OK()
		}, `{"goto":"__end__"}`},
		"command of RemoteGraph": {func(b *rig.Bridge, at, _ string) {
			b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"goto":["__end__"],"update":null,"resume":null}}`).OK()
		}, `{"goto":["__end__"]}`},
		"input.respond": {func(b *rig.Bridge, at, id string) {
			got := command(b, at, `{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":"`+id+`","response":null,"goto":"__end__"}}`)
			if got.Text("type") != "success" {
				b.T.Fatal(got)
			}
			b.Get(at + "/runs/" + b.Get(at+"/runs").OK().Text("0.run_id") + "/join").OK()
		}, `{"resume":{"ID":null},"goto":"__end__"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Asking(adaptertest.ChatPlay())
			b := rig.InFront(t, agent, rig.AsThreads)
			at, id := atItsQuestion(b, "")
			c.say(b, at, id)
			bodies := agent.Bodies(rig.StartRoute)
			if diff := cmp.Diff(strings.ReplaceAll(c.want, "ID", id), string(rawjson.Get(bodies[len(bodies)-1], "command"))); diff != "" {
				t.Errorf("the agent's request (-want +got):\n%s", diff)
			}
			b.Expect(at, "status", "idle")
		})
	}
}

// asksMessages sets whether an agent accepts messages as answers.
func asksMessages(how string) func(*config.Agent) {
	return func(a *config.Agent) { a.AnswerByMessage = how }
}

// TestMessagesAreNotApproval checks that a message never gives approval, and that a configuration may disable
// answers by messages.
func TestMessagesAreNotApproval(t *testing.T) {
	t.Parallel()
	tool := `{"use_tool":{"name":"write_file","arguments":{"filename":"a"}}}`
	writes := func() *adaptertest.StepAgent {
		return &adaptertest.StepAgent{Kind: adaptertest.AutoGPT, Script: []adaptertest.ScriptStep{
			{Output: `"I will write."`, Additional: tool}, {Output: `"wrote"`, Additional: `{"use_tool":{"name":"finish","arguments":{}}}`}, {Output: `"bye"`, Last: true},
		}}
	}
	careful := func(a *config.Agent) { a.Approval = "ask" }
	for name, x := range map[string]struct {
		agent *adaptertest.StepAgent
		set   func(*config.Agent)
		tasks int
	}{
		"an approval":  {writes(), careful, 2},
		"set to never": {rig.Curious(1), asksMessages("never"), 2},
		"a question":   {rig.Curious(1), asksMessages("questions"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, x.agent, x.set)
			at, _ := atItsQuestion(b, "")
			b.Post(at+"/runs/wait", `{`+saysAgent+message("purple")+`}`).OK()
			if n := x.agent.Counts().Creates; n != x.tasks {
				t.Errorf("%d tasks, want %d", n, x.tasks)
			}
		})
	}
	t.Run("approved", func(t *testing.T) {
		t.Parallel()
		agent := writes()
		b := rig.InFront(t, agent, careful)
		at, id := atItsQuestion(b, "")
		b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":null}}`).Is(http.StatusUnprocessableEntity)
		done := b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"`+id+`":{"decisions":[{"type":"approve"}]}}}}`).OK()
		if done.At("__interrupt__") != nil {
			t.Errorf("the last step asks a question: %s", done.Body)
		}
		rig.CheckAnswered(t, agent, []string{"", "", ""})
	})
}

// TestRunWithoutInputContinuesAfterABreakpoint checks that a run without input continues after a stop that the client
// requested, as in LangGraph, and that it does not count as consent to a question of the agent or its operator.
func TestRunWithoutInputContinuesAfterABreakpoint(t *testing.T) {
	t.Parallel()
	agent := rig.Curious(1)
	b := rig.InFront(t, agent)
	at, _ := atItsQuestion(b, `"interrupt_after":["*"],`)
	asked := b.Post(at+"/runs/wait", `{`+saysAgent+`"input":null,"interrupt_after":["*"]}`).OK()
	if asked.Text("__interrupt__.0.value.action_request.action") != "ask_user" {
		t.Errorf("after the breakpoint: %s", asked.Body)
	}
	b.Post(at+"/runs/wait", `{`+saysAgent+`"input":null}`).Is(http.StatusUnprocessableEntity)
	rig.CheckAnswered(t, agent, []string{"", ""})
	step := rig.InFront(t, rig.Curious(1), func(a *config.Agent) { a.Approval = "step" })
	at, _ = atItsQuestion(step, "")
	step.Post(at+"/runs/wait", `{`+saysAgent+`"input":null}`).Is(http.StatusUnprocessableEntity)
}

// TestResponseSchema checks that the schema of a graph's question is shown with the question everywhere, and that
// answers are validated against it before the graph receives them.
func TestResponseSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}`
	play := adaptertest.AskPlay()
	for i, f := range play.Frames {
		play.Frames[i] = strings.ReplaceAll(f, `"description":"Send this mail?"}]}]`, `"description":"Send this mail?"}],"response_schema":`+schema+`}]`)
	}
	play.State = strings.ReplaceAll(play.State, `"description":"Send this mail?"}]}]`, `"description":"Send this mail?"}],"response_schema":`+schema+`}]`)
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play, adaptertest.ChatPlay()}}
	b := rig.InFront(t, agent)
	at := b.Thread()
	_, frames := b.Stream("POST", at+"/runs/stream", `{`+saysAgent+`"stream_mode":["values","updates","tasks"],`+rig.SaysHi+`}`, 0)
	shown := 0
	for _, f := range frames {
		shown += strings.Count(f.Data, `"response_schema":`+schema)
	}
	if shown < 3 {
		t.Errorf("frames show the schema %d times: %v", shown, frames)
	}
	for _, path := range []string{at, at + "/state"} {
		if a := b.Get(path).OK(); !strings.Contains(string(a.Body), `"response_schema":`+schema) {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	refused := b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"days":"three"}}}`).Is(http.StatusUnprocessableEntity)
	if diff := cmp.Diff("The answer to question 74462228383d847ecfda1c079720e8fc does not fit its response_schema: at '/days': got string, want integer.", refused.Text("message")); diff != "" {
		t.Error(diff)
	}
	if n := agent.Calls(rig.StartRoute); n != 1 {
		t.Errorf("the graph received %d runs", n)
	}
	b.Post(at+"/runs/wait", `{`+saysAgent+`"command":{"resume":{"days":3}}}`).OK()
	b.Expect(at, "status", "idle")
}
