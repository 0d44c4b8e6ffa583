package threadrun

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// subagent is deepagents' client of an async subagent: it starts a run on a separate thread, polls it, and reads the
// thread's last message, or the run's error.
type subagent struct {
	b           *rig.Bridge
	thread, run string // paths
}

var subagentHeaders = []string{"User-Agent", "langgraph-sdk-py/0.4.3", "X-Auth-Scheme", "langsmith"}

func (s *subagent) post(path, body string) rig.Answer {
	s.b.T.Helper()
	return s.b.Do("POST", path, body, subagentHeaders...).OK()
}

func startSubagent(b *rig.Bridge, words string) *subagent {
	b.T.Helper()
	s := &subagent{b: b}
	s.thread = "/threads/" + s.post("/threads", `{}`).Text("thread_id")
	s.tell(words, "")
	return s
}

// tell starts a run with a message, in the form of the Python SDK.
func (s *subagent) tell(words, more string) {
	s.b.T.Helper()
	made := s.post(s.thread+"/runs", `{"input":{"messages":[{"role":"user","content":"`+words+`"}]},"stream_mode":"values",`+
		`"stream_subgraphs":false,"stream_resumable":false,`+more+`"assistant_id":"agent"}`)
	if status := made.Text("status"); status != "pending" && status != "running" {
		s.b.T.Errorf("a new run is %s", status)
	}
	s.run = s.thread + "/runs/" + made.Text("run_id")
}

// over polls the run until its status means the end for the client.
func (s *subagent) over(want string) rig.Answer {
	s.b.T.Helper()
	rig.Eventually(s.b.T, "the subagent's run ends", func() bool {
		status := s.b.Get(s.run).OK().Text("status")
		return status != "pending" && status != "running"
	})
	s.b.Expect(s.run, "status", want)
	return s.b.Get(s.run).OK()
}

// lastWords returns values.messages[-1].content of the thread.
func (s *subagent) lastWords() any {
	s.b.T.Helper()
	list := s.b.Get(s.thread).OK().List("values.messages")
	if len(list) == 0 {
		return nil
	}
	return rig.Dig(list[len(list)-1], "content")
}

// busySubagent returns a subagent in the middle of a run whose agent sends nothing more.
func busySubagent(t *testing.T, kind string) *subagent {
	t.Helper()
	g := rig.NewGate(rig.EitherKind()[kind](), rig.StepPosts, 2)
	if kind == "graph" {
		g = rig.NewGate(rig.EitherKind()[kind](), rig.RunPosts, 1)
		g.Flushes = 4
	}
	s := startSubagent(rig.InFront(t, g), "hi")
	g.Await(t)
	return s
}

// TestSubagent checks that success is read as the thread's last message and failure as the run's error, that another
// message interrupts an active run, and that a run can be stopped.
func TestSubagent(t *testing.T) {
	t.Parallel()
	for kind, last := range map[string]string{"step agent": "three", "graph": "the answer is 42"} {
		peer := rig.EitherKind()[kind]
		t.Run("success/"+kind, func(t *testing.T) {
			t.Parallel()
			s := startSubagent(rig.InFront(t, peer()), "hi")
			done := s.over("success")
			if got := s.lastWords(); got != last {
				t.Errorf("the last message is %v, want %q", got, last)
			}
			if done.At("error") != nil {
				t.Errorf("a run that succeeded has an error: %s", done.Body)
			}
		})
		t.Run("update/"+kind, func(t *testing.T) {
			t.Parallel()
			s := busySubagent(t, kind)
			old := s.run
			s.tell("more", `"multitask_strategy":"interrupt",`)
			s.over("success")
			s.b.Expect(old, "status", "interrupted")
			s.b.Expect(s.thread, "status", "idle")
			if got := s.lastWords(); got != last {
				t.Errorf("the last message is %v, want %q", got, last)
			}
		})
		t.Run("stop/"+kind, func(t *testing.T) {
			t.Parallel()
			s := busySubagent(t, kind)
			s.b.Do("POST", s.run+"/cancel?wait=0&action=interrupt", "", subagentHeaders...).Is(http.StatusAccepted)
			s.over("interrupted")
			s.b.Expect(s.thread, "status", "idle")
		})
	}
	for kind, peer := range map[string]http.Handler{
		"step agent": rig.FaultyStep(adaptertest.Plain, adaptertest.HTML500)(),
		"graph":      &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.FailPlay(), adaptertest.ChatPlay()}},
	} {
		words := map[string]string{"step agent": "Oh no", "graph": "the agent failed on purpose"}[kind]
		t.Run("failure/"+kind, func(t *testing.T) {
			t.Parallel()
			s := startSubagent(rig.InFront(t, peer), "hi")
			if why := s.over("error").Text("error"); !rig.Says(why, words) {
				t.Errorf("the run's error is %q, want words like %q", why, words)
			}
			s.b.Expect(s.thread, "status", "error")
			s.tell("again", "")
			s.over("success")
		})
	}
}

// TestSubagentKeepsTheConversation checks that the agent of the next run receives the input of an interrupted one.
func TestSubagentKeepsTheConversation(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 2)
	s := startSubagent(rig.InFront(t, g), "a report")
	g.Await(t)
	s.tell("a shorter one", `"multitask_strategy":"interrupt",`)
	s.over("success")
	asked := agent.Creates()
	if len(asked) != 2 || !rig.Says(asked[1], "User: a report", "Assistant: one", "Current request:", "a shorter one") {
		t.Errorf("the agent received %q", asked)
	}
}
