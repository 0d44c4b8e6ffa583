package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// TestConformance checks that exit code, output and reports agree, for a server that keeps every Must and for one that
// does not.
func TestConformance(t *testing.T) {
	t.Parallel()
	bridge := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL
	broken := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ap/v1/agent/tasks" && r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, `{"short":"and \u001b[2J stout"}`)
			return
		}
		_, _ = io.WriteString(w, `{"tasks":[]}`)
	}))
	t.Run("all dialects", func(t *testing.T) {
		t.Parallel()
		code, out, errs := command(t, nil, "conformance", bridge)
		if code != 0 {
			t.Errorf("exit code %d: %s%s", code, out, errs)
		}
		holds(t, out, "passed   must    v1.task.create\n", "DIALECT        MUST   SHOULD  MAY  SKIPPED\nv1 ", "\ntopics ", "\nagentprotocol ", "\nlanggraph ", "\nstreaming ", "\nEvery must passed in ")
	})
	t.Run("a broken server", func(t *testing.T) {
		t.Parallel()
		code, out, errs := command(t, nil, "conformance", broken+"/ap/v1/agent/tasks", "--only", "v1.task.create,v1.step.execute")
		if code != 1 {
			t.Errorf("exit code %d: %s", code, errs)
		}
		holds(t, out, "must v1.task.create: A task can be created.\n  reason    the status is 418, not 200\n  source    Agent Protocol v1 (openapi.yml), POST /ap/v1/agent/tasks, 200; schema Task, task_id\n",
			"  request   POST /ap/v1/agent/tasks {\"additional_input\":", `  response  418 application/json {"short":"and \u001b[2J stout"}`, "skipped v1.step.execute: there is no task to check: the status is 418, not 200\n")
		if strings.Contains(out, "\x1b") {
			t.Error("control characters of a response reach the terminal")
		}
	})
	t.Run("one dialect of five", func(t *testing.T) {
		t.Parallel()
		code, out, _ := command(t, nil, "conformance", serving(t, legacyagent.Handler()))
		if code == console.ExitMisuse {
			t.Errorf("exit code %d", code)
		}
		holds(t, out, "\nnot spoken: topics, agentprotocol, langgraph, streaming\n")
	})
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		code, out, _ := command(t, nil, "conformance", bridge, "--dialect", "topics", "-o", "json")
		var r conformance.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.URL != bridge || len(r.Dialects) != 1 || len(r.Dialects[0].Results) != 13 || !r.Conforms() {
			t.Errorf("exit code %d, %v: %s", code, err, out)
		}
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		conformanceWrites(t, bridge, 0, "10/10 musts", "#3a7d2c")
		conformanceWrites(t, broken, 1, "0/2 musts", "#b3261e")
	})
	t.Run("list", func(t *testing.T) {
		t.Parallel()
		code, out, _ := command(t, nil, "conformance", "--list", "--only", "streaming.run.start")
		if lines := strings.Split(strings.TrimSpace(out), "\n"); code != 0 || len(lines) != 6 ||
			lines[1] != "  Agent Streaming Protocol 0.0.13 (CDDL), 4a. Run Module, run.start; 3. Top-Level Message Framing, CommandResponse" {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}

// conformanceWrites checks the files of a run: JUnit's XML and both kinds of badge.
func conformanceWrites(t *testing.T, url string, want int, text, colour string) {
	t.Helper()
	folder := t.TempDir()
	junit := filepath.Join(folder, "report.xml")
	for _, badge := range []string{"badge.svg", "badge.json"} {
		only := map[int]string{0: "topics", 1: "v1.task.create,v1.task.create.invalid,v1.task.list.zero"}[want]
		if code, out, errs := command(t, nil, "conformance", url, "--only", only, "--junit", junit, "--badge", filepath.Join(folder, badge)); code != want {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
		raw, err := os.ReadFile(filepath.Join(folder, badge))
		if err != nil || !strings.Contains(string(raw), text) || !strings.Contains(string(raw), colour) || xml.Unmarshal(raw, new(any)) != nil && !json.Valid(raw) {
			t.Errorf("%v: %s", err, raw)
		}
	}
	raw, err := os.ReadFile(junit)
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if bad := xml.Unmarshal(raw, &suites); err != nil || bad != nil || len(suites.Suites) == 0 || suites.Suites[0].Tests < 3 || (suites.Suites[0].Failures > 0) != (want == 1) {
		t.Errorf("%v, %v: %s", err, bad, raw)
	}
}

// TestConformanceRefuses checks that invalid input is reported before anything is created, with exit code 2, and that
// no report is begun.
func TestConformanceRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var made atomic.Int64
	legacy := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/ap/") {
			made.Add(1)
		}
		legacyagent.Handler().ServeHTTP(w, r)
	}))
	page := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><head><title>A dashboard</title>")
	}))
	locked := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusUnauthorized) }))
	file := filepath.Join(folder, "same.svg")
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"no URL":            {nil, "no URL given"},
		"two URLs":          {[]string{legacy, legacy}, "arguments given: 2"},
		"no such URL":       {[]string{"agent"}, `"agent" is not the URL of a server`},
		"a key in the URL":  {[]string{"http://me:secret@127.0.0.1:1"}, "pass a key with --key"},
		"unreachable":       {[]string{"http://127.0.0.1:1"}, "nothing is listening there (connection refused)"},
		"a page":            {[]string{page}, `answers 200 with a page titled "A dashboard"`},
		"a key is wanted":   {[]string{locked}, "requires a key; pass it with --key"},
		"dialect":           {[]string{legacy, "--dialect", "v3"}, `flag --dialect: "v3" is not one of v1, topics, agentprotocol, langgraph, streaming`},
		"check":             {[]string{legacy, "--only", "v1.tasks"}, `flag --only: no check has the id or prefix "v1.tasks"`},
		"dialect and check": {[]string{legacy, "--dialect", "v1", "--only", "topics"}, "no check matches both"},
		"timeout":           {[]string{legacy, "--timeout", "0s"}, "flag --timeout"},
		"output":            {[]string{legacy, "-o", "xml"}, `flag --output: "xml" is not one of text, json`},
		"badge":             {[]string{legacy, "--badge", "a.png"}, "ends neither in .svg nor in .json"},
		"header":            {[]string{legacy, "--header", "no name"}, "flag --header"},
		"header value":      {[]string{legacy, "--header", "A: b\nsecret"}, "no header can have"},
		"key":               {[]string{legacy, "--key", "env:NOWHERE"}, "the environment has no variable NOWHERE"},
		"report":            {[]string{legacy, "--junit", filepath.Join(folder, "no", "folder.xml")}, "the report cannot be written"},
		"the same file":     {[]string{legacy, "--junit", file, "--badge", file}, "flags --junit and --badge name the same file"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, nil, append([]string{"conformance"}, tt.args...)...)
			if code != console.ExitMisuse || out != "" || strings.Contains(errs, "secret") {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
			holds(t, errs, tt.says)
		})
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 || made.Load() > 0 {
		t.Errorf("left: %v, %v; requests that create something: %d", left, err, made.Load())
	}
}

// TestConformanceOfHostileServers checks that no response makes the checks hang or exhausts the memory, and that each
// failure is described.
func TestConformanceOfHostileServers(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, r *http.Request, chunk string) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
			if len(chunk) < 100 {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		}
	}
	for name, tt := range map[string]struct {
		on, says string
		limit    string
		do       func(http.ResponseWriter, *http.Request)
	}{
		"an endless stream": {"/runs/stream", "the stream did not end: the check exceeded its time limit of 5s", "5s", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, r, "event: values\ndata: {}\n\n")
		}},
		"a huge stream": {"/runs/stream", "the stream has more than ", "1m", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, r, strings.Repeat("data: {}\n\n", 1000))
		}},
		"a huge answer": {"/runs/wait", "the response has more than 8 MiB", "1m", func(w http.ResponseWriter, r *http.Request) { endless(w, r, strings.Repeat("x", 1<<20)) }},
		"no answer":     {"/runs/wait", "no response: the check exceeded its time limit of 5s", "5s", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"a page": {"/runs/wait", "the response is not JSON but an HTML page", "1m", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}},
		"a redirection": {"/runs/wait", "the status is 307, not 200", "1m", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}},
		"a broken answer": {"/runs/wait", "the response broke off", "1m", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case tt.on:
					_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the request would go unnoticed
					tt.do(w, r)
				case "/agents/search":
					_, _ = io.WriteString(w, `[{"agent_id":"a","name":"a","capabilities":{}}]`)
				default:
					http.NotFound(w, r)
				}
			}))
			only := map[string]string{"/runs/stream": "agentprotocol.runs.stream", "/runs/wait": "agentprotocol.runs.wait"}[tt.on]
			code, out, errs := command(t, nil, "conformance", url, "--timeout", tt.limit, "--only", only)
			if code != 1 {
				t.Errorf("exit code %d: %s", code, errs)
			}
			holds(t, out, "must "+only+": ", "  reason    "+tt.says)
		})
	}
}

// TestConformanceKeys checks that the key and the headers are sent with every request, and never printed.
func TestConformanceKeys(t *testing.T) {
	t.Parallel()
	var bare atomic.Int64
	url := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "very-secret" || r.Header.Get("X-Tenant") != "a" {
			bare.Add(1)
		}
		legacyagent.Handler().ServeHTTP(w, r)
	}))
	for name, args := range map[string][]string{"flag": {"--key", "env:MINE"}, "variable": {}} {
		environ := map[string][]string{"flag": {"MINE=very-secret"}, "variable": {"BENCHMARK_KEY=very-secret"}}[name]
		_, out, errs := command(t, environ, append([]string{"conformance", url, "--header", "X-Tenant: a", "--only", "v1.task", "-o", "json"}, args...)...)
		if bare.Load() > 0 || strings.Contains(out+errs, "very-secret") {
			t.Errorf("%s: %d requests without the key\n%s%s", name, bare.Load(), out, errs)
		}
	}
}

// TestConformanceStopped checks that Ctrl-C before the first check ends with 130 and leaves no report.
func TestConformanceStopped(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.xml")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := &program{console.Process{Out: io.Discard, Err: io.Discard}}
	if code := p.run(ctx, []string{"conformance", serving(t, legacyagent.Handler()), "--junit", file}); code != console.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a report was left behind")
	}
}

// TestConformanceGuide checks that each command of the document works, and that it contains every flag.
func TestConformanceGuide(t *testing.T) {
	raw, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	bridge := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL
	t.Chdir(t.TempDir())
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		for line := range strings.Lines(block[1]) {
			words := strings.Fields(strings.ReplaceAll(line, "http://127.0.0.1:8080", bridge))
			if code, out, errs := command(t, []string{"AGENT_KEY=a"}, words[1:]...); code != 0 || words[0] != "apbridge" {
				t.Errorf("%s: exit code %d: %s%s", line, code, out, errs)
			}
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were found", ran)
	}
	_, help, _ := command(t, nil, "conformance", "--help")
	for _, flag := range regexp.MustCompile(`--[a-z]+`).FindAllString(help, -1) {
		if flag != "--help" && !strings.Contains(string(raw), "`"+flag+"`") {
			t.Errorf("the document does not mention %s", flag)
		}
	}
	if _, out, _ := command(t, nil, "--help"); !strings.Contains(out, "\n  conformance ") {
		t.Error("the help does not list the command")
	}
}
