//go:build unix

package crash

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// takeOverMost bounds the time until the run of a dead process continues on a busy machine: the lease, and a check by
// another process.
const takeOverMost = 2 * time.Minute

// process is a bridge in a separate process, started as by users.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	err *rig.Console
	url string
}

// replicas starts bridges over one database, in front of one agent.
func replicas(t *testing.T, n int, agent http.Handler, environ ...string) []*process {
	t.Helper()
	binary := rig.Binary(t)
	dsn, at := storetest.Schema(t), adaptertest.Serve(t, agent).URL
	list := make([]*process, n)
	for i := range list {
		list[i] = startProcess(t, binary, dsn, at, environ)
	}
	return list
}

func startProcess(t *testing.T, binary, dsn, agent string, environ []string) *process {
	t.Helper()
	p := &process{t: t, err: rig.NewConsole(), cmd: exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--database", dsn, "--agent", "agent="+agent)}
	p.cmd.Stderr = p.err
	p.cmd.Env = append(append(os.Environ(), "APBRIDGE_AGENTS__AGENT__DIALECT=taskstep", "APBRIDGE_SHUTDOWN_GRACE=1s"), environ...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.url, rig.WithoutRequests(p.err.String()))
		}
	})
	p.url = p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	return p
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends a request and decodes the response.
func (p *process) ask(method, path, body string) map[string]any {
	p.t.Helper()
	status, text := p.send(method, path, body)
	answer := map[string]any{}
	if err := json.Unmarshal([]byte(text), &answer); status != http.StatusOK || err != nil && text != "" {
		p.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return answer
}

func (p *process) send(method, path, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Last-Event-ID", "-1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Error(err)
	}
	return res.StatusCode, string(text)
}

// begin creates a thread and a run on it and returns the run's path.
func (p *process) begin() string {
	p.t.Helper()
	thread := p.ask("POST", "/threads", `{}`)["thread_id"].(string)
	run := p.ask("POST", "/threads/"+thread+"/runs", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]},"stream_mode":["updates"]}`)
	return "/threads/" + thread + "/runs/" + run["run_id"].(string)
}

func (p *process) status(run string) string {
	p.t.Helper()
	return p.ask("GET", run, "")["status"].(string)
}

// follow reads a run's stream in the background, up to its end.
func (p *process) follow(run string) <-chan string {
	all := make(chan string, 1)
	go func() {
		_, text := p.send("GET", run+"/stream", "")
		all <- text
	}()
	return all
}

func (p *process) await(run, status string) {
	p.t.Helper()
	tick, late := time.NewTicker(100*time.Millisecond), time.After(takeOverMost)
	defer tick.Stop()
	for p.status(run) != status {
		select {
		case <-tick.C:
		case <-late:
			p.t.Fatalf("the run did not become %s: %s", status, p.status(run))
		}
	}
}

func wantUpdates(t *testing.T, stream string, want ...string) {
	t.Helper()
	for _, w := range want {
		if n := strings.Count(stream, w); n != 1 {
			t.Errorf("%q is in the stream %d times:\n%s", w, n, stream)
		}
	}
}

// withoutHeartbeats removes the heartbeat comments from a stream. It is random whether there is one before a dead
// process's lease ends.
func withoutHeartbeats(stream string) string {
	return strings.ReplaceAll(stream, string(sse.AppendHeartbeat(nil)), "")
}

// TestAnyProcessServesAnyRequest creates a run on one process, executes it on another, reads it on a third and stops it
// through any (C4).
func TestAnyProcessServesAnyRequest(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 2)
	p := replicas(t, 3, g, "APBRIDGE_AGENTS__AGENT__CONCURRENCY=1")
	a, b, c := p[0], p[1], p[2]
	held := a.begin()
	g.Await(t)
	stream := c.follow(held)
	other := a.begin() // a has no free slot, so another bridge executes it
	c.await(other, "success")
	if s := b.status(held); s != "running" {
		t.Fatalf("the held run is %s", s)
	}
	if status, text := b.send("POST", held+"/cancel?wait=1", ""); status >= 300 {
		t.Fatalf("cancel: %d %s", status, text)
	}
	for _, at := range p {
		if s := at.status(held); s != "interrupted" {
			t.Errorf("the cancelled run is %s", s)
		}
	}
	select {
	case <-stream:
	case <-time.After(takeOverMost):
		t.Error("the stream did not end")
	}
	if n := len(agent.Inputs()); n != 5 {
		t.Errorf("%d steps were requested, want 2 of the cancelled run and 3 of the other", n)
	}
}

// TestRunsOfADeadProcessAreTakenOver checks that readers elsewhere continue after the process that executes a run dies
// (C4).
func TestRunsOfADeadProcessAreTakenOver(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 2)
	p := replicas(t, 3, g)
	run := p[0].begin()
	g.Await(t)
	stream := p[2].follow(run)
	p[0].signal(syscall.SIGKILL)
	p[1].await(run, "success")
	select {
	case text := <-stream:
		wantUpdates(t, text, `"content":"one"`, `"content":"two"`, `"content":"three"`)
	case <-time.After(takeOverMost):
		t.Error("the stream did not end")
	}
	if n := len(agent.Inputs()); n != 3 || agent.Work() != 3 {
		t.Errorf("%d steps were requested and %d done, want 3", n, agent.Work())
	}
}

// TestGraphRunOfADeadProcessIsRejoined checks that another process resumes a graph's stream after the last logged frame
// and does not create the run again (C4).
func TestGraphRunOfADeadProcessIsRejoined(t *testing.T) {
	t.Parallel()
	agent := &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
	g := rig.NewGate(agent, rig.RunPosts, 1)
	g.Flushes = 13
	p := replicas(t, 2, g, "APBRIDGE_AGENTS__AGENT__DIALECT=threadrun")
	run := p[0].begin()
	g.Await(t)
	stream := p[1].follow(run)
	p[0].signal(syscall.SIGKILL)
	p[1].await(run, "success")
	select {
	case text := <-stream:
		wantUpdates(t, text, `data: {"plan":`, `data: {"think":`, `data: {"answer":`)
		_, again := p[1].send("GET", run+"/stream", "")
		if diff := cmp.Diff(again, withoutHeartbeats(text)); diff != "" {
			t.Errorf("read across the death (-whole +pieces):\n%s", diff)
		}
	case <-time.After(takeOverMost):
		t.Error("the stream did not end")
	}
	if agent.Work() != 1 || agent.Calls(rig.StartRoute) != 1 {
		t.Errorf("%d runs, %d requests for one; want 1", agent.Work(), agent.Calls(rig.StartRoute))
	}
	if s := p[1].ask("GET", strings.Split(run, "/runs/")[0], "")["status"]; s != "idle" {
		t.Errorf("the thread is %v", s)
	}
}

// TestResumedProcessChangesNothing suspends the process that executes a run for longer than its lease. When it wakes,
// another process has continued, and it changes nothing at the agent or in the database (C2).
func TestResumedProcessChangesNothing(t *testing.T) {
	t.Parallel()
	agent := adaptertest.NewStepAgent(adaptertest.Plain)
	g := rig.NewGate(agent, rig.StepPosts, 2)
	p := replicas(t, 2, g)
	a, b := p[0], p[1]
	run := a.begin()
	g.Await(t)
	stream := b.follow(run)
	a.signal(syscall.SIGSTOP)
	g.Open() // the answer waits in the buffers of the stopped process
	b.await(run, "success")
	state := strings.Split(run, "/runs/")[0] + "/state"
	_, before := b.send("GET", state, "")
	a.signal(syscall.SIGCONT)
	a.err.Await(t, `(lease (?:had )?expired)`)
	if s := a.status(run); s != "success" {
		t.Errorf("the resumed process reports the run as %s", s)
	}
	if next := a.ask("POST", "/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]}}`); next["__error__"] != nil {
		t.Errorf("the next run of the resumed process: %v", next)
	}
	if _, after := b.send("GET", state, ""); after != before {
		t.Errorf("the state changed from\n%s\nto\n%s", before, after)
	}
	wantUpdates(t, <-stream, `"content":"one"`, `"content":"two"`, `"content":"three"`)
	if n := len(agent.Inputs()); n != 6 || agent.Work() != 6 {
		t.Errorf("%d steps were requested and %d done, want 3 of each run", n, agent.Work())
	}
}

// The steps of one task may be requested from any bridge.
func TestStepsAreHandedOutOverProcesses(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"lockstep", "free"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			agent := adaptertest.NewStepAgent(adaptertest.Plain)
			p := replicas(t, 2, agent, "APBRIDGE_AGENTS__AGENT__STEPPING__MODE="+mode)
			task := p[0].ask("POST", "/ap/v1/agent/tasks", `{"input":"hi"}`)["task_id"].(string)
			for i, want := range []string{"one", "two", "three"} {
				step := p[(i+1)%2].ask("POST", "/ap/v1/agent/tasks/"+task+"/steps", `{}`)
				if step["output"] != want || step["is_last"] != (i == 2) {
					t.Fatalf("step %d: %v", i+1, step)
				}
				list := p[i%2].ask("GET", "/ap/v1/agent/tasks/"+task+"/steps", "")["steps"].([]any)
				if len(list) < i+1 {
					t.Fatalf("%d steps are listed after %d", len(list), i+1)
				}
			}
			if agent.Work() != 3 {
				t.Errorf("the agent did %d steps", agent.Work())
			}
		})
	}
}
