package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
)

// badEnd is a run that ends in another way than by a last step.
type badEnd struct {
	fault  adaptertest.Fault
	cancel bool
	status string // of the run
	change func(*config.Agent)
}

var (
	runFails     = badEnd{fault: adaptertest.HTML500, status: "error", change: func(*config.Agent) {}}
	runCancelled = badEnd{fault: adaptertest.Hang, cancel: true, status: "interrupted", change: func(*config.Agent) {}}
	runTimesOut  = badEnd{fault: adaptertest.Hang, status: "timeout", change: func(a *config.Agent) { a.RunTimeout = time.Second }}
)

// agent writes a file in its first step, writes it again in its second without a word,
// and does not come to the end of its third.
func (e badEnd) agent() *adaptertest.StepAgent {
	a := rewriting()
	a.Script[2] = adaptertest.ScriptStep{Fault: e.fault}
	return a
}

// cancelled sends the cancellation that the end needs, when the agent is at its third step.
func (e badEnd) cancelled(b *bridge, agent *adaptertest.StepAgent, at string) {
	if !e.cancel {
		return
	}
	eventually(b.t, "the agent is at its third step", func() bool { return len(agent.Inputs()) == 3 })
	run, _ := dig(b.get(at+"/runs").ok().list(""), "0.run_id").(string)
	b.post(at+"/runs/"+run+"/cancel?wait=true", "").is(http.StatusNoContent)
}

// checkEnd holds the thread of a run that ended badly against its agent.
func (e badEnd) checkEnd(b *bridge, at string) {
	b.t.Helper()
	run, _ := dig(b.get(at+"/runs").ok().list(""), "0.run_id").(string)
	b.expect(at+"/runs/"+run, "status", e.status)
	values := b.get(at + "/state").ok()
	if files := values.at("values.files"); contentAt(files, "/a.txt") != "two" || contentAt(files, "/in.txt") != "rewritten" {
		b.t.Errorf("state %s", values.body)
	}
	if messages, _ := values.at("values.messages").([]any); len(messages) != 3 {
		b.t.Errorf("%d messages: %s", len(messages), values.body)
	}
	checkContents(b, "/ap/v1/agent/tasks/"+run, map[string]string{"a.txt": "two", "in.txt": "rewritten"})
}

func checkContents(b *bridge, task string, want map[string]string) {
	b.t.Helper()
	got := map[string]string{}
	for _, a := range b.get(task + "/artifacts").ok().list("artifacts") {
		id, _ := dig(a, "artifact_id").(string)
		got[dig(a, "file_name").(string)] = string(b.get(task + "/artifacts/" + id).ok().body)
	}
	for name, content := range want {
		if got[name] != content {
			b.t.Errorf("artifacts %v, want %v", got, want)
		}
	}
}

func (e badEnd) test(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"free": free, "run": whole, "lockstep": lockstep} {
		t.Run("steps/"+name, func(t *testing.T) { t.Parallel(); e.testSteps(t, mode) })
	}
	body := `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}],"files":{"/in.txt":"as it came"}},"stream_mode":["values","updates"]}`
	for name, follow := range map[string]func(b *bridge, at string){
		"wait":   func(b *bridge, at string) { b.post(at+"/runs/wait", body) },
		"stream": func(b *bridge, at string) { e.stream(b, at, body) },
		"join": func(b *bridge, at string) {
			b.get(at + "/runs/" + b.post(at+"/runs", body).ok().text("run_id") + "/join")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := e.agent()
			b := inFront(t, agent, e.change)
			at, done := b.thread(), make(chan struct{})
			go func() { defer close(done); follow(b, at) }()
			e.cancelled(b, agent, at)
			<-done
			e.checkEnd(b, at)
		})
	}
}

// stream follows the run to its end: the last values have the agent's newest files, and
// come before the end.
func (e badEnd) stream(b *bridge, at, body string) {
	_, frames, err := b.tryStream("POST", at+"/runs/stream", body, 0)
	if err != nil || len(frames) == 0 {
		b.t.Errorf("the stream: %d frames, %v", len(frames), err)
		return
	}
	files := any(nil)
	for _, f := range frames {
		if f.event == "values" {
			files = f.at("files")
		}
	}
	if contentAt(files, "/a.txt") != "two" {
		b.t.Errorf("the last values of %s have the files %v", eventNames(frames), files)
	}
}

// testSteps follows the run step by step.
func (e badEnd) testSteps(t *testing.T, mode func(*config.Agent)) {
	agent := e.agent()
	b := inFront(t, agent, mode, e.change)
	task := b.task(`{"input":"hi"}`)
	b.upload(task+"/artifacts", "in.txt", "", "as it came").ok()
	pulled := make(chan []answer, 1)
	go func() { pulled <- pullAll(t, b, task, "") }()
	e.cancelled(b, agent, threadOfTask(task))
	steps := <-pulled
	last := steps[len(steps)-1]
	if last.at("additional_output.error.type") == nil || last.at("additional_output.skipped_files") != nil {
		t.Errorf("the last step: %s", last.body)
	}
	if names, _ := last.at("artifacts").([]any); len(names) == 0 {
		t.Errorf("the last step names no artifact: %s", last.body)
	}
	values := b.get(threadOfTask(task)).ok()
	if files := values.at("values.files"); contentAt(files, "/a.txt") != "two" || contentAt(files, "/in.txt") != "rewritten" {
		t.Errorf("state %s", values.body)
	}
	checkContents(b, task, map[string]string{"a.txt": "two", "in.txt": "rewritten"})
}

// TestFileRewrittenInTheSameRunOfARunThatFails and the two below: the thread has the
// agent's newest files however the run ends, and the end stays what it is.
func TestFileRewrittenInTheSameRunOfARunThatFails(t *testing.T)       { runFails.test(t) }
func TestFileRewrittenInTheSameRunOfARunThatIsCancelled(t *testing.T) { runCancelled.test(t) }
func TestFileRewrittenInTheSameRunOfARunThatTimesOut(t *testing.T)    { runTimesOut.test(t) }

// TestFileRewrittenBeforeACancelledPause: a lockstep run is cancelled between two POSTs.
func TestFileRewrittenBeforeACancelledPause(t *testing.T) {
	t.Parallel()
	agent := rewriting()
	b := inFront(t, agent, lockstep)
	task := b.task(`{"input":"hi"}`)
	b.upload(task+"/artifacts", "in.txt", "", "as it came").ok()
	b.post(task+"/steps", "").ok()
	b.post(task+"/steps", "").ok()
	b.cancelTask(task)
	b.checkCancelled(b.post(task+"/steps", ""))
	checkContents(b, task, map[string]string{"a.txt": "two", "in.txt": "rewritten"})
	if n := agent.Work(); n != 2 {
		t.Errorf("the agent did %d steps, want 2", n)
	}
}

// TestAgentThatHangsAtTheLastLook: files that cannot be compared when a run has failed are
// named, in time, and the run's own error stays.
func TestAgentThatHangsAtTheLastLook(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"free": free, "run": whole, "lockstep": lockstep} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := inFront(t, silentAfter(runFails.agent()), mode)
			task := b.task(`{"input":"hi"}`)
			steps := pullAll(t, b, task, "")
			last := steps[len(steps)-1]
			if last.at("additional_output.error.type") != "upstream_error" || last.at("additional_output.skipped_files.0.reason") == nil {
				t.Errorf("the last step: %s", last.body)
			}
			messages := b.get(threadOfTask(task)).ok().at("values.messages").([]any)
			if dig(messages[len(messages)-1], "additional_kwargs.apbridge.skipped_files.0.reason") == nil {
				t.Errorf("the last message: %v", messages[len(messages)-1])
			}
		})
	}
}

// TestStopDoesNotWaitForTheLastLook: a bridge that is stopped leaves an agent alone that does
// not answer.
func TestStopDoesNotWaitForTheLastLook(t *testing.T) {
	t.Parallel()
	agent := silentAfter(runFails.agent())
	b := inFront(t, agent)
	at := b.thread()
	run := b.begin(at, "")
	eventually(t, "the agent is asked for its files", func() bool { return agent.asked.Load() > 0 })
	begun := time.Now()
	b.end()
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the stop took %s", took)
	}
	b = b.again()
	b.expect(run, "status", "error")
}

// mute is an agent that does not answer reads once it has failed at a step.
type mute struct {
	http.Handler
	failed, asked atomic.Int64
}

func silentAfter(agent http.Handler) *mute { return &mute{Handler: agent} }

func (m *mute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && m.failed.Load() == 3 && strings.Contains(r.URL.Path, "/tasks/") {
		if strings.HasSuffix(r.URL.Path, "/artifacts") {
			m.asked.Add(1)
			<-r.Context().Done()
			return
		}
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps") {
		m.failed.Add(1)
	}
	m.Handler.ServeHTTP(w, r)
}
