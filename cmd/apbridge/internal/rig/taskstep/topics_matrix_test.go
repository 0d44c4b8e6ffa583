package taskstep

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestMatrixTopics uses the topic face with every kind of agent, in every stepping mode.
func TestMatrixTopics(t *testing.T) {
	t.Parallel()
	for _, who := range rig.AgentsBehind() {
		modes := map[string]func(*config.Agent){"": func(*config.Agent) {}}
		if who.Name == string(adaptertest.Plain) {
			modes = map[string]func(*config.Agent){"/lockstep": rig.Lockstep, "/free": rig.Free, "/run": rig.Whole}
		}
		for mode, set := range modes {
			t.Run(who.Name+mode, func(t *testing.T) {
				t.Parallel()
				peer := who.Peer()
				b := rig.InFront(t, peer, set)
				told := who
				if mode == "/run" {
					told.Texts = []string{"three"}
				}
				talkTopics(t, b, told)
				checkTopicCounts(t, who, peer)
			})
		}
	}
}

// talkTopics runs two turns of a topic and reads everything about it, also in the next process.
func talkTopics(t *testing.T, b *rig.Bridge, who rig.Behind) {
	at := "/ap/v2/topics/" + b.Post("/ap/v2/topics", `{"name":"matrix"}`).Is(201).Text("topic_id")
	var ids []any
	var want []string
	for _, words := range []string{"hi", "more"} {
		said := b.Post(at+"/interactions", `{"input":"`+words+`","additional_input":{"k":[1.0]}}`).Is(201)
		task := at + "/tasks/" + said.Text("task_id")
		if words == "hi" {
			b.Upload(task+"/artifacts", "data.txt", "in", "given").Is(201)
		}
		rig.CheckSteps(t, who, rig.PullAll(t, b, task, ""))
		ids = append(ids, said.At("interaction_id"))
		want = append(want, "user: "+words, "agent: "+who.Texts[len(who.Texts)-1])
		if again := b.Get(at + "/interactions/" + said.Text("interaction_id")).OK(); string(again.Body) != string(said.Body) {
			t.Errorf("the interaction as read: %s\nas created: %s", again.Body, said.Body)
		}
	}
	list := b.Get(at + "/interactions").OK()
	if diff := cmp.Diff(want, dialogue(list)); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	if got := []any{list.At("interactions.0.interaction_id"), list.At("interactions.2.interaction_id")}; !cmp.Equal(got, ids) {
		t.Errorf("ids of the interactions: %v, listed %v", ids, got)
	}
	topic := b.Get(at).OK()
	if topic.Text("status") != "idle" || topic.Text("name") != "matrix" {
		t.Errorf("the topic: %s", topic.Body)
	}
	files := 1
	if who.Steps {
		files = 2
	}
	if len(topic.List("artifacts")) != files {
		t.Errorf("the topic has %d files, want %d: %s", len(topic.List("artifacts")), files, topic.Body)
	}
	b.End()
	b = b.Again()
	if cold := b.Get(at + "/interactions").OK(); string(cold.Body) != string(list.Body) {
		t.Errorf("after a restart: %s\nbefore: %s", cold.Body, list.Body)
	}
}

func dialogue(list rig.Answer) (lines []string) {
	for _, said := range list.List("interactions") {
		text := rig.Dig(said, "input")
		if rig.Dig(said, "role") == "agent" {
			text = rig.Dig(said, "output")
		}
		lines = append(lines, fmt.Sprintf("%v: %v", rig.Dig(said, "role"), text))
	}
	return lines
}

func checkTopicCounts(t *testing.T, who rig.Behind, peer adaptertest.Peer) {
	t.Helper()
	agent, ok := peer.(*adaptertest.StepAgent)
	if !ok {
		if upstream := peer.(*adaptertest.ThreadAgent); upstream.Work() != 2 || upstream.Calls("POST /threads") != 1 {
			t.Errorf("%d runs on %d threads, want 2 on 1", upstream.Work(), upstream.Calls("POST /threads"))
		}
		return
	}
	if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
		t.Errorf("the agent received requests for %d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
	}
	if told := agent.Creates()[1]; !strings.Contains(told, `Conversation so far:\n\nUser: hi\nAssistant: `) || !strings.Contains(told, `Current request:\nmore`) {
		t.Errorf("the second task received %s", told)
	}
}

// A task of a topic receives the topic's memory.
func TestAgentReceivesTheTopicsMemory(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := rig.InFront(t, agent, func(a *config.Agent) { a.Memory.Namespaces = []string{"topics/{thread_id}"} })
	topic := b.Post("/ap/v2/topics", "").Is(201).Text("topic_id")
	b.Do("PUT", "/store/items", `{"namespace":["topics","`+topic+`"],"key":"diet","value":{"fish":true}}`).OK()
	task := b.Post("/ap/v2/topics/"+topic+"/interactions", `{"input":"hi"}`).Is(201).Text("task_id")
	rig.PullAll(t, b, "/ap/v2/topics/"+topic+"/tasks/"+task, "")
	if told := agent.Creates()[0]; !strings.Contains(told, `diet: {\"fish\":true}`) {
		t.Errorf("the agent received %s", told)
	}
}

// A failed run is part of the conversation, and the next one continues.
func TestTopicsOfAFailingAgent(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	agent.Script[1].Fault = adaptertest.HTML500
	b := rig.InFront(t, agent)
	at := "/ap/v2/topics/" + b.Post("/ap/v2/topics", "").Is(201).Text("topic_id")
	for _, words := range []string{"hi", "more"} {
		task := b.Post(at+"/interactions", `{"input":"`+words+`"}`).Is(201).Text("task_id")
		rig.PullAll(t, b, at+"/tasks/"+task, "")
		want := map[string]string{"hi": "error", "more": "idle"}[words]
		if got := b.Get(at).OK().Text("status"); got != want {
			t.Errorf("after %q the topic is %s, want %s", words, got, want)
		}
	}
	list := b.Get(at + "/interactions").OK()
	said := dialogue(list)
	if len(said) != 5 || said[1] != "agent: one" || !strings.HasPrefix(said[2], "agent: Error: ") || said[4] != "agent: three" {
		t.Errorf("the conversation: %q", said)
	}
	if list.At("interactions.2.additional_output.error.type") != "upstream_error" {
		t.Errorf("the failure: %v", list.At("interactions.2"))
	}
}
