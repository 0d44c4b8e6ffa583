package threadrun

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// asNode is the request that RemoteGraph of langgraph 1.2 (Python) sends as a node of another graph (POST
// /threads/{id}/runs/stream). resumed has the members of configurable that only a resumed parent sends.
func asNode(resumed string) string {
	return `{"input":{"messages":[{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"h1"}]},
		"config":{"recursion_limit":10007,"tags":[],"metadata":{"langgraph_step":1,"langgraph_node":"remote","thread_id":"t"},
			"configurable":{` + resumed + `"__pregel_runtime":{}}},
		"stream_mode":["values","updates"],"stream_subgraphs":true,"assistant_id":"agent","if_not_exists":"create"}`
}

// outright is the request of RemoteGraph outside of a graph: input, or a Command in the form of dataclasses.asdict.
func outright(what string) string {
	return `{` + what + `,"config":{"recursion_limit":25,"tags":[],"metadata":{},"configurable":{}},
		"stream_mode":["values","updates"],"stream_subgraphs":false,"assistant_id":"agent","if_not_exists":"create"}`
}

// atQuestion reads a stream like RemoteGraph, which disconnects at the first updates frame with __interrupt__. It
// returns the id of the question, or "" if the run ended without one.
func atQuestion(b *rig.Bridge, at, body string) string {
	b.T.Helper()
	ctx, leave := context.WithTimeout(context.Background(), time.Minute)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+at+"/runs/stream", strings.NewReader(body))
	if err != nil {
		b.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := rig.PlainClient.Do(req)
	if err != nil {
		b.T.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		b.T.Fatalf("%d: %s\n%s", res.StatusCode, text, body)
	}
	f, lines := rig.Frame{}, rig.NewLineReader(res.Body)
	for {
		line, err := lines.Next()
		if err != nil {
			return ""
		}
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event":
			f.Event = value
		case name == "data":
			f.Data = value
		case strings.HasPrefix(f.Event, "updates") && strings.Contains(f.Data, `"__interrupt__"`):
			return f.At("__interrupt__.0.id").(string)
		}
	}
}

// curiousAgents ask in their first run and end in the second. The graph's server keeps its streams open at the end,
// like LangGraph's JavaScript server.
func curiousAgents() map[string]adaptertest.Peer {
	ask, chat := adaptertest.AskPlay(), adaptertest.ChatPlay()
	ask.Linger, chat.Linger = true, true
	return map[string]adaptertest.Peer{
		"step agent": rig.Curious(1),
		"graph":      &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{ask, chat}},
	}
}

// TestRemoteGraphAnswersAtOnce checks that a client that disconnects at the question can answer at once, because the
// thread is no longer busy.
func TestRemoteGraphAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for name, peer := range curiousAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, peer)
			at := b.Thread()
			if atQuestion(b, at, outright(`"input":{"messages":[{"type":"human","content":"hi"}]}`)) == "" {
				t.Fatal("no question was asked")
			}
			if id := atQuestion(b, at, outright(`"command":{"resume":"blue","goto":[]}`)); id != "" {
				t.Errorf("asked again: %s", id)
			}
			b.Expect(at, "status", "idle")
		})
	}
}

// TestRemoteGraphAsANode checks a parent graph that is resumed and calls its node again, with the same input and the
// answers by their ids.
func TestRemoteGraphAsANode(t *testing.T) {
	t.Parallel()
	for name, spell := range map[string]func(string) string{
		"as it was told": func(id string) string { return id },
		"as LangGraph's": func(id string) string { return strings.ReplaceAll(id, "-", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := rig.Curious(1)
			b := rig.InFront(t, agent)
			at := b.Thread()
			id := atQuestion(b, at, asNode(""))
			again := b.Post(at+"/runs/stream", asNode(`"__pregel_resuming":true,`)).Is(http.StatusUnprocessableEntity)
			if !strings.Contains(string(again.Body), id) || !strings.Contains(string(again.Body), "Command(resume={id: value})") {
				t.Errorf("resumed without an answer: %s", again.Body)
			}
			resumed := `"__pregel_resuming":true,"__pregel_resume_map":{"` + rig.UnknownQuestion + `":"red","` + spell(id) + `":"blue"},`
			if id := atQuestion(b, at, asNode(resumed)); id != "" {
				t.Errorf("asked again: %s", id)
			}
			rig.CheckAnswered(t, agent, []string{"", "", `{"input":"blue"}`})
			state := b.Get(at + "/state").OK()
			if diff := cmp.Diff([]any{"hi", "one", "I need to know more.", "blue", "blue it is"}, rig.Pluck(state.List("values.messages"), "content")); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			// The next resumed node has no open question, so its call is an ordinary run.
			if id := atQuestion(b, at, asNode(resumed)); id == "" || agent.Counts().Creates != 2 {
				t.Errorf("question %q, %d tasks", id, agent.Counts().Creates)
			}
		})
	}
}

// TestRemoteGraphAsANodeWithAGraph checks that a graph reads the parent's answers itself.
func TestRemoteGraphAsANodeWithAGraph(t *testing.T) {
	t.Parallel()
	agent := rig.Asking(adaptertest.ChatPlay())
	b := rig.InFront(t, agent)
	at := b.Thread()
	id := atQuestion(b, at, asNode(""))
	atQuestion(b, at, asNode(`"__pregel_resuming":true,"__pregel_resume_map":{"`+id+`":"blue"},`))
	body := string(agent.Bodies(rig.StartRoute)[1])
	if !strings.Contains(body, `"__pregel_resume_map":{"`+id+`":"blue"}`) || !strings.Contains(body, `"__pregel_resuming":true`) || strings.Contains(body, `"command"`) {
		t.Errorf("the agent received %s", body)
	}
}
