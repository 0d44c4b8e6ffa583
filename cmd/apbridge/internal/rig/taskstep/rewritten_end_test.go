package taskstep

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// badEnd is a way in which a run ends before its last step.
type badEnd struct {
	fault  adaptertest.Fault
	cancel bool
	status string // of the run
	change func(*config.Agent)
}

var (
	runFails     = badEnd{fault: adaptertest.HTML500, status: "error", change: func(*config.Agent) {}}
	runCancelled = badEnd{fault: adaptertest.Hang, cancel: true, status: "interrupted", change: func(*config.Agent) {}}
	runTimesOut  = badEnd{fault: adaptertest.Hang, status: "timeout", change: func(a *config.Agent) { a.RunTimeout = 4 * time.Second }}
)

// agent writes a file in its first step, rewrites it in its second without reporting it, and does not finish its third.
func (e badEnd) agent() *adaptertest.StepAgent {
	a := rewriting()
	a.Script[2] = adaptertest.ScriptStep{Fault: e.fault}
	return a
}

// cancelled sends the cancellation for the end, when the agent is at its third step.
func (e badEnd) cancelled(b *rig.Bridge, agent *adaptertest.StepAgent, at string) {
	if !e.cancel {
		return
	}
	rig.Eventually(b.T, "the agent is at its third step", func() bool { return len(agent.Inputs()) == 3 })
	run, _ := rig.Dig(b.Get(at+"/runs").OK().List(""), "0.run_id").(string)
	b.Post(at+"/runs/"+run+"/cancel?wait=true", "").Is(http.StatusNoContent)
}

// checkEnd compares the thread of a run that ended badly with its agent.
func (e badEnd) checkEnd(b *rig.Bridge, at string) {
	b.T.Helper()
	run, _ := rig.Dig(b.Get(at+"/runs").OK().List(""), "0.run_id").(string)
	b.Expect(at+"/runs/"+run, "status", e.status)
	values := b.Get(at + "/state").OK()
	if files := values.At("values.files"); contentAt(files, "/a.txt") != "two" || contentAt(files, "/in.txt") != "rewritten" {
		b.T.Errorf("state %s", values.Body)
	}
	want := 3
	if e.status != "interrupted" {
		want++ // a message says why the run failed
	}
	if messages, _ := values.At("values.messages").([]any); len(messages) != want {
		b.T.Errorf("%d messages: %s", len(messages), values.Body)
	}
	checkContents(b, "/ap/v1/agent/tasks/"+run, map[string]string{"a.txt": "two", "in.txt": "rewritten"})
}

func checkContents(b *rig.Bridge, task string, want map[string]string) {
	b.T.Helper()
	got := map[string]string{}
	for _, a := range b.Get(task + "/artifacts").OK().List("artifacts") {
		id, _ := rig.Dig(a, "artifact_id").(string)
		got[rig.Dig(a, "file_name").(string)] = string(b.Get(task + "/artifacts/" + id).OK().Body)
	}
	for name, content := range want {
		if got[name] != content {
			b.T.Errorf("artifacts %v, want %v", got, want)
		}
	}
}

func (e badEnd) test(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"free": rig.Free, "run": rig.Whole, "lockstep": rig.Lockstep} {
		t.Run("steps/"+name, func(t *testing.T) { t.Parallel(); e.testSteps(t, mode) })
	}
	body := `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}],"files":{"/in.txt":"as it came"}},"stream_mode":["values","updates"]}`
	for name, follow := range map[string]func(b *rig.Bridge, at string){
		"wait":   func(b *rig.Bridge, at string) { b.Post(at+"/runs/wait", body) },
		"stream": func(b *rig.Bridge, at string) { e.stream(b, at, body) },
		"join": func(b *rig.Bridge, at string) {
			b.Get(at + "/runs/" + b.Post(at+"/runs", body).OK().Text("run_id") + "/join")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := e.agent()
			b := rig.InFront(t, agent, e.change)
			at, done := b.Thread(), make(chan struct{})
			go func() { defer close(done); follow(b, at) }()
			e.cancelled(b, agent, at)
			<-done
			e.checkEnd(b, at)
		})
	}
}

// stream follows the run to its end. The last values precede the end and have the agent's newest files.
func (e badEnd) stream(b *rig.Bridge, at, body string) {
	_, frames, err := b.TryStream("POST", at+"/runs/stream", body, 0)
	if err != nil || len(frames) == 0 {
		b.T.Errorf("the stream: %d frames, %v", len(frames), err)
		return
	}
	files := any(nil)
	for _, f := range frames {
		if f.Event == "values" {
			files = f.At("files")
		}
	}
	if contentAt(files, "/a.txt") != "two" {
		b.T.Errorf("the last values of %s have the files %v", rig.EventNames(frames), files)
	}
}

// testSteps follows the run step by step.
func (e badEnd) testSteps(t *testing.T, mode func(*config.Agent)) {
	agent := e.agent()
	b := rig.InFront(t, agent, mode, e.change)
	task := b.Task(`{"input":"hi"}`)
	b.Upload(task+"/artifacts", "in.txt", "", "as it came").OK()
	pulled := make(chan []rig.Answer, 1)
	go func() { pulled <- rig.PullAll(t, b, task, "") }()
	e.cancelled(b, agent, rig.ThreadOfTask(task))
	steps := <-pulled
	last := steps[len(steps)-1]
	if last.At("additional_output.error.type") == nil || last.At("additional_output.skipped_files") != nil {
		t.Errorf("the last step: %s", last.Body)
	}
	if names, _ := last.At("artifacts").([]any); len(names) == 0 {
		t.Errorf("the last step has no artifact: %s", last.Body)
	}
	values := b.Get(rig.ThreadOfTask(task)).OK()
	if files := values.At("values.files"); contentAt(files, "/a.txt") != "two" || contentAt(files, "/in.txt") != "rewritten" {
		t.Errorf("state %s", values.Body)
	}
	checkContents(b, task, map[string]string{"a.txt": "two", "in.txt": "rewritten"})
}

// TestFileRewrittenInARunThatFails and the next two tests check that the thread has the agent's newest
// files however the run ends, and that its outcome does not change.
func TestFileRewrittenInARunThatFails(t *testing.T)       { runFails.test(t) }
func TestFileRewrittenInARunThatIsCancelled(t *testing.T) { runCancelled.test(t) }
func TestFileRewrittenInARunThatTimesOut(t *testing.T)    { runTimesOut.test(t) }

// TestFileRewrittenBeforeACancelledPause cancels a lockstep run between two POSTs.
func TestFileRewrittenBeforeACancelledPause(t *testing.T) {
	t.Parallel()
	agent := rewriting()
	b := rig.InFront(t, agent, rig.Lockstep)
	task := b.Task(`{"input":"hi"}`)
	b.Upload(task+"/artifacts", "in.txt", "", "as it came").OK()
	b.Post(task+"/steps", "").OK()
	b.Post(task+"/steps", "").OK()
	b.CancelTask(task)
	b.CheckCancelled(b.Post(task+"/steps", ""))
	checkContents(b, task, map[string]string{"a.txt": "two", "in.txt": "rewritten"})
	if n := agent.Work(); n != 2 {
		t.Errorf("the agent did %d steps, want 2", n)
	}
}

// TestFilesOfAFailedRunWhenTheAgentHangs checks that if the agent's files cannot be listed after a failure, the run
// ends with its own error within the time limit, and the message names the files.
func TestFilesOfAFailedRunWhenTheAgentHangs(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(*config.Agent){"free": rig.Free, "run": rig.Whole, "lockstep": rig.Lockstep} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, silentAfter(runFails.agent()), mode)
			task := b.Task(`{"input":"hi"}`)
			steps := rig.PullAll(t, b, task, "")
			last := steps[len(steps)-1]
			if last.At("additional_output.error.type") != "upstream_error" || last.At("additional_output.skipped_files.0.reason") == nil {
				t.Errorf("the last step: %s", last.Body)
			}
			messages := b.Get(rig.ThreadOfTask(task)).OK().At("values.messages").([]any)
			said := messages[len(messages)-2:]
			if rig.Dig(said, "0.additional_kwargs.apbridge.skipped_files.0.reason") == nil || rig.Dig(said, "1.additional_kwargs.apbridge.error.type") != "upstream_error" {
				t.Errorf("the last messages: %v", said)
			}
		})
	}
}

// TestStopDoesNotWaitForTheFilesOfAFailedRun checks that a shutdown does not wait for an agent that does not answer.
func TestStopDoesNotWaitForTheFilesOfAFailedRun(t *testing.T) {
	t.Parallel()
	const most = 2 * time.Second // the engine waits this long for work that does not stop
	took := stopInTheLastLook(t)
	for range 2 { // a busy machine is slow now and then; a real wait occurs each time
		if took > most {
			took = min(took, stopInTheLastLook(t))
		}
	}
	if took > most {
		t.Errorf("stopping took %s", took)
	}
}

// stopInTheLastLook returns how long a bridge takes to stop while its agent does not list its files.
func stopInTheLastLook(t *testing.T) (took time.Duration) {
	t.Helper()
	agent := silentAfter(runFails.agent())
	b := rig.InFront(t, agent)
	at := b.Thread()
	run := b.Begin(at, "")
	rig.Eventually(t, "the agent is asked for its files", func() bool { return agent.asked.Load() > 0 })
	begun := time.Now()
	b.End()
	took = time.Since(begun)
	b = b.Again()
	b.Expect(run, "status", "error")
	return took
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
