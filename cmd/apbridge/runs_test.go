package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

const testKey = "0123456789abcdef"

// served is a bridge with a key and both example agents, and the flags with which commands find it.
type served struct {
	t       *testing.T
	url     string
	environ []string
}

func serveBoth(t *testing.T, more ...string) *served {
	t.Helper()
	legacy, graph := serving(t, legacyagent.Handler()), serving(t, threadagent.Handler())
	p := startProgram(t, []string{`APBRIDGE_AUTH__KEYS=[{"id":"app","key":"` + testKey + `"}]`, "APBRIDGE_DEFAULT_AGENT=legacy"}, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--database", filepath.Join(t.TempDir(), "a.db"), "--agent", "legacy=" + legacy, "--agent", "graph=" + graph}, more...)...)
	url := p.err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	return &served{t, url, []string{"APBRIDGE_URL=" + url, "APBRIDGE_KEY=" + testKey}}
}

// ok runs a command that must succeed, and returns its output.
func (s *served) ok(args ...string) string {
	s.t.Helper()
	code, out, errs := command(s.t, s.environ, args...)
	if code != 0 {
		s.t.Fatalf("apbridge %v: exit code %d: %s%s", args, code, out, errs)
	}
	return out
}

// fails runs a command that must end with a code, and returns its error output.
func (s *served) fails(want int, args ...string) string {
	s.t.Helper()
	code, _, errs := command(s.t, s.environ, args...)
	if code != want || strings.Count(errs, "\n") != 1 {
		s.t.Errorf("apbridge %v: exit code %d, want %d, and one line: %q", args, code, want, errs)
	}
	return errs
}

// made returns a member of the response to a POST.
func (s *served) made(path, body, member string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", testKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("POST %s: %d %s", path, res.StatusCode, raw)
	}
	text, _ := o[member].(string)
	return text
}

// run starts a run of an agent, and waits for its end or its question.
func (s *served) run(agent, text string) (thread, run string) {
	s.t.Helper()
	thread = s.made("/threads", `{}`, "thread_id")
	run = s.made("/threads/"+thread+"/runs", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":`+jsonText(text)+`}]},
		"config":{"tags":["x"]},"metadata":{"who":"it's <me> & $HOME"}}`, "run_id")
	_, _, _ = command(s.t, s.environ, "runs", "follow", run)
	return thread, run
}

func TestRunsCommands(t *testing.T) {
	t.Parallel()
	s := serveBoth(t)
	thread, asks := s.run("legacy", "ask me, it's $HOME")
	_, done := s.run("graph", "What is a bridge?")
	task := s.made("/ap/v1/agent/tasks", `{"input":"write","additional_input":{"a":1}}`, "task_id")
	s.made("/ap/v1/agent/tasks/"+task+"/steps", ``, "step_id")

	list := s.ok("runs", "ls")
	for line := range strings.Lines(list) {
		if utf8.RuneCountInString(line) > 121 {
			t.Errorf("wider than 120: %q", line)
		}
	}
	holds(t, list, "RUN ", asks[:13]+"  waiting ", "  legacy  ask me, it's $HOME", "  What shall the file say?\n", done[:13]+"  success ", "  graph   What is a bridge?\n", "  parked ", "  legacy  write  ")
	parked := strings.Fields(s.ok("runs", "show", strings.Fields(strings.Split(list, "\n")[1])[0]))[1]
	for state, want := range map[string]string{"waiting": asks, "success": done, "parked": parked, "queued": ""} {
		lines := strings.Split(s.ok("runs", "ls", "--state", state), "\n")
		if want != "" && !strings.HasPrefix(lines[1], want[:13]+"  "+state) || want == "" && lines[1] != "" {
			t.Errorf("--state %s: %q, want %s", state, lines, want)
		}
	}
	if one := s.ok("runs", "ls", "--thread", thread, "--agent", "legacy", "-n", "1", "-o", "json"); !strings.Contains(one, `"state": "waiting"`) || !strings.Contains(one, asks) {
		t.Errorf("as JSON: %s", one)
	}
	holds(t, s.ok("runs", "show", asks), "run      "+asks, "thread   "+thread, "agent    legacy", "state    waiting", `ask me, it's $HOME`, "the agent asks: What shall the file say?")
	if state := s.ok("runs", "show", asks); strings.Contains(state, "ended") {
		t.Errorf("a run that waits has not ended: %s", state)
	}
	holds(t, s.ok("runs", "show", parked, "-o", "json"), `"state": "parked"`)
	holds(t, s.ok("runs", "explain", parked), "It is waiting for a client to request step 2.")
	holds(t, s.ok("runs", "explain", asks, "-o", "json"), `"reason": "question"`)
	holds(t, s.ok("runs", "follow", done), "The answer to What is a bridge?")
	holds(t, s.ok("runs", "follow", done, "-o", "json"), `{"event":"updates","id":`)
	holds(t, s.fails(1, "runs", "follow", asks), "the agent asks: What shall the file say?", "apbridge runs answer "+asks+" TEXT")

	holds(t, s.fails(2, "runs", "answer", asks), "no answer given; pass it as TEXT")
	holds(t, s.fails(2, "runs", "answer", asks, "--json", "{"), "the answer is not JSON")
	holds(t, s.ok("runs", "answer", asks, "blue"), "finish: Done: ask me")
	holds(t, s.ok("threads", "show", thread), "blue", "file: /answer.txt", asks[:13]+"  interrupted ")
	holds(t, s.fails(1, "runs", "answer", asks, "blue"), "is not asking a question", "apbridge runs ls --state waiting")

	holds(t, s.ok("runs", "cancel", parked), parked+" has ended: interrupted")
	holds(t, s.ok("runs", "cancel", done), done+" had already ended: success")
	holds(t, s.ok("runs", "cancel", parked, "--rollback"), "removed run "+parked)
	holds(t, s.fails(1, "runs", "show", parked), "There is no run")
}

// TestRunsAndThreadsAreNamedByTheBeginningsOfTheirIDs checks commands with a few characters of an id, or none.
func TestRunsAndThreadsAreNamedByTheBeginningsOfTheirIDs(t *testing.T) {
	t.Parallel()
	s := serveBoth(t)
	holds(t, s.fails(1, "runs", "show", "--last"), "there is no run")
	holds(t, s.fails(1, "runs", "cancel", "--last"), "no run is running or queued or parked")
	thread, first := s.run("legacy", "first")
	other, asks := s.run("legacy", "ask me")
	n := 1
	for first[:n] == asks[:n] || n < 13 {
		n++
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"runs", "show", first[:n]}, "run      " + first},
		{[]string{"runs", "show", strings.ToUpper(first[:n])}, "run      " + first},
		{[]string{"runs", "show", "--last"}, "run      " + asks},
		{[]string{"runs", "explain", "-l"}, "asks"},
		{[]string{"runs", "follow", first[:n]}, "Done: first"},
		{[]string{"runs", "curl", first[:n]}, thread},
		{[]string{"runs", "ls", "--thread", thread[:n+1]}, first[:13]},
		{[]string{"runs", "answer", "--last", "blue"}, "Done: ask me"},
		{[]string{"threads", "show", thread[:n+1]}, "thread   " + thread},
		{[]string{"threads", "show", "--last"}, "thread   " + other},
		{[]string{"threads", "export", thread[:n+1]}, thread},
		{[]string{"threads", "rm", thread[:n+1], other[:n+1]}, "deleted thread " + other},
	} {
		holds(t, s.ok(x.args...), x.want)
	}
	holds(t, s.fails(1, "runs", "show", "0"), "no run has an id that begins with 0; to list them: apbridge runs ls")
	_, _ = s.run("legacy", "first")
	_, _ = s.run("legacy", "second")
	holds(t, s.fails(1, "runs", "show", "0"), "more than one run has an id that begins with 0")
	holds(t, s.fails(2, "runs", "show"), "usage: apbridge runs show RUN")
	holds(t, s.fails(2, "runs", "show", "--last", first), "usage: apbridge runs show RUN")
}

// TestRunsCurl repeats runs with a shell.
func TestRunsCurl(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	s := serveBoth(t)
	thread, run := s.run("legacy", "it's $HOME \\ `ls` \"q\" \n <b>")
	task := s.made("/ap/v1/agent/tasks", `{"input":"it's done","additional_input":{"a":1}}`, "task_id")
	s.made("/ap/v1/agent/tasks/"+task+"/steps", ``, "step_id")
	ofTask := strings.Fields(s.ok("runs", "show", strings.Fields(strings.Split(s.ok("runs", "ls", "--state", "parked"), "\n")[1])[0]))[1]
	for _, x := range []struct{ run, at, says string }{{run, "/threads/" + thread + "/runs/stream", "event: values"}, {ofTask, "/agents/legacy/ap/v1/agent/tasks", `"input":"it's done"`}} {
		line := s.ok("runs", "curl", x.run)
		holds(t, line, x.at, `-H "x-api-key: $APBRIDGE_KEY"`)
		if strings.Contains(line, testKey) || strings.Contains(line, "configurable") {
			t.Errorf("it holds the key, or what the bridge has added: %s", line)
		}
		sh := exec.CommandContext(t.Context(), "sh", "-c", line)
		sh.Env = append(os.Environ(), s.environ...)
		if out, err := sh.CombinedOutput(); err != nil || !strings.Contains(string(out), x.says) {
			t.Errorf("%s\n%v: %s", line, err, out)
		}
	}
	var again []struct {
		Kwargs   struct{ Input, Config any }
		Metadata map[string]any
	}
	if err := json.Unmarshal([]byte(s.ok("runs", "ls", "--thread", thread, "-o", "json")), &again); err != nil || len(again) != 2 {
		t.Fatalf("%d runs, %v", len(again), err)
	}
	for _, side := range again {
		input, _ := json.Marshal(side.Kwargs.Input)
		first, _ := json.Marshal(again[1].Kwargs.Input)
		if !bytes.Equal(input, first) || side.Metadata["who"] != "it's <me> & $HOME" {
			t.Errorf("made again with %s and %v", input, side.Metadata)
		}
	}
}

func TestThreadsCommands(t *testing.T) {
	t.Parallel()
	s := serveBoth(t)
	thread, run := s.run("legacy", "Write the word Washington")
	other, _ := s.run("legacy", "ask me")
	holds(t, s.ok("threads", "ls"), "THREAD ", thread[:13]+"  idle ", "  legacy  Write the word Washington\n", other[:13]+"  interrupted ", "  legacy  ask me\n")
	if got := s.ok("threads", "ls", "--state", "idle", "-o", "json"); !strings.Contains(got, thread) || strings.Contains(got, other) {
		t.Errorf("--state idle: %s", got)
	}
	holds(t, s.ok("threads", "show", thread), "thread   "+thread, "human: Write the word Washington\n", "finish: Done: Write the word Washington\n", run[:13]+"  success ", "stored   ", " bytes\n")
	file := filepath.Join(t.TempDir(), "thread.json")
	s.ok("threads", "export", thread, "--out", file)
	raw, err := os.ReadFile(file)
	var all struct {
		Thread        struct{ Values map[string]any }
		Runs, History []struct{ Values map[string]any }
	}
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil || len(all.Runs) != 1 || len(all.History) < 3 || all.Thread.Values["files"] == nil {
		t.Errorf("exported %d runs, %d states, %v", len(all.Runs), len(all.History), err)
	}
	if s.ok("threads", "export", thread) != string(raw) {
		t.Error("standard output gets something else than a file")
	}
	holds(t, s.fails(1, "threads", "export", thread, "--out", file), "already exists")
	holds(t, s.ok("threads", "rm", thread, other), "deleted thread "+thread+"\ndeleted thread "+other+"\n")
	holds(t, s.fails(1, "threads", "show", thread), "There is no thread")
}

// TestExportOfALongThread checks that the export has all pages of the history, with each state once.
func TestExportOfALongThread(t *testing.T) {
	t.Parallel()
	s := serveBoth(t)
	thread := s.made("/threads", `{}`, "thread_id")
	const states = 205
	for range states {
		s.made("/threads/"+thread+"/state", `{"values":{"messages":[]}}`, "")
	}
	var all struct {
		History []struct {
			Checkpoint struct {
				ID string `json:"checkpoint_id"`
			}
		}
	}
	if err := json.Unmarshal([]byte(s.ok("threads", "export", thread)), &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range all.History {
		seen[h.Checkpoint.ID] = true
	}
	if len(all.History) != states || len(seen) != states {
		t.Errorf("%d states, %d ids, want %d", len(all.History), len(seen), states)
	}
}

func TestAgentsAndHealth(t *testing.T) {
	t.Parallel()
	s := serveBoth(t)
	holds(t, s.ok("agents"), "ASSISTANT ", "  graph   graph\n", "  legacy  legacy\n")
	holds(t, s.ok("agents", "-o", "json"), `"graph_id": "legacy"`)
	if out := s.ok("health"); out != "ready\n" {
		t.Errorf("healthy: %q", out)
	}
	if _, out, _ := command(t, nil, "health", "--url", s.url); out != "ready\n" {
		t.Errorf("healthy by --url: %q", out)
	}
	holds(t, s.fails(2, "health", s.url, "--url", "http://127.0.0.1:1"), "given twice")
	stranger := serving(t, http.NotFoundHandler())
	holds(t, s.fails(1, "health", "http://127.0.0.1:1"), "no bridge answers at http://127.0.0.1:1: connection refused. Start one")
	secure := httptest.NewTLSServer(legacyagent.Handler())
	t.Cleanup(secure.Close)
	plain := strings.Replace(secure.URL, "https://", "http://", 1)
	holds(t, s.fails(1, "health", plain), "speaks TLS. Use https:// instead of http://: apbridge health URL")
	holds(t, s.fails(1, "agents", "--url", plain), "speaks TLS. Use https:// instead of http:// with --url or APBRIDGE_URL")
	holds(t, s.fails(1, "health", stranger), "responded with 404 Not Found, unlike a bridge")
	holds(t, s.fails(1, "agents", "--url", stranger), "responded with 404 Not Found, unlike a bridge")
	holds(t, s.fails(1, "agents", "--key", "wrong"), "Unknown API key.", "APBRIDGE_KEY or --key")
	holds(t, s.fails(2, "agents", "--url", "127.0.0.1:80"), "is not the URL of a bridge")
	holds(t, s.fails(2, "runs", "ls", "-o", "xml"), "not one of text, json")
	holds(t, s.fails(1, "runs", "ls", "--agent", "lagacy"), `there is no agent "lagacy"; did you mean "legacy"?`)
	holds(t, s.fails(1, "runs", "ls", "--agent", "nope"), `there is no agent "nope"; known agents: graph, legacy`)
	holds(t, s.ok("runs", "ls", "--agent", "legacy"), "RUN ")
	holds(t, s.fails(2, "runs", "ls", "--state", "dead"), `"dead" is not one of queued, running`)
}

// TestHealthWaits checks that the command waits for a bridge that starts late.
func TestHealthWaits(t *testing.T) {
	t.Parallel()
	asked, late := make(chan struct{}), make(chan struct{})
	var once bool
	bridge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-late:
			_, _ = io.WriteString(w, `{"status":"ready"}`)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"status":"not ready","reason":"the database sleeps"}`)
			if !once {
				once = true
				close(asked)
			}
		}
	}))
	t.Cleanup(bridge.Close)
	go func() { <-asked; close(late) }()
	if code, out, errs := command(t, nil, "health", bridge.URL, "--wait"); code != 0 || out != "ready\n" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestCompletion checks that a shell is offered the bridge's objects, and nothing if the bridge cannot be queried.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := serveBoth(t)
	thread, run := s.run("legacy", "ask me")
	offered := func(args ...string) []string {
		_, out, _ := command(t, s.environ, append([]string{"__complete"}, args...)...)
		var list []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			list = append(list, word)
		}
		return list
	}
	for _, x := range []struct {
		word string
		args []string
	}{
		{run, []string{"runs", "show", ""}}, {run, []string{"runs", "answer", ""}}, {thread, []string{"threads", "export", ""}},
		{thread, []string{"runs", "ls", "--thread", ""}}, {"graph", []string{"runs", "ls", "--agent", ""}}, {"waiting", []string{"runs", "ls", "--state", ""}},
		{"json", []string{"agents", "-o", ""}}, {"follow", []string{"runs", ""}}, {"mine", []string{"run", "--agent", "mine=http://x", ""}},
	} {
		if got := offered(x.args...); !slices.Contains(got, x.word) {
			t.Errorf("%v: %v does not have %s", x.args, got, x.word)
		}
	}
	if got := offered("runs", "show", "--url", "http://127.0.0.1:1", ""); len(got) != 1 {
		t.Errorf("without a bridge: %v", got)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, out, _ := command(t, nil, "completion", shell); code != 0 || !strings.Contains(out, "__complete") {
			t.Errorf("completion %s: exit code %d", shell, code)
		}
	}
}

// TestInterrupts checks that an interrupted command ends with 130 and reports what continues.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	asked, never := make(chan struct{}, 8), make(chan struct{})
	agent := serving(t, hangingSteps(asked, never))
	t.Cleanup(func() { close(never) })
	run := startProgram(t, []string{"APBRIDGE_AGENTS__AGENT__DIALECT=taskstep"}, "run", agent, "hi")
	<-asked
	run.stop()
	if code := <-run.code; code != console.ExitInterrupted {
		t.Errorf("run: exit code %d: %s", code, run.err)
	}
	holds(t, run.err.String(), "apbridge: interrupted. The run was cancelled and nothing was kept. Agent at http")

	b := rig.InFrontOf(t, agent)
	id := path.Base(b.Begin(b.Thread(), ""))
	<-asked
	follow := startProgram(t, []string{"APBRIDGE_URL=" + b.URL}, "runs", "follow", id)
	follow.stop()
	if code := <-follow.code; code != console.ExitInterrupted {
		t.Errorf("follow: exit code %d: %s", code, follow.err)
	}
	holds(t, follow.err.String(), "apbridge runs follow "+id)
}

// hangingSteps is an agent whose steps only end when never is closed. asked receives each step.
func hangingSteps(asked chan<- struct{}, never <-chan struct{}) http.Handler {
	agent := legacyagent.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/steps") {
			agent.ServeHTTP(w, r)
			return
		}
		asked <- struct{}{}
		select {
		case <-never:
		case <-r.Context().Done():
		}
	})
}
