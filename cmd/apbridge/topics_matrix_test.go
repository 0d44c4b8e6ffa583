package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
)

// TestMatrixTopics has the topic face talk with every kind of agent, in every
// way of stepping it.
func TestMatrixTopics(t *testing.T) {
	t.Parallel()
	for _, who := range agentsBehind() {
		modes := map[string]func(*config.Agent){"": func(*config.Agent) {}}
		if who.name == string(adaptertest.Plain) {
			modes = map[string]func(*config.Agent){"/lockstep": lockstep, "/free": free, "/run": whole}
		}
		for mode, set := range modes {
			t.Run(who.name+mode, func(t *testing.T) {
				t.Parallel()
				peer := who.peer()
				b := inFront(t, peer, set)
				told := who
				if mode == "/run" {
					told.texts = []string{"three"}
				}
				talkTopics(t, b, told)
				checkTopicCounts(t, who, peer)
			})
		}
	}
}

// talkTopics is two turns of a topic, and what can be read of it, also by the
// next process.
func talkTopics(t *testing.T, b *bridge, who behind) {
	at := "/ap/v2/topics/" + b.post("/ap/v2/topics", `{"name":"matrix"}`).is(201).text("topic_id")
	var ids []any
	var want []string
	for _, words := range []string{"hi", "more"} {
		said := b.post(at+"/interactions", `{"input":"`+words+`","additional_input":{"k":[1.0]}}`).is(201)
		task := at + "/tasks/" + said.text("task_id")
		if words == "hi" {
			b.upload(task+"/artifacts", "data.txt", "in", "given").is(201)
		}
		checkSteps(t, who, pullAll(t, b, task, ""))
		ids = append(ids, said.at("interaction_id"))
		want = append(want, "user: "+words, "agent: "+who.texts[len(who.texts)-1])
		if again := b.get(at + "/interactions/" + said.text("interaction_id")).ok(); string(again.body) != string(said.body) {
			t.Errorf("what was said, read again: %s\nas created: %s", again.body, said.body)
		}
	}
	list := b.get(at + "/interactions").ok()
	if diff := cmp.Diff(want, dialogue(list)); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	if got := []any{list.at("interactions.0.interaction_id"), list.at("interactions.2.interaction_id")}; !cmp.Equal(got, ids) {
		t.Errorf("ids of what was said: %v, listed %v", ids, got)
	}
	topic := b.get(at).ok()
	if topic.text("status") != "idle" || topic.text("name") != "matrix" {
		t.Errorf("the topic: %s", topic.body)
	}
	files := 1
	if who.steps {
		files = 2
	}
	if len(topic.list("artifacts")) != files {
		t.Errorf("the topic has %d files, want %d: %s", len(topic.list("artifacts")), files, topic.body)
	}
	b.end()
	b = b.again()
	if cold := b.get(at + "/interactions").ok(); string(cold.body) != string(list.body) {
		t.Errorf("after a restart: %s\nbefore: %s", cold.body, list.body)
	}
}

func dialogue(list answer) (lines []string) {
	for _, said := range list.list("interactions") {
		text := dig(said, "input")
		if dig(said, "role") == "agent" {
			text = dig(said, "output")
		}
		lines = append(lines, fmt.Sprintf("%v: %v", dig(said, "role"), text))
	}
	return lines
}

func checkTopicCounts(t *testing.T, who behind, peer adaptertest.Peer) {
	t.Helper()
	agent, ok := peer.(*adaptertest.StepAgent)
	if !ok {
		if upstream := peer.(*adaptertest.ThreadAgent); upstream.Work() != 2 || upstream.Calls("POST /threads") != 1 {
			t.Errorf("%d runs on %d threads, want 2 on 1", upstream.Work(), upstream.Calls("POST /threads"))
		}
		return
	}
	if c := agent.Counts(); c.Creates != 2 || c.Steps != 6 {
		t.Errorf("the agent was asked for %d tasks and %d steps, want 2 and 6", c.Creates, c.Steps)
	}
	if told := agent.Creates()[1]; !strings.Contains(told, `Conversation so far:\n\nUser: hi\nAssistant: `) || !strings.Contains(told, `Current request:\nmore`) {
		t.Errorf("the second task was told %s", told)
	}
}

// A task of a topic is told what the topic remembers.
func TestTopicMemoryIsTold(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	b := inFront(t, agent, func(a *config.Agent) { a.Memory.Namespaces = []string{"topics/{thread_id}"} })
	topic := b.post("/ap/v2/topics", "").is(201).text("topic_id")
	b.do("PUT", "/store/items", `{"namespace":["topics","`+topic+`"],"key":"diet","value":{"fish":true}}`).ok()
	task := b.post("/ap/v2/topics/"+topic+"/interactions", `{"input":"hi"}`).is(201).text("task_id")
	pullAll(t, b, "/ap/v2/topics/"+topic+"/tasks/"+task, "")
	if told := agent.Creates()[0]; !strings.Contains(told, `diet: {\"fish\":true}`) {
		t.Errorf("the agent was told %s", told)
	}
}

// A failed run is told in the conversation, and the next one goes on.
func TestTopicsOfAFailingAgent(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	agent.Script[1].Fault = adaptertest.HTML500
	b := inFront(t, agent)
	at := "/ap/v2/topics/" + b.post("/ap/v2/topics", "").is(201).text("topic_id")
	for _, words := range []string{"hi", "more"} {
		task := b.post(at+"/interactions", `{"input":"`+words+`"}`).is(201).text("task_id")
		pullAll(t, b, at+"/tasks/"+task, "")
		want := map[string]string{"hi": "error", "more": "idle"}[words]
		if got := b.get(at).ok().text("status"); got != want {
			t.Errorf("after %q the topic is %s, want %s", words, got, want)
		}
	}
	list := b.get(at + "/interactions").ok()
	said := dialogue(list)
	if len(said) != 5 || said[1] != "agent: one" || !strings.HasPrefix(said[2], "agent: Error: ") || said[4] != "agent: three" {
		t.Errorf("the conversation: %q", said)
	}
	if list.at("interactions.2.additional_output.error.type") != "upstream_error" {
		t.Errorf("the failure: %v", list.at("interactions.2"))
	}
}
