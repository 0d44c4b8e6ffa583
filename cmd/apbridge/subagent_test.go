package main

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// subagent is deepagents' client of an async subagent: it starts a run on a
// thread of its own, polls it, and reads the thread's last message, or the
// run's error.
type subagent struct {
	b           *bridge
	thread, run string // paths
}

var subagentHeaders = []string{"User-Agent", "langgraph-sdk-py/0.4.3", "X-Auth-Scheme", "langsmith"}

func (s *subagent) post(path, body string) answer {
	s.b.t.Helper()
	return s.b.do("POST", path, body, subagentHeaders...).ok()
}

func startSubagent(b *bridge, words string) *subagent {
	b.t.Helper()
	s := &subagent{b: b}
	s.thread = "/threads/" + s.post("/threads", `{}`).text("thread_id")
	s.tell(words, "")
	return s
}

// tell makes a run with a message, as the Python SDK sends it.
func (s *subagent) tell(words, more string) {
	s.b.t.Helper()
	made := s.post(s.thread+"/runs", `{"input":{"messages":[{"role":"user","content":"`+words+`"}]},"stream_mode":"values",`+
		`"stream_subgraphs":false,"stream_resumable":false,`+more+`"assistant_id":"agent"}`)
	if status := made.text("status"); status != "pending" && status != "running" {
		s.b.t.Errorf("a new run is %s", status)
	}
	s.run = s.thread + "/runs/" + made.text("run_id")
}

// over polls the run until it is in a status that the client takes for the end.
func (s *subagent) over(want string) answer {
	s.b.t.Helper()
	eventually(s.b.t, "the end of the subagent's run", func() bool {
		status := s.b.get(s.run).ok().text("status")
		return status != "pending" && status != "running"
	})
	s.b.expect(s.run, "status", want)
	return s.b.get(s.run).ok()
}

// lastWords is values.messages[-1].content of the thread.
func (s *subagent) lastWords() any {
	s.b.t.Helper()
	list := s.b.get(s.thread).ok().list("values.messages")
	if len(list) == 0 {
		return nil
	}
	return dig(list[len(list)-1], "content")
}

// busySubagent is one in mid-run, whose agent says nothing more in that run.
func busySubagent(t *testing.T, kind string) *subagent {
	t.Helper()
	g := newGate(eitherKind()[kind](), stepPosts, 2)
	if kind == "graph" {
		g = newGate(eitherKind()[kind](), runPosts, 1)
		g.flushes = 4
	}
	s := startSubagent(inFront(t, g), "hi")
	g.await(t)
	return s
}

// TestSubagent: success is read as the thread's last message, failure as the
// run's error; more words interrupt what is under way, and a run can be stopped.
func TestSubagent(t *testing.T) {
	t.Parallel()
	for kind, last := range map[string]string{"step agent": "three", "graph": "the answer is 42"} {
		peer := eitherKind()[kind]
		t.Run("success/"+kind, func(t *testing.T) {
			t.Parallel()
			s := startSubagent(inFront(t, peer()), "hi")
			done := s.over("success")
			if got := s.lastWords(); got != last {
				t.Errorf("the last message is %v, want %q", got, last)
			}
			if done.at("error") != nil {
				t.Errorf("a run that succeeded has an error: %s", done.body)
			}
		})
		t.Run("update/"+kind, func(t *testing.T) {
			t.Parallel()
			s := busySubagent(t, kind)
			old := s.run
			s.tell("more", `"multitask_strategy":"interrupt",`)
			s.over("success")
			s.b.expect(old, "status", "interrupted")
			s.b.expect(s.thread, "status", "idle")
			if got := s.lastWords(); got != last {
				t.Errorf("the last message is %v, want %q", got, last)
			}
		})
		t.Run("stop/"+kind, func(t *testing.T) {
			t.Parallel()
			s := busySubagent(t, kind)
			s.b.do("POST", s.run+"/cancel?wait=0&action=interrupt", "", subagentHeaders...).is(http.StatusAccepted)
			s.over("interrupted")
			s.b.expect(s.thread, "status", "idle")
		})
	}
	for kind, peer := range map[string]http.Handler{
		"step agent": faultyStep(adaptertest.Plain, adaptertest.HTML500)(),
		"graph":      &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.FailPlay(), adaptertest.ChatPlay()}},
	} {
		words := map[string]string{"step agent": "Oh no", "graph": "the agent failed on purpose"}[kind]
		t.Run("failure/"+kind, func(t *testing.T) {
			t.Parallel()
			s := startSubagent(inFront(t, peer), "hi")
			if why := s.over("error").text("error"); !says(why, words) {
				t.Errorf("the run's error is %q, want words like %q", why, words)
			}
			s.b.expect(s.thread, "status", "error")
			s.tell("again", "")
			s.over("success")
		})
	}
}

// TestSubagentKeepsTheConversation: what an interrupted run was asked is told
// to the agent of the next one.
func TestSubagentKeepsTheConversation(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := newGate(agent, stepPosts, 2)
	s := startSubagent(inFront(t, g), "a report")
	g.await(t)
	s.tell("a shorter one", `"multitask_strategy":"interrupt",`)
	s.over("success")
	asked := agent.Creates()
	if len(asked) != 2 || !says(asked[1], "User: a report", "Assistant: one", "Current request:", "a shorter one") {
		t.Errorf("the agent was asked %q", asked)
	}
}
