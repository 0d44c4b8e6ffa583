package a2a

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/uuid"
)

// a2aAgents are agents of each version and binding.
func a2aAgents() []*adaptertest.A2AAgent {
	return []*adaptertest.A2AAgent{{}, {HTTP: true}, {Version: "0.3"}, {Version: "0.3", HTTP: true}}
}

// receivedBy returns the parts of the message that an agent received last.
func receivedBy(t *testing.T, agent *adaptertest.A2AAgent) wire.Parts {
	t.Helper()
	version, m := wire.V1, agent.Seen[len(agent.Seen)-1]
	switch {
	case agent.HTTP && agent.Version != "":
		version, m["content"] = wire.V03HTTP, m["parts"]
	case agent.Version != "":
		version = wire.V03
	}
	var got wire.Message
	if err := leniently.Read(version, raw(t, m), &got); err != nil {
		t.Fatal(err)
	}
	return got.Parts
}

// shownAnswer is shownParts with data marked as such.
func shownAnswer(parts wire.Parts) string {
	if len(parts) > 0 && parts[0].Kind == wire.PartData {
		return "data: " + shownParts(parts)
	}
	return shownParts(parts)
}

// TestAnswersReachA2AAgentsUnchanged checks that an A2A agent gets a text as text and any other value as data, however it was
// sent, and that no answer is taken for consent.
func TestAnswersReachA2AAgentsUnchanged(t *testing.T) {
	t.Parallel()
	link := wire.Part{Kind: wire.PartURL, URL: "https://example.com/map.png", Filename: "map.png", MediaType: "image/png"}
	for _, agent := range a2aAgents() {
		t.Run(fmt.Sprintf("version %q, http %v", agent.Version, agent.HTTP), func(t *testing.T) {
			t.Parallel()
			c := before(t, agent)
			ask := func(thread string) (task, question string) {
				t.Helper()
				asked := c.call("SendMessage", message(uuid.NewString(), "ask", thread)).Want(t, 200, "TASK_STATE_INPUT_REQUIRED")
				return asked.Text("result.task.id"), asked.Text("result.task.status.message.parts.1.data.interrupt_id")
			}
			check := func(how, want string) {
				t.Helper()
				if got := shownAnswer(receivedBy(t, agent)); got != want {
					t.Errorf("%s: the agent received %s, want %s", how, got, want)
				}
			}
			for _, s := range speakers(c) {
				for want, parts := range map[string]wire.Parts{
					"yes": {wire.TextPart("yes")}, "y": {wire.TextPart("y")}, `{"a":1}`: {wire.TextPart(`{"a":1}`)},
					"data: true": {wire.DataPart(json.RawMessage("true"))}, "data: []": {wire.DataPart(json.RawMessage("[]"))},
					`data: {"decisions":[{"type":"approve"},{"type":"approve"}]}`: {wire.DataPart(json.RawMessage(`{"decisions": [{"type": "approve"}, {"type": "approve"}]}`))},
					`ok|https://example.com/map.png map.png image/png`:            {wire.TextPart("ok"), link},
				} {
					task, _ := ask("")
					m := &wire.Message{MessageID: uuid.NewString(), TaskID: task, Role: wire.RoleUser, Parts: parts}
					var sent wire.SendMessageResponse
					s.call(wire.MethodSendMessage, &wire.SendMessageRequest{Message: m, Configuration: &wire.SendMessageConfiguration{}}, &sent)
					check(s.version.String()+" message", want)
					if h := sent.Task.History; shownAnswer(h[len(h)-1].Parts) != want {
						t.Errorf("the history of %s has %s, want %s", s.version, shownAnswer(h[len(h)-1].Parts), want)
					}
				}
			}
			for resume, want := range map[string]string{
				`"yes"`: "yes", `"[1]"`: "[1]", `true`: "data: true", `[{"type":"ignore"}]`: `data: [{"type":"ignore"}]`,
				`[{"type":"accept"}]`: `data: [{"type":"accept"}]`, `1.5`: "data: 1.5", `null`: "data: null",
			} {
				for _, byID := range []bool{false, true} {
					thread := c.Post("/threads", "{}").OK().Text("thread_id")
					_, question := ask(`,"contextId":"` + thread + `"`)
					value := resume
					if byID {
						value = `{"` + question + `":` + resume + `}`
					}
					c.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","command":{"resume":`+value+`}}`).Want(t, 200)
					check("command.resume", want)
				}
			}
			for form, want := range map[string]string{"words=yes": "yes", "json=true": "data: true"} {
				thread := c.Post("/threads", "{}").OK().Text("thread_id")
				_, question := ask(`,"contextId":"` + thread + `"`)
				c.Do("POST", "/inspect/threads/"+thread+"/answer", form+"&sure=yes&question="+question,
					"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin", "Accept", "text/html").Want(t, 303)
				rig.Eventually(t, "the run ends", func() bool { return c.Get("/threads/"+thread).OK().Text("status") == "idle" })
				check("the inspector's form", want)
			}
			thread := c.Post("/threads", "{}").OK().Text("thread_id")
			ask(`,"contextId":"` + thread + `"`)
			c.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","input":null}`).Want(t, 422, "waits for an answer")
			task := c.Post("/ap/v1/agent/tasks", `{"input":"ask"}`).OK().Text("task_id")
			for range 2 { // the draft and the question
				c.Post("/ap/v1/agent/tasks/"+task+"/steps", "{}").OK()
			}
			c.Post("/ap/v1/agent/tasks/"+task+"/steps", `{"input":"ok"}`).OK()
			check("a step", "ok")
		})
	}
}

// TestDecisionsOverTwoBridges checks that a graph behind two bridges gets the decisions that a client sent.
func TestDecisionsOverTwoBridges(t *testing.T) {
	t.Parallel()
	const answer = `{"decisions":[{"type":"approve"}]}`
	var resumed atomic.Bool
	agent := &adaptertest.ThreadAgent{Choose: func(body []byte) adaptertest.ThreadPlay {
		if !strings.Contains(string(body), `"resume"`) {
			return adaptertest.AskPlay()
		}
		resumed.Store(strings.Contains(string(body), answer))
		return adaptertest.ChatPlay()
	}}
	inner := rig.Configured(t, "agents: {graph: {url: $GRAPH, dialect: threadrun}}", map[string]http.Handler{"graph": agent})
	c := client{rig.Configured(t, `agents: {graph: {url: "`+inner.URL+`/a2a/graph", dialect: a2a}}`, nil), "graph"}
	task := c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "INPUT_REQUIRED").Text("result.task.id")
	c.call("SendMessage", `{"message":{"messageId":"m-2","role":"ROLE_USER","taskId":"`+task+`","parts":[{"data":`+answer+`}]}}`).Want(t, 200, "COMPLETED")
	if !resumed.Load() {
		t.Error("the graph was not resumed with the decisions")
	}
}

// say sends a message and returns its task.
func (s speaker) say(taskID, contextID string, parts ...wire.Part) *wire.Task {
	s.T.Helper()
	m := &wire.Message{MessageID: uuid.NewString(), TaskID: taskID, ContextID: contextID, Role: wire.RoleUser, Parts: parts}
	var sent wire.SendMessageResponse
	s.call(wire.MethodSendMessage, &wire.SendMessageRequest{Message: m, Configuration: &wire.SendMessageConfiguration{}}, &sent)
	return sent.Task
}

func rawPart(name, content string) wire.Part {
	return wire.Part{Kind: wire.PartRaw, Raw: []byte(content), Filename: name, MediaType: "text/plain"}
}

// TestFilesReachA2AAgentsOnce checks that an A2A agent gets each file of a person once, with the message that brought it,
// even if that is an answer, and none of its own.
func TestFilesReachA2AAgentsOnce(t *testing.T) {
	t.Parallel()
	for _, agent := range a2aAgents() {
		t.Run(fmt.Sprintf("version %q, http %v", agent.Version, agent.HTTP), func(t *testing.T) {
			t.Parallel()
			c := before(t, agent)
			check := func(how, want string) {
				t.Helper()
				if got := shownParts(receivedBy(t, agent)); got != want {
					t.Errorf("%s: the agent received %q, want %q", how, got, want)
				}
			}
			for _, s := range speakers(c) {
				contextID := s.say("", "", wire.TextPart("file it"), rawPart("a.txt", "A")).ContextID
				check("a message", "file it\n[Attached file: a.txt]|A a.txt text/plain")
				task := s.say("", contextID, wire.TextPart("ask me")).ID
				check("a second task", "ask me")
				s.say(task, contextID, wire.TextPart("yes"), rawPart("b.txt", "B"))
				check("an answer", "yes\n[Attached file: b.txt]|B b.txt text/plain")
				task = s.say("", contextID, wire.TextPart("ask me"), rawPart("a.txt", "A")).ID
				check("the same file again", "ask me\n[Attached file: a.txt]")
				s.say(task, contextID, rawPart("only.txt", "O"))
				check("an answer without text", "[Attached file: only.txt]|O only.txt text/plain")
			}
			thread := c.Post("/threads", "{}").OK().Text("thread_id")
			run := func(fields string) {
				t.Helper()
				c.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent",`+fields+`}`).OK()
			}
			run(`"input":{"messages":[{"role":"user","content":"file it"}],"files":{"/c.txt":{"content":["C"]}}}`)
			check("a file of the state", "file it|C c.txt application/octet-stream")
			run(`"input":{"messages":[{"role":"user","content":"ask me"}],"files":{"/d.txt":{"content":["D"]}}}`)
			check("another file of the state", "ask me|D d.txt application/octet-stream")
			c.Post("/threads/"+thread+"/state", `{"values":{"files":{"/e.txt":{"content":["E"]}}}}`)
			run(`"command":{"resume":"red"}`)
			check("an answer after a state update", "red|E e.txt application/octet-stream")
			task := "/ap/v1/agent/tasks/" + c.Post("/ap/v1/agent/tasks", `{"input":"ask me"}`).OK().Text("task_id")
			c.Upload(task+"/artifacts", "f.txt", "", "F").OK()
			c.Post(task+"/steps", "{}").OK() // the draft
			check("an upload", "ask me|F f.txt text/plain")
			c.Post(task+"/steps", "{}").OK() // the question
			c.Upload(task+"/artifacts", "g.txt", "", "G").OK()
			c.Post(task+"/steps", `{"input":"ok"}`).OK()
			check("an upload before an answer", "ok|G g.txt application/octet-stream")
		})
	}
}

// TestFilesOfAMessageAreLimited checks that the sum of the files of a message is limited, and not that of their context.
func TestFilesOfAMessageAreLimited(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.A2AAgent{}
	b := rig.Configured(t, "limits: {event: 100KB}\nagents: {agent: {url: $AGENT, dialect: a2a}}", map[string]http.Handler{"agent": agent})
	s := speaker{client{b, "agent"}, wire.V1, false}
	contextID := "c"
	for _, name := range []string{"1.txt", "2.txt", "3.txt"} {
		if task := s.say("", contextID, wire.TextPart("say it"), rawPart(name, strings.Repeat(name, 8000))); task.Status.State != wire.StateCompleted {
			t.Errorf("%s: %s %+v", name, task.Status.State, task.Status.Message)
		}
	}
	task := s.say("", contextID, rawPart("4.txt", strings.Repeat("4", 30_000)), rawPart("5.txt", strings.Repeat("5", 30_000)))
	if said := fmt.Sprint(task.Status.Message); task.Status.State != wire.StateFailed || !strings.Contains(said, "60000 bytes together") || !strings.Contains(said, `"5.txt"`) {
		t.Errorf("the task is %s: %s", task.Status.State, said)
	}
	if agent.Work() != 3 {
		t.Errorf("the agent received %d messages", agent.Work())
	}
}

// TestFilesOfAnswersToOtherAgents checks that a step agent gets the files of an answer, and that a client learns that a graph
// does not.
func TestFilesOfAnswersToOtherAgents(t *testing.T) {
	t.Parallel()
	steps := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{
		{Output: `"Which day?"`, Additional: `{"use_tool":{"name":"ask_user","args":{"question":"Which day?"}}}`}, {Output: `"Friday it is."`, Last: true},
	}}
	graph := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.AskPlay(), adaptertest.ChatPlay()}}
	b := rig.Configured(t, "agents:\n  steps: {url: $STEPS, dialect: taskstep}\n  graph: {url: $GRAPH, dialect: threadrun}\n",
		map[string]http.Handler{"steps": steps, "graph": graph})
	for agent, want := range map[string]string{"graph": "answer.files;dropped", "steps": ""} {
		c := client{b, agent}
		task := c.call("SendMessage", message("m", "hi", "")).Want(t, 200, "INPUT_REQUIRED").Text("result.task.id")
		answer := `{"message":{"messageId":"m-2","role":"ROLE_USER","taskId":"` + task + `","parts":[{"text":"Friday"},{"raw":"Tw==","filename":"only.txt"}]}}`
		got := c.call("SendMessage", answer).Want(t, 200, "COMPLETED", `"raw":"Tw=="`)
		if lost := got.Header.Get("X-Apbridge-Unsupported"); lost != want {
			t.Errorf("%s: the header is %q", agent, lost)
		}
	}
	if got, _ := steps.Received("only.txt"); got != "O" {
		t.Errorf("the step agent received the file %q", got)
	}
}
