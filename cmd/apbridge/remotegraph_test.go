package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
)

// asNode is what RemoteGraph of langgraph 1.2 (Python) sends where it is a node of another graph
// (POST /threads/{id}/runs/stream); resumed are the members of configurable that only a
// resumed parent sends.
func asNode(resumed string) string {
	return `{"input":{"messages":[{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"h1"}]},
		"config":{"recursion_limit":10007,"tags":[],"metadata":{"langgraph_step":1,"langgraph_node":"remote","thread_id":"t"},
			"configurable":{` + resumed + `"__pregel_runtime":{}}},
		"stream_mode":["values","updates"],"stream_subgraphs":true,"assistant_id":"agent","if_not_exists":"create"}`
}

// outright is what RemoteGraph sends where it is called by itself: input, or a Command as
// dataclasses.asdict has it.
func outright(what string) string {
	return `{` + what + `,"config":{"recursion_limit":25,"tags":[],"metadata":{},"configurable":{}},
		"stream_mode":["values","updates"],"stream_subgraphs":false,"assistant_id":"agent","if_not_exists":"create"}`
}

// atQuestion reads a stream as RemoteGraph does: it leaves at the first updates frame with
// __interrupt__. It returns the id of the question, "" where the run ended without one.
func (b *bridge) atQuestion(at, body string) string {
	b.t.Helper()
	ctx, leave := context.WithTimeout(context.Background(), 30*time.Second)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+at+"/runs/stream", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := plainClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		b.t.Fatalf("%d: %s\n%s", res.StatusCode, text, body)
	}
	f, lines := frame{}, newLineReader(res.Body)
	for {
		line, err := lines.next()
		if err != nil {
			return ""
		}
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event":
			f.event = value
		case name == "data":
			f.data = value
		case strings.HasPrefix(f.event, "updates") && strings.Contains(f.data, `"__interrupt__"`):
			return f.at("__interrupt__.0.id").(string)
		}
	}
}

// curiousAgents ask in their first run and end in the second. The graph's server keeps its streams
// open at the end, as that of LangGraph in JavaScript does.
func curiousAgents() map[string]adaptertest.Peer {
	ask, chat := adaptertest.AskPlay(), adaptertest.ChatPlay()
	ask.Linger, chat.Linger = true, true
	return map[string]adaptertest.Peer{
		"step agent": curious(1),
		"graph":      &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{ask, chat}},
	}
}

// TestRemoteGraphAnswersAtOnce: a client that leaves at the question and answers in the same moment
// finds the thread free.
func TestRemoteGraphAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for name, peer := range curiousAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := inFront(t, peer)
			at := b.thread()
			if b.atQuestion(at, outright(`"input":{"messages":[{"type":"human","content":"hi"}]}`)) == "" {
				t.Fatal("no question was asked")
			}
			if id := b.atQuestion(at, outright(`"command":{"resume":"blue","goto":[]}`)); id != "" {
				t.Errorf("asked again: %s", id)
			}
			b.expect(at, "status", "idle")
		})
	}
}

// TestRemoteGraphAsANode: a parent graph that is resumed calls its node again, with the same input
// and the answers by their ids.
func TestRemoteGraphAsANode(t *testing.T) {
	t.Parallel()
	for name, spell := range map[string]func(string) string{
		"as it was told": func(id string) string { return id },
		"as LangGraph's": func(id string) string { return strings.ReplaceAll(id, "-", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := curious(1)
			b := inFront(t, agent)
			at := b.thread()
			id := b.atQuestion(at, asNode(""))
			again := b.post(at+"/runs/stream", asNode(`"__pregel_resuming":true,`)).is(http.StatusUnprocessableEntity)
			if !strings.Contains(string(again.body), id) || !strings.Contains(string(again.body), "Command(resume={id: value})") {
				t.Errorf("resumed without an answer: %s", again.body)
			}
			resumed := `"__pregel_resuming":true,"__pregel_resume_map":{"` + unknownQuestion + `":"red","` + spell(id) + `":"blue"},`
			if id := b.atQuestion(at, asNode(resumed)); id != "" {
				t.Errorf("asked again: %s", id)
			}
			checkAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
			state := b.get(at + "/state").ok()
			if diff := cmp.Diff([]any{"hi", "one", "I need to know more.", "blue", "blue it is"}, pluck(state.list("values.messages"), "content")); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			// The next node that is resumed has no question open: its call is a run like any other.
			if id := b.atQuestion(at, asNode(resumed)); id == "" || agent.Counts().Creates != 2 {
				t.Errorf("question %q, %d tasks", id, agent.Counts().Creates)
			}
		})
	}
}

// TestRemoteGraphAsANodeBeforeAGraph: a graph reads the parent's answers by itself.
func TestRemoteGraphAsANodeBeforeAGraph(t *testing.T) {
	t.Parallel()
	agent := asking(adaptertest.ChatPlay())
	b := inFront(t, agent)
	at := b.thread()
	id := b.atQuestion(at, asNode(""))
	b.atQuestion(at, asNode(`"__pregel_resuming":true,"__pregel_resume_map":{"`+id+`":"blue"},`))
	body := string(agent.Bodies(startRoute)[1])
	if !strings.Contains(body, `"__pregel_resume_map":{"`+id+`":"blue"}`) || !strings.Contains(body, `"__pregel_resuming":true`) || strings.Contains(body, `"command"`) {
		t.Errorf("the agent was sent %s", body)
	}
}
