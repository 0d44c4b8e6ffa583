package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/google/go-cmp/cmp"
)

// Requests have the order and the form of agbenchmark.
func TestCalls(t *testing.T) {
	t.Parallel()
	a := &scripted{last: 2, files: map[string]string{"a.txt": "Hi"}}
	o := Options{Agent: &agent.Client{Key: "secret", Patience: time.Minute, HTTP: &http.Client{}}}
	result := try(t, a, o, data(wantsHi), "artifacts_in/one.txt", "1", "artifacts_in/in side/wörld.txt", "2")
	if result.Status != report.Passed || result.Steps != 2 || result.TaskID != "task-1" || result.LastWords != "said 2" {
		t.Errorf("result %+v", result)
	}
	want := []string{
		"POST ", "POST /TASK/artifacts", "POST /TASK/artifacts", "POST /TASK/steps", "POST /TASK/steps",
		"GET /TASK/artifacts", "GET /TASK/artifacts/a.txt",
	}
	if diff := cmp.Diff(want, a.calls); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	for i, r := range a.heard {
		if r.Header.Get("X-Api-Key") != "secret" || r.URL.RawQuery != "" {
			t.Errorf("%s: key %q, query %q", a.calls[i], r.Header.Get("X-Api-Key"), r.URL.RawQuery)
		}
	}
	if step := a.heard[3]; step.ContentLength != 0 || step.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a step has %d bytes of %s, want none of JSON", step.ContentLength, step.Header.Get("Content-Type"))
	}
	folder, name := strings.Index(a.forms[0], "in side"), strings.Index(a.forms[0], `filename="w%C3%B6rld.txt"`)
	if folder < 0 || name < folder {
		t.Errorf("the folder does not come before the file:\n%s", a.forms[0])
	}
	if strings.Contains(a.forms[1], "relative_path") {
		t.Errorf("a file of the root has a folder:\n%s", a.forms[1])
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, ground string
		files        map[string]string
		want         report.Status
		says         string
	}{
		{"as it should be", wantsHi, map[string]string{"a.txt": "Hi there"}, report.Passed, ""},
		{"a word is missing", wantsHi, map[string]string{"a.txt": "hi"}, report.Failed, `a.txt: "Hi" is missing`},
		{"a word too many", wantsHi, map[string]string{"a.txt": "Hi, no"}, report.Failed, `"no" should not be there`},
		{"case does not matter", `{"should_contain":["HI"],"files":["a.txt"],"case_sensitive":false,"eval":{"type":"file"}}`, map[string]string{"a.txt": "hi"}, report.Passed, ""},
		{"no such file", wantsHi, map[string]string{"b.txt": "Hi"}, report.Failed, "there is no file a.txt; the files are b.txt"},
		{"nothing", wantsHi, nil, report.Failed, "there is no file a.txt; there are no files at all"},
		{"any file of a kind", `{"should_contain":["Hi"],"files":[".txt"],"eval":{"type":"file"}}`, map[string]string{"a.txt": "no", "b.txt": "Hi"}, report.Passed, ""},
		{"of a kind, in the root only", `{"should_contain":["Hi"],"files":[".txt"],"eval":{"type":"file"}}`, map[string]string{"in/a.txt": "Hi"}, report.Failed, "no file to judge: none ends with .txt; the files are in/a.txt"},
		{"in a folder", `{"should_contain":["Hi"],"files":["in/a.txt"],"eval":{"type":"file"}}`, map[string]string{"in/a.txt": "Hi"}, report.Passed, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			result := try(t, &scripted{last: 1, files: x.files}, Options{}, data(x.ground))
			if result.Status != x.want || !strings.Contains(result.Reason, x.says) {
				t.Errorf("%s: %q, want %s: %q", result.Status, result.Reason, x.want, x.says)
			}
		})
	}
	result := try(t, &scripted{last: 1, files: map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n"}}, Options{}, data(wantsHi))
	if len(result.Files) != 1 || result.Files[0].Excerpt != "1\n2\n3\n4\n5\n…" {
		t.Errorf("the first lines of the file: %+v", result.Files)
	}
}

// Responses that agbenchmark's strict client would refuse fail the challenge.
func TestAgentsThatFail(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ route, answer, says string }{
		"refused":               {"POST ", "500|broken", "returned 500: broken"},
		"a key in a refusal":    {"POST ", "500|no key sk-proj-abcdEFGH0123456789mark", "returned 500: no key [hidden]"},
		"no task id":            {"POST ", `{"artifacts":[]}`, "no task_id"},
		"a number as task id":   {"POST ", `{"task_id":7,"artifacts":[]}`, "task_id"},
		"no list of artifacts":  {"POST ", `{"task_id":"task-1","artifacts":null}`, "no list of artifacts"},
		"no upload":             {"POST /TASK/artifacts", "500|full", "the file note.txt could not be uploaded"},
		"unknown status":        {"POST /TASK/steps", `{"status":"done","is_last":true,"artifacts":[]}`, `step 1: a step has the status "done"`},
		"is_last of wrong type": {"POST /TASK/steps", `{"status":"completed","is_last":"yes"}`, "is_last"},
		"null for artifacts":    {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true,"artifacts":null}`, "a step has no list of artifacts"},
		"no artifacts":          {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true}`, "a step has no list of artifacts"},
		"no step id":            {"POST /TASK/steps", `{"task_id":"task-1","status":"completed","is_last":true,"artifacts":[]}`, "a step has no step_id"},
		"an object as output":   {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","output":{},"is_last":true,"artifacts":[]}`, "output"},
		"a text as more output": {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","additional_output":"","is_last":true,"artifacts":[]}`, "additional_output"},
		"ids as artifacts":      {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true,"artifacts":["a"]}`, "artifacts"},
		"lost the task":         {"POST /TASK/steps", "404|{}", "returned 404"},
		"no JSON":               {"GET /TASK/artifacts", "<html>", "its files could not be listed"},
		"no download":           {"GET /TASK/artifacts/a.txt", "404|gone", `its file "a.txt" could not be downloaded`},
		"a run that failed":     {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","additional_output":{"error":{"message":"no key"}},"is_last":true,"artifacts":[]}`, `the agent's run failed: no key; a.txt: "Hi" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &scripted{last: 1, files: map[string]string{"a.txt": "hm"}, answers: map[string]string{x.route: x.answer}}
			result := try(t, a, Options{}, data(wantsHi), "artifacts_in/note.txt", "1")
			if result.Status != report.Failed || !strings.Contains(result.Reason, x.says) {
				t.Errorf("%s: %q, want failed: %q", result.Status, result.Reason, x.says)
			}
		})
	}
}

// hanging answers all routes but one, on which it waits until the client leaves.
func hanging(a http.Handler, route string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, route) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		a.ServeHTTP(w, r)
	})
}

// The reason describes agents that never end, hang, break off or produce too much.
func TestAgentsThatMisbehave(t *testing.T) {
	t.Parallel()
	patient := func() *agent.Client { return &agent.Client{Patience: 3 * time.Second, HTTP: &http.Client{}} }
	many := map[string]string{}
	for i := range 10_000 {
		many[fmt.Sprintf("%d.txt", i)] = "Hi"
	}
	inFiles := func(name string) http.Handler { return &scripted{last: 1, files: map[string]string{name: "Hi"}} }
	for _, x := range []struct {
		name    string
		handler http.Handler
		options Options
		says    string
	}{
		{"never ends", &scripted{files: map[string]string{"a.txt": "not yet"}}, Options{Cutoff: time.Nanosecond}, `time limit of 1ns reached in step 1; a.txt: "Hi" is missing`},
		{"hangs in a step", hanging(&scripted{}, "/steps"), Options{Agent: patient()}, "no answer to step 1 within 3 s (--step-timeout); there is no file a.txt"},
		{"hangs at the upload", hanging(&scripted{}, "/artifacts"), Options{Agent: patient()}, "the file note.txt could not be uploaded: no answer to POST"},
		{"dies", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), Options{}, "the task could not be created: the connection to the agent broke (EOF)"},
		{"died, as its parent knows", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), Options{Gone: func() error { return io.ErrClosedPipe }}, "io: read/write on closed pipe"},
		{"10,000 files", &scripted{last: 1, files: many}, Options{}, "the agent lists at least 10000 files; at most 1000 are allowed"},
		{"pages without end", &pages{scripted: scripted{last: 1}, of: 1 << 30}, Options{}, "the agent lists at least 1010 files; at most 1000 are allowed"},
		{"a gigabyte", endless{&scripted{last: 1, files: map[string]string{"a.txt": ""}}}, Options{}, "the agent's files are larger than 256 MiB together"},
		{"climbs", inFiles("../../a.txt"), Options{}, `the file "../../a.txt" cannot be saved`},
		{"climbs in the middle", inFiles("x/../../a.txt"), Options{}, "cannot be saved"},
		{"a name with NUL", inFiles("a\x00.txt"), Options{}, "cannot be saved"},
		{"a name of ten thousand bytes", inFiles(strings.Repeat("a", 10_000)), Options{}, "cannot be saved"},
		{"a name of a thousand folders", inFiles(strings.Repeat("d/", 1000) + "a.txt"), Options{}, "it is in 1000 nested folders; at most 100 are allowed"},
		{"a folder as a file", inFiles("."), Options{}, "cannot be saved"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			result := try(t, x.handler, x.options, data(wantsHi), "artifacts_in/note.txt", "1")
			if result.Status != report.Failed || !strings.Contains(result.Reason, x.says) {
				t.Errorf("%s: %q, want failed: %q", result.Status, result.Reason, x.says)
			}
		})
	}
}

// pages is an agent that lists its files in pages of ten.
type pages struct {
	scripted
	of    int  // pages
	stuck bool // on the first
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/artifacts") {
		p.scripted.ServeHTTP(w, r)
		return
	}
	page, err := strconv.Atoi(r.URL.Query().Get("current_page"))
	if err != nil || p.stuck {
		page = 1
	}
	var list []string
	for i := range 10 {
		list = append(list, fmt.Sprintf(`{"artifact_id":"%d","file_name":"%d.txt"}`, 10*page+i, 10*page+i))
	}
	fmt.Fprintf(w, `{"artifacts":[%s],"pagination":{"total_pages":%d}}`, strings.Join(list, ","), p.of)
}

// Files on later pages are judged. A server that claims too many pages does not cause endless requests.
func TestPages(t *testing.T) {
	t.Parallel()
	const last = `{"should_contain":["Hi"],"files":["39.txt"],"eval":{"type":"file"}}`
	if result := try(t, &pages{scripted: scripted{last: 1, files: map[string]string{"39": "Hi"}}, of: 3}, Options{}, data(last)); result.Status != report.Passed {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
	if result := try(t, &pages{scripted: scripted{last: 1}, of: 1 << 30, stuck: true}, Options{}, data(last)); !strings.HasPrefix(result.Reason, "there is no file 39.txt; the files are 10.txt") {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
}

// The time for all files together is bounded.
func TestSlowFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("%d.txt", i)] = "Hi"
	}
	a := &scripted{last: 1, files: files}
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/artifacts/") {
			select {
			case <-time.After(100 * time.Millisecond): // the slowness of the agent
			case <-r.Context().Done():
			}
		}
		a.ServeHTTP(w, r)
	})
	o := Options{Agent: &agent.Client{Patience: 3 * time.Second, HTTP: &http.Client{}}}
	result := try(t, slow, o, data(`{"should_contain":["Hi"],"files":[".txt"],"eval":{"type":"file"}}`))
	if result.Status != report.Failed || !strings.Contains(result.Reason, "could not be downloaded: no answer to GET") {
		t.Errorf("%s: %s", result.Status, result.Reason)
	}
}

// endless is an agent with a file of a gigabyte.
type endless struct{ *scripted }

func (e endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, "/artifacts/") {
		e.scripted.ServeHTTP(w, r)
		return
	}
	_, _ = io.CopyN(w, zeros{}, 1<<30) // the client stops reading
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// The files at the time limit count, as in agbenchmark.
func TestDoneAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	a := &scripted{files: map[string]string{"a.txt": "Hi"}}
	if result := try(t, a, Options{Cutoff: time.Nanosecond}, data(wantsHi)); result.Status != report.Passed || !result.TimedOut || result.Steps != 1 {
		t.Errorf("%+v", result)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	const runs = `{"should_contain":["four: 4"],"files":["check.py"],"eval":{"type":"python"}}`
	for name, x := range map[string]struct {
		program      string
		want         report.Status
		says, writes string
	}{
		"good":               {"def double(n): return 2 * n", report.Passed, "", ""},
		"wrong":              {"def double(n): return n", report.Failed, `"four: 4" is missing`, ""},
		"breaks":             {"def double(n): raise ValueError('no')", report.Failed, "check.py: it failed: ValueError: no", "Traceback (most recent call last)"},
		"for ever":           {"def double(n):\n  while True: pass", report.Failed, "it took longer than", ""},
		"prints without end": {"def double(n): print('x' * 2000000); return 2 * n", report.Passed, "", ""},
		"takes all memory":   {"def double(n): return len(bytearray(3 << 30)) and 4", report.Failed, "it failed: MemoryError", "Traceback"},
		"reads what is ours": {"import os\ndef double(n): return 2 * n if not [e for e in os.environ if 'GO' in e] else 0", report.Passed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 5 * time.Minute
			if name == "for ever" {
				limit = 200 * time.Millisecond
			}
			result := try(t, &scripted{last: 1, files: map[string]string{"twice.py": x.program}}, Options{Python: python(t, "", limit)}, data(runs), "custom_python/check.py", "from twice import double\nprint('four:', double(2))\n")
			if result.Status != x.want || !strings.Contains(result.Reason, x.says) || !strings.Contains(result.Output, x.writes) {
				t.Errorf("%s: %q, want %s: %q\n%s", result.Status, result.Reason, x.want, x.says, result.Output)
			}
		})
	}
}

// Children of a judged program end with it and are no failure.
func TestPythonLeavesAChild(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	child := fmt.Sprintf("import socket, time; s = socket.create_connection(('127.0.0.1', %d)); print('up', flush=True); time.sleep(600)", l.Addr().(*net.TCPAddr).Port)
	program := fmt.Sprintf("import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', %q], stdout=subprocess.PIPE)\np.stdout.readline()\nprint('done')\n", child)
	result := try(t, &scripted{last: 1, files: map[string]string{"a.py": program}}, Options{}, data(`{"should_contain":["done"],"files":["a.py"],"eval":{"type":"python"}}`))
	if result.Status != report.Passed {
		t.Fatalf("%+v", result)
	}
	alive, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	_ = alive.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the child lives on: %v", err)
	}
}

// pytest is run as a module, and its exit code decides. A script replaces the interpreter.
func TestPytest(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is not installed")
	}
	script, err := filepath.Abs("testdata/python.sh")
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]report.Status{"def double(n): return 2 * n": report.Passed, "def double(n): return n": report.Failed} {
		a := &scripted{last: 1, files: map[string]string{"twice.py": program}}
		result := try(t, a, Options{Python: python(t, script, time.Minute)}, data(`{"files":["twice.py"],"eval":{"type":"pytest"}}`),
			"custom_python/check.sh", "grep '2 . n' twice.py || { echo 'E   assert 2 == 4'; echo 1 failed; exit 1; }\n")
		if result.Status != want || want == report.Failed && (result.Reason != "pytest: it failed: assert 2 == 4" || !strings.Contains(result.Output, "1 failed")) {
			t.Errorf("%s: %s: %q, want %s", program, result.Status, result.Reason, want)
		}
	}
	if result := try(t, &scripted{last: 1}, Options{Python: python(t, "false", time.Minute)}, data(`{"files":[],"eval":{"type":"pytest"}}`)); !strings.HasPrefix(result.Reason, "pytest is not installed") {
		t.Errorf("without pytest: %+v", result)
	}
}

// Skipped without pytest.
func TestRealPytest(t *testing.T) {
	t.Parallel()
	interpreter := withPytest(t)
	const check = "from twice import double\n\ndef test_double():\n    assert double(2) == 4\n"
	for program, want := range map[string]report.Status{"def double(n): return 2 * n": report.Passed, "def double(n): return n": report.Failed} {
		a := &scripted{last: 1, files: map[string]string{"twice.py": program}}
		result := try(t, a, Options{Python: python(t, interpreter, 5*time.Minute)}, data(`{"files":["twice.py"],"eval":{"type":"pytest"}}`), "custom_python/test_twice.py", check)
		if result.Status != want || want == report.Failed && !strings.Contains(result.Reason, "assert 2 == 4") {
			t.Errorf("%s: %s: %q, want %s", program, result.Status, result.Reason, want)
		}
	}
}

func withPytest(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import pytest").Run() == nil {
			return python
		}
	}
	t.Skip("no python3 here has pytest")
	return ""
}

// Without an interpreter the agent gets no request.
func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, kind := range []string{"python", "pytest"} {
		a := &scripted{last: 1}
		result := try(t, a, Options{}, data(`{"files":["a.py"],"eval":{"type":"`+kind+`"}}`))
		if result.Status != report.Skipped || result.Reason != "python3 is not installed" || len(a.calls) > 0 {
			t.Errorf("%s: %+v, calls %q", kind, result, a.calls)
		}
	}
}

// lines returns the results in short.
func lines(r report.Report) (list []string) {
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", each.Challenge.Name, a.Status, a.Reason), ": "))
		}
	}
	return list
}

// Dependencies come first. Challenges whose dependencies failed are skipped, with any parallelism.
func TestDependencies(t *testing.T) {
	t.Parallel()
	list := loaded(t, "a/data.json", named("A", `"TestC"`), "b/data.json", named("B", `"A"`), "c/data.json", named("C", ``), "d/data.json", named("D", `"Gone"`))
	a := &scripted{last: 1, files: map[string]string{"a.txt": "nothing"}}
	for _, parallel := range []int{1, 4} {
		r := Run(t.Context(), against(t, a, Options{Challenges: list, Parallel: parallel}))
		want := []string{
			`C failed: a.txt: "Hi" is missing`, "A skipped: depends on TestC, which did not pass", "B skipped: depends on A, which did not pass",
			"D skipped: depends on Gone, which is not run",
		}
		if diff := cmp.Diff(want, lines(r)); diff != "" {
			t.Errorf("%d at a time (-want +got):\n%s", parallel, diff)
		}
	}
	r := Run(t.Context(), against(t, &scripted{last: 1, files: map[string]string{"a.txt": "Hi"}}, Options{Challenges: list, Alone: true, Watch: func(report.Event) {}}))
	if r.Count(report.Passed)+r.Count(report.Failed) != 4 {
		t.Errorf("--no-dependencies left some out: %v", lines(r))
	}
}

// At most Parallel challenges run at a time, none before its dependencies.
func TestParallel(t *testing.T) {
	t.Parallel()
	inside, both := make(chan struct{}, 2), make(chan struct{})
	go func() { <-inside; <-inside; close(both) }()
	a := &scripted{files: map[string]string{"a.txt": "Hi"}, answers: map[string]string{
		"POST /TASK/steps": `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true,"artifacts":[]}`}}
	meets := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/steps") {
			inside <- struct{}{}
			<-both // wait for two
		}
		a.ServeHTTP(w, r)
	})
	r := Run(t.Context(), against(t, meets, Options{Challenges: loaded(t, "a/data.json", named("A", ""), "b/data.json", named("B", "")), Parallel: 2}))
	if r.Count(report.Passed) != 2 {
		t.Errorf("%v", lines(r))
	}
}

// With different outcomes the challenge is flaky, and one passed attempt is enough for its dependents.
func TestRepeat(t *testing.T) {
	t.Parallel()
	a := &scripted{last: 1, files: map[string]string{"a.txt": "Hi"}}
	tasks := 0
	flaky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tasks") {
			tasks++
			a.mu.Lock()
			a.steps, a.files = 0, map[string]string{"a.txt": "Hi"}
			if tasks == 2 {
				a.files = nil
			}
			a.mu.Unlock()
		}
		a.ServeHTTP(w, r)
	})
	r := Run(t.Context(), against(t, flaky, Options{Challenges: loaded(t, "a/data.json", named("A", ""), "b/data.json", named("B", `"A"`)), Repeat: 3}))
	if diff := cmp.Diff([]string{"A"}, r.Flaky()); diff != "" || len(r.Results[0].Attempts) != 3 || r.Results[1].Count(report.Passed) != 3 {
		t.Errorf("flaky (-want +got): %s\n%v", diff, lines(r))
	}
}

// Usage comes from steps, or from the thread of a bridge.
func TestUsage(t *testing.T) {
	t.Parallel()
	a := &scripted{last: 2, files: map[string]string{"a.txt": "Hi"},
		more: `,"additional_output":{"task_total_cost":0.25,"task_cumulative_cost":9,"x":[{"usage_metadata":{"input_tokens":3,"output_tokens":4}}]}`}
	u := try(t, a, Options{}, data(wantsHi)).Usage
	if u.Tokens == nil || *u.Tokens != 14 || u.Cost == nil || *u.Cost != 0.25 {
		t.Errorf("%+v", u)
	}
	a = &scripted{last: 1, files: map[string]string{"a.txt": "Hi"}, answers: map[string]string{
		"GET /threads/TASK/state": `{"values":{"messages":[{"usage_metadata":{"total_tokens":100}},{"type":"human"},{"usage_metadata":{"total_tokens":20}}]}}`}}
	result := try(t, a, Options{Bridge: true, Threads: "http://bridge/threads/"}, data(wantsHi))
	if u := result.Usage; u.Tokens == nil || *u.Tokens != 120 || u.Cost != nil || result.Thread != "http://bridge/threads/task-1" {
		t.Errorf("%+v", result)
	}
}

// Earlier results stay in the report. A running attempt is judged by its files so far and has not failed.
func TestStopped(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]string{"nothing yet": "", "done already": "Hi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			a := &scripted{files: map[string]string{"a.txt": "Hi"}}
			a.answers = map[string]string{"POST /TASK/steps": `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true,"artifacts":[]}`}
			steps := 0
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/steps") {
					if steps++; steps == 2 {
						_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has left
						a.mu.Lock()
						a.files = map[string]string{"a.txt": there}
						a.mu.Unlock()
						stop()
						<-r.Context().Done()
						return
					}
				}
				a.ServeHTTP(w, r)
			})
			r := Run(ctx, against(t, h, Options{Challenges: loaded(t, "a/data.json", named("A", ""), "b/data.json", named("B", ""), "c/data.json", named("C", ""))}))
			want := []string{"A passed", "B skipped: stopped in step 1", "C skipped: stopped before the first attempt"}
			if there != "" {
				want[1] = "B passed"
			}
			if diff := cmp.Diff(want, lines(r)); diff != "" || !r.Interrupted || r.Whole() {
				t.Errorf("interrupted %v (-want +got):\n%s", r.Interrupted, diff)
			}
		})
	}
}

// Work that was complete at Ctrl-C is judged as usual.
func TestStoppedAfterTheLastStep(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := &scripted{last: 1, files: map[string]string{"a.txt": "ho"}}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			stop()
		}
		a.ServeHTTP(w, r)
	})
	r := Run(ctx, against(t, h, Options{Challenges: loaded(t, "a/data.json", named("A", ""), "b/data.json", named("B", ""))}))
	want := []string{`A failed: a.txt: "Hi" is missing`, "B skipped: stopped before the first attempt"}
	if diff := cmp.Diff(want, lines(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The agent's files stay in the named folder, whatever the name of the challenge.
func TestKeep(t *testing.T) {
	t.Parallel()
	keep := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(keep, 0o755); err != nil {
		t.Fatal(err)
	}
	a := &scripted{last: 1, files: map[string]string{"in/a.txt": "Hi"}}
	try(t, a, Options{Keep: keep}, strings.Replace(data(wantsHi), `"X"`, `"../../X"`, 1))
	if raw, err := os.ReadFile(filepath.Join(keep, "_.._X-1", "in", "a.txt")); err != nil || string(raw) != "Hi" {
		list, _ := filepath.Glob(keep + "/*")
		t.Errorf("%v, %q, there are %q", err, raw, list)
	}
}

// Events are in order. An unreachable agent fails the attempts.
func TestEvents(t *testing.T) {
	t.Parallel()
	var kinds []string
	o := against(t, &scripted{last: 2, files: map[string]string{"a.txt": "Hi"}}, Options{
		Challenges: loaded(t, "data.json", data(wantsHi), "artifacts_in/n.txt", "1"), Watch: func(e report.Event) { kinds = append(kinds, e.Kind) }})
	Run(t.Context(), o)
	want := []string{"challenge", "task", "upload", "ask", "step", "ask", "step", "judge", "result"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	o.Agent.Base = gone.URL
	if r := Run(t.Context(), o); !strings.Contains(lines(r)[0], "the connection to the agent broke") {
		t.Errorf("%v", lines(r))
	}
}

// A relative interpreter and folder are found from the workspace, too.
func TestRelativePaths(t *testing.T) {
	found, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	t.Chdir(t.TempDir())
	script := "#!/bin/sh\nexec '" + found + "' \"$@\"\n"
	for _, err := range []error{os.Mkdir("bin", 0o700), os.Mkdir("kept", 0o700), os.WriteFile("bin/python", []byte(script), 0o600), os.Chmod("bin/python", 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const program = "import os\nprint(all(os.path.isdir(os.environ[name]) for name in ('HOME', 'TMPDIR')))\n"
	a := &scripted{last: 1, files: map[string]string{"a.py": program}}
	result := try(t, a, Options{Python: python(t, "bin/python", time.Minute), Keep: "kept"}, data(`{"should_contain":["True"],"files":["a.py"],"eval":{"type":"python"}}`))
	if result.Status != report.Passed {
		t.Errorf("%s: %s", result.Reason, result.Output)
	}
}

// Judged programs do not have the caller's home, so a pytest installed there does not count.
func TestPytestOfTheHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	script := filepath.Join(t.TempDir(), "python")
	const text = `#!/bin/sh
exec test -e "$HOME/pytest"
`
	if err := errors.Join(os.WriteFile(script, []byte(text), 0o600), os.Chmod(script, 0o700), os.WriteFile(filepath.Join(home, "pytest"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	a := &scripted{last: 1}
	result := try(t, a, Options{Python: python(t, script, time.Minute)}, data(`{"files":[],"eval":{"type":"pytest"}}`))
	if result.Status != report.Skipped || !strings.HasPrefix(result.Reason, "pytest is not installed") || len(a.calls) > 0 {
		t.Errorf("%+v", result)
	}
}

// pytest does not read files above the folder of an attempt, which belong to the caller.
func TestPytestStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	interpreter := withPytest(t)
	for name, x := range map[string]struct {
		configuration string
		says          string
	}{
		"without a configuration": {"", ""},
		"with one of its own":     {"[pytest]\naddopts = --unheard-of\n", "unrecognized arguments: --unheard-of"},
	} {
		keep := t.TempDir()
		for file, text := range map[string]string{"pytest.ini": "[pytest]\naddopts = --nonsense\n", "conftest.py": "raise SystemExit('of the caller')\n"} {
			if err := os.WriteFile(filepath.Join(keep, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files := map[string]string{"twice.py": "def double(n): return 2 * n"}
		if x.configuration != "" {
			files["pytest.ini"] = x.configuration
		}
		result := try(t, &scripted{last: 1, files: files}, Options{Python: python(t, interpreter, 5*time.Minute), Keep: keep}, data(`{"files":["twice.py"],"eval":{"type":"pytest"}}`),
			"custom_python/test_twice.py", "from twice import double\n\ndef test_double():\n    assert double(2) == 4\n")
		if (result.Status == report.Passed) != (x.says == "") || !strings.Contains(result.Output, x.says) {
			t.Errorf("%s: %s: %s\n%s", name, result.Status, result.Reason, result.Output)
		}
	}
}

// Names that differ only in characters that folders cannot have get different folders.
func TestKeptApart(t *testing.T) {
	t.Parallel()
	keep := t.TempDir()
	list := loaded(t, "a/data.json", named("写", ""), "b/data.json", named("读", ""), "c/data.json", named("A b", ""), "d/data.json", named("A/b", ""), "e/data.json", named(strings.Repeat("long", 100), ""))
	r := Run(t.Context(), against(t, &scripted{last: 1, files: map[string]string{"a.txt": "Hi"}}, Options{Challenges: list, Keep: keep, Parallel: 1}))
	folders, err := os.ReadDir(keep)
	if err != nil || r.Count(report.Passed) != len(list) || len(folders) != len(list) {
		t.Errorf("%v, %v: %v", folders, err, lines(r))
	}
}

// Texts for people are short and valid, however much an agent or its program writes.
func TestReasonsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100_000)
	step := `{"step_id":"1","task_id":"task-1","status":"completed","additional_output":{"error":{"message":"` + long + `"}},"is_last":true,"artifacts":[]}`
	result := try(t, &scripted{answers: map[string]string{"POST /TASK/steps": step}}, Options{}, data(wantsHi))
	if len(result.Reason) > 1000+len("…") || !utf8.ValidString(result.Reason) || !strings.HasSuffix(result.Reason, "there are no files at all") {
		t.Errorf("%d bytes: …%s", len(result.Reason), result.Reason[max(0, len(result.Reason)-100):])
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is not installed")
	}
	script, err := filepath.Abs("testdata/python.sh")
	if err != nil {
		t.Fatal(err)
	}
	const check = "i=0; while [ $i -lt 3000 ]; do echo noise noise noise noise; i=$((i+1)); done; echo 'E   lost' >&2; exit 1\n"
	result = try(t, &scripted{last: 1}, Options{Python: python(t, script, time.Minute)}, data(`{"files":[],"eval":{"type":"pytest"}}`), "custom_python/check.sh", check)
	if result.Reason != "pytest: it failed: lost" || len(result.Output) > 20_000 || !strings.Contains(result.Output, "E   lost") {
		t.Errorf("%s: %d bytes", result.Reason, len(result.Output))
	}
}

func TestSpoken(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{6 * time.Second: "6 s", 90 * time.Second: "90 s", 1500 * time.Millisecond: "1.5 s", time.Minute: "60 s", 5 * time.Minute: "5 min", 250 * time.Millisecond: "250ms"} {
		if got := spoken(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// A program that was ended because of Ctrl-C says nothing about the agent.
func TestStoppedWhileJudged(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	a := &attempt{run: &run{}, done: true, Attempt: report.Attempt{Status: report.Failed, Reason: "check.py: it failed: signal: killed"}}
	a.conclude(ctx, ctx, nil)
	if a.Status != report.Skipped || a.Reason != "stopped while its files were being judged" {
		t.Errorf("%s: %s", a.Status, a.Reason)
	}
	a = &attempt{run: &run{}, done: true, Attempt: report.Attempt{Status: report.Failed, Reason: "no"}}
	if a.conclude(ctx, t.Context(), nil); a.Status != report.Failed {
		t.Errorf("judged in time: %s: %s", a.Status, a.Reason)
	}
}
