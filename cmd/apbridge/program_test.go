package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// started is a program that runs until it is stopped.
type started struct {
	out, err *rig.Console
	stop     context.CancelFunc
	code     chan int
}

func startProgram(t *testing.T, environ []string, args ...string) *started {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &started{out: rig.NewConsole(), err: rig.NewConsole(), stop: stop, code: make(chan int, 1)}
	p := &program{console.Process{Out: s.out, Err: s.err, Environ: environ}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.code <- p.run(ctx, args)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	good := filepath.Join(t.TempDir(), "good.yaml")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	taken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(taken.Close)
	rig.WriteFile(t, good, "agents: {a: {url: 'http://127.0.0.1:1', headers: {X-Key: in plain}}}\n")
	rig.WriteFile(t, bad, "listen: 0.0.0.0:80\nagents: {a: {url: 'http://127.0.0.1:1', dialect: soap}}\n")
	for _, tt := range []struct {
		name     string
		environ  []string
		args     []string
		code     int
		out, err string
	}{
		{"help", nil, []string{"--help"}, 0, "apbridge serve --agent legacy=http://127.0.0.1:8000", ""},
		{"serve help", nil, []string{"serve", "--help"}, 0, "--agent NAME=URL", ""},
		{"version", nil, []string{"version"}, 0, "apbridge devel", ""},
		{"version, as a flag", nil, []string{"--version"}, 0, "apbridge devel", ""},
		{"completion", nil, []string{"completion", "bash"}, 0, "bash completion", ""},
		{"completion without a shell", nil, []string{"completion"}, 0, "Available Commands:", ""},
		{"completion for an unknown shell", nil, []string{"completion", "nosh"}, 2, "", `unknown command "nosh". Did you mean`},
		{"unknown command", nil, []string{"sing"}, 2, "", `unknown command "sing". The commands are`},
		{"unknown flag", nil, []string{"serve", "--lisen", "x"}, 2, "", "unknown flag: --lisen"},
		{"valid", nil, []string{"validate", "--config", good}, 0, "The configuration is valid: 1 agent(s), listening on 127.0.0.1:8080.", "agents.a.headers.X-Key: contains a secret in plain text"},
		{"valid, named by the environment", []string{"APBRIDGE_CONFIG=" + good}, []string{"validate"}, 0, "is valid", "in plain"},
		{"invalid", nil, []string{"validate", "--config", bad}, 2, "", "invalid configuration:\n  " + bad + ":1: listen: 0.0.0.0:80 can be reached"},
		{"serving what is invalid", nil, []string{"serve", "--config", bad}, 2, "", bad + `:2: agents.a.dialect: cannot be "soap"; choose one of auto, a2a, taskstep, threadrun`},
		{"bad agent flag", nil, []string{"serve", "--agent", "http://x"}, 2, "", `flag --agent: "http://x" is not NAME=URL`},
		{"bad agent name", nil, []string{"validate", "--agent", "a b=http://x"}, 2, "", `flag --agent: agents.a b: the name "a b" cannot be used`},
		{"bad level", nil, []string{"serve", "--log-level", "loud"}, 2, "", `flag --log-level: "loud" is not one of`},
		{"bad format", nil, []string{"serve", "--log-format", "xml"}, 2, "", `flag --log-format: "xml" is not one of`},
		{"address in use", nil, []string{"serve", "--agent", "a=http://x", "--listen", taken.Listener.Addr().String(), "--database", filepath.Join(t.TempDir(), "a.db")}, 1, "",
			"listen: cannot listen on " + taken.Listener.Addr().String() + ": address already in use. Set listen to another address"},
		{"database that cannot be", nil, []string{"serve", "--agent", "a=http://x", "--database", filepath.Join(good, "x.db")}, 1, "", "good.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			p := &program{console.Process{Out: &out, Err: &errs, Environ: tt.environ}}
			if code := p.run(t.Context(), tt.args); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
				t.Errorf("printed:\n%s\n%s", &out, &errs)
			}
		})
	}
}

// TestServe starts the program like users do, from flags to a clean end.
func TestServe(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(legacyagent.Handler())
	defer agent.Close()
	p := startProgram(t, nil, "serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "legacy="+agent.URL)
	url := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	if status := rig.Status(t, url+"/readyz"); status != 200 {
		t.Errorf("readyz: %d", status)
	}
	if status, body := post(t, url+"/runs/wait", `{"input":"hi"}`); status != 200 || !strings.Contains(body, `"status":"success"`) {
		t.Errorf("a run: %d %s", status, body)
	}
	p.stop()
	if code := <-p.code; code != 0 {
		t.Errorf("exit code %d\n%s", code, p.err)
	}
}

// TestHangingStepDoesNotKeepTheProcess checks that the process exits within 3 seconds after the grace period, although
// the agent never answers.
func TestHangingStepDoesNotKeepTheProcess(t *testing.T) {
	t.Parallel()
	const most = 100*time.Millisecond + 3*time.Second
	took := stopInAHangingStep(t)
	for range 2 { // a busy machine is slow now and then; a real hang occurs each time
		if took > most {
			took = min(took, stopInAHangingStep(t))
		}
	}
	if took > most {
		t.Errorf("it took %v", took)
	}
}

// stopInAHangingStep returns how long a process takes to stop, with a grace period of 100 ms, while an agent does not
// answer.
func stopInAHangingStep(t *testing.T) time.Duration {
	t.Helper()
	asked, never := make(chan struct{}, 8), make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/steps") && r.Method == http.MethodPost {
			asked <- struct{}{}
			<-never
			return
		}
		legacyagent.Handler().ServeHTTP(w, r)
	}))
	defer agent.Close()
	defer close(never)
	p := startProgram(t, []string{"APBRIDGE_SHUTDOWN_GRACE=100ms", "APBRIDGE_AGENTS__LEGACY__DIALECT=taskstep"},
		"serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "legacy="+agent.URL)
	url := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	if status, body := post(t, url+"/threads", `{"thread_id":"0190e1f2-0000-7000-8000-000000000001"}`); status != 200 {
		t.Fatalf("a thread: %d %s", status, body)
	}
	if status, body := post(t, url+"/threads/0190e1f2-0000-7000-8000-000000000001/runs", `{"assistant_id":"legacy","input":{"messages":[{"role":"user","content":"hi"}]}}`); status != 200 {
		t.Fatalf("a run: %d %s", status, body)
	}
	<-asked
	begin := time.Now()
	p.stop()
	select {
	case code := <-p.code:
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, p.err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the process is still there")
	}
	return time.Since(begin)
}

func TestDemo(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	p := startProgram(t, nil, "demo", "--listen", "127.0.0.1:0")
	url := p.out.Await(t, `The bridge is running at (\S+)\. Press`)
	res, err := http.Get(url + "/inspect/overview")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var now struct {
		Waiting int
		Hour    struct {
			Runs, Failed int
			Usage        struct {
				Input int     `json:"input_tokens"`
				Cost  float64 `json:"cost_usd"`
			}
			Bars []struct {
				Median float64 `json:"median_seconds"`
			}
		} `json:"last_hour"`
	}
	err = json.NewDecoder(res.Body).Decode(&now)
	longest := 0.0
	for _, b := range now.Hour.Bars {
		longest = max(longest, b.Median)
	}
	if h := now.Hour; err != nil || now.Waiting != 1 || h.Runs != 6 || h.Failed != 1 || h.Usage.Input == 0 || h.Usage.Cost == 0 || longest < 0.2 {
		t.Errorf("the overview shows %+v, %v", now, err)
	}
	if status, body := post(t, url+"/runs/wait", `{"input":"hi"}`); status != 200 || !strings.Contains(body, `"status":"success"`) {
		t.Errorf("a run: %d %s", status, body)
	}
	if status, body := post(t, url+"/ap/v1/agent/tasks", `{"input":"hi"}`); status != 200 || !strings.Contains(body, `"task_id"`) {
		t.Errorf("a task: %d %s", status, body)
	}
	for _, want := range []string{
		"client → bridge  POST /threads\n",
		"bridge → legacy agent  POST /ap/v1/agent/tasks\n",
		`"Conversation so far:`,
		"client → bridge  POST /agents/graph/ap/v1/agent/tasks\n",
		"bridge → graph agent  POST /threads/",
		"(last: true)",
		"client → bridge  POST /a2a/legacy/message:send\n",
		"state: TASK_STATE_COMPLETED",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("the demo does not show %s", want)
		}
	}
	if res, err := http.Get(p.out.Await(t, `Open (\S+) to see`)); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the inspector: %v, %v", res, err)
	}
	for head, want := range map[string]string{"a run that waits for your answer": "interrupted", "a run that failed": "error"} {
		res, err := http.Get(p.out.Await(t, "# "+head+`\s+(\S+)`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(body), `"status":"`+want+`"`) {
			t.Errorf("%s: %v, %s", head, err, body)
		}
	}
	if text := p.err.String(); text != "" {
		t.Errorf("the demo logs %s", text)
	}
	p.stop()
	if code := <-p.code; code != 0 {
		t.Errorf("exit code %d\n%s", code, p.err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals, stopped := make(chan os.Signal, 2), make(chan struct{})
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM // the process group's copy of the first
		hard := make(chan os.Signal)
		go func() { hard <- awaitStop(signals, func() { close(stopped) }) }()
		<-stopped
		time.Sleep(bounce + time.Nanosecond)
		select {
		case <-hard:
			t.Fatal("a doubled signal stopped it at once")
		default:
		}
		signals <- os.Interrupt
		var says bytes.Buffer
		if code := stopAtOnce(<-hard, &says); code != console.ExitInterrupted || !strings.Contains(says.String(), "stopped at once") {
			t.Errorf("the second signal: exit code %d, %s", code, &says)
		}
	})
}
