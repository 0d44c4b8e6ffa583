package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// agent is a scripted server of the protocol: it writes its files in its last
// step.
type agent struct {
	last  int               // steps until the last; 0: never
	files map[string]string // by path
	// answers replace those to "METHOD path", with TASK for the id.
	answers map[string]string

	mu    sync.Mutex
	calls []string
	heard []*http.Request
	forms []string
	steps int
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	route := r.Method + " " + strings.Replace(strings.TrimPrefix(r.URL.Path, "/ap/v1/agent/tasks"), "task-1", "TASK", 1)
	a.calls, a.heard = append(a.calls, route), append(a.heard, r)
	if strings.HasPrefix(route, "POST /TASK/artifacts") {
		a.forms = append(a.forms, string(body))
	}
	answer, ok := a.answers[route]
	if !ok {
		answer = a.answer(route)
	}
	if status, text, found := strings.Cut(answer, "|"); found {
		w.WriteHeader(map[string]int{"404": 404, "500": 500}[status])
		answer = text
	}
	_, _ = io.WriteString(w, answer)
}

func (a *agent) answer(route string) string {
	switch route {
	case "POST ":
		return `{"task_id":"task-1","input":"x","artifacts":[]}`
	case "POST /TASK/artifacts":
		return `{"artifact_id":"in","file_name":"x","agent_created":false}`
	case "POST /TASK/steps":
		a.steps++
		return fmt.Sprintf(`{"task_id":"task-1","step_id":"%d","status":"completed","artifacts":[],"is_last":%t}`, a.steps, a.steps == a.last)
	case "GET /TASK/artifacts":
		var list []string
		for at := range a.files {
			list = append(list, fmt.Sprintf(`{"artifact_id":%q,"agent_created":true,"file_name":%q,"relative_path":%q}`, at, filepath.Base(at), at))
		}
		return `{"artifacts":[` + strings.Join(list, ",") + `],"pagination":{}}`
	}
	at := strings.TrimPrefix(route, "GET /TASK/artifacts/")
	return a.files[at]
}

// try runs one challenge, made from a data.json and the files beside it.
func try(t *testing.T, a *agent, o Options, data string, files ...string) Result {
	t.Helper()
	beside := fstest.MapFS{"c/data.json": {Data: []byte(data)}}
	for i := 0; i+1 < len(files); i += 2 {
		beside["c/"+files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	var err error
	if o.Challenges, err = Load(beside); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a)
	defer server.Close()
	o.URL = server.URL
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report.Challenges[0]
}

func data(ground string) string {
	return `{"name":"X","task":"do it","category":["general"],"dependencies":[],"cutoff":5,"ground":` + ground + `,"info":{"difficulty":"basic","description":"Tests if the agent can"}}`
}

const wantsHi = `{"answer":"hi","should_contain":["Hi"],"should_not_contain":["no"],"files":["a.txt"],"eval":{"type":"file"}}`

// The order and the form of the calls are the harness's.
func TestCalls(t *testing.T) {
	t.Parallel()
	a := &agent{last: 2, files: map[string]string{"a.txt": "Hi"}}
	result := try(t, a, Options{Key: "secret"}, data(wantsHi), "artifacts_in/one.txt", "1", "artifacts_in/in side/wörld.txt", "2")
	if result.Status != Passed || result.Steps != 2 || result.TaskID != "task-1" {
		t.Errorf("result %+v", result)
	}
	want := []string{
		"POST ", "POST /TASK/artifacts", "POST /TASK/artifacts", "POST /TASK/steps", "POST /TASK/steps",
		"GET /TASK/artifacts", "GET /TASK/artifacts/a.txt",
	}
	if got := strings.Join(a.calls, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("calls:\n%s", got)
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

func TestJudging(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, ground string
		files        map[string]string
		want         Status
		says         string
	}{
		{"as it should be", wantsHi, map[string]string{"a.txt": "Hi there"}, Passed, ""},
		{"a word is missing", wantsHi, map[string]string{"a.txt": "hi"}, Failed, `"Hi" is missing`},
		{"a word too many", wantsHi, map[string]string{"a.txt": "Hi, no"}, Failed, `"no" should not be there`},
		{"case does not matter", `{"should_contain":["HI"],"files":["a.txt"],"case_sensitive":false,"eval":{"type":"file"}}`, map[string]string{"a.txt": "hi"}, Passed, ""},
		{"no such file", wantsHi, map[string]string{"b.txt": "Hi"}, Failed, "there is no file a.txt"},
		{"any file of a kind", `{"should_contain":["Hi"],"files":[".txt"],"eval":{"type":"file"}}`, map[string]string{"a.txt": "no", "b.txt": "Hi"}, Passed, ""},
		{"of a kind, in the root only", `{"should_contain":["Hi"],"files":[".txt"],"eval":{"type":"file"}}`, map[string]string{"in/a.txt": "Hi"}, Failed, "no file to judge"},
		{"in a folder", `{"should_contain":["Hi"],"files":["in/a.txt"],"eval":{"type":"file"}}`, map[string]string{"in/a.txt": "Hi"}, Passed, ""},
		{"a name that climbs", wantsHi, map[string]string{"../../a.txt": "Hi"}, Failed, "the artifact"},
		{"for a model", `{"files":["a.txt"],"eval":{"type":"llm","scoring":"binary","template":"rubric"}}`, map[string]string{"a.txt": "Hi"}, NotJudged, "a model would have to judge this"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			result := try(t, &agent{last: 1, files: x.files}, Options{}, data(x.ground))
			if result.Status != x.want || !strings.Contains(result.Reason, x.says) {
				t.Errorf("%s: %q, want %s: %q", result.Status, result.Reason, x.want, x.says)
			}
		})
	}
}

// What the harness's strict client would not take fails the challenge, and
// so does an agent that is not there.
func TestAgentsThatFail(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ route, answer, says string }{
		"refused":               {"POST ", "500|broken", "answered 500: broken"},
		"no task id":            {"POST ", `{"artifacts":[]}`, "no task_id"},
		"a number as task id":   {"POST ", `{"task_id":7,"artifacts":[]}`, "task_id"},
		"no list of artifacts":  {"POST ", `{"task_id":"task-1","artifacts":null}`, "no list of artifacts"},
		"unknown status":        {"POST /TASK/steps", `{"status":"done","is_last":true,"artifacts":[]}`, `the status "done"`},
		"is_last of wrong type": {"POST /TASK/steps", `{"status":"completed","is_last":"yes"}`, "is_last"},
		"null for artifacts":    {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true,"artifacts":null}`, "a step has no list of artifacts"},
		"no artifacts":          {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true}`, "a step has no list of artifacts"},
		"no step id":            {"POST /TASK/steps", `{"task_id":"task-1","status":"completed","is_last":true,"artifacts":[]}`, "a step has no step_id"},
		"an object as output":   {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","output":{},"is_last":true,"artifacts":[]}`, "output"},
		"a text as more output": {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","additional_output":"","is_last":true,"artifacts":[]}`, "additional_output"},
		"ids as artifacts":      {"POST /TASK/steps", `{"step_id":"1","task_id":"task-1","status":"completed","is_last":true,"artifacts":["a"]}`, "artifacts"},
		"lost the task":         {"POST /TASK/steps", "404|{}", "answered 404"},
		"no JSON":               {"GET /TASK/artifacts", "<html>", "invalid character"},
		"no download":           {"GET /TASK/artifacts/a.txt", "404|gone", "answered 404: gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agent{last: 1, files: map[string]string{"a.txt": "Hi"}, answers: map[string]string{x.route: x.answer}}
			result := try(t, a, Options{}, data(wantsHi))
			if result.Status != Failed || !strings.Contains(result.Reason, x.says) {
				t.Errorf("%s: %q, want failed: %q", result.Status, result.Reason, x.says)
			}
		})
	}
}

// The cutoff is looked at between steps; what is there then is judged.
func TestCutoff(t *testing.T) {
	t.Parallel()
	a := &agent{files: map[string]string{"a.txt": "not yet"}} // never done
	result := try(t, a, Options{Cutoff: time.Nanosecond}, data(wantsHi))
	if result.Status != Failed || !result.TimedOut || result.Steps != 1 || !strings.Contains(result.Reason, "cut off; ") {
		t.Errorf("result %+v", result)
	}
	a = &agent{files: map[string]string{"a.txt": "Hi"}}
	if result := try(t, a, Options{Cutoff: time.Nanosecond}, data(wantsHi)); result.Status != Passed || !result.TimedOut {
		t.Errorf("done in time: %+v", result)
	}
	if c := (Challenge{}); c.cutoff() != time.Minute {
		t.Errorf("without a cutoff it is %v", c.cutoff())
	}
}

// A step that hangs ends with its request.
func TestStepTimeout(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	a := &agent{last: 1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/steps") {
			<-free
		}
		a.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer close(free)
	list, err := Load(fstest.MapFS{"data.json": {Data: []byte(data(wantsHi))}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Options{URL: server.URL, Challenges: list, StepTimeout: 3 * time.Second})
	if err != nil || report.Challenges[0].Status != Failed || !strings.Contains(report.Challenges[0].Reason, "/steps") {
		t.Errorf("%v, %+v", err, report)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	const runs = `{"should_contain":["four: 4"],"files":["check.py"],"eval":{"type":"python"}}`
	for name, x := range map[string]struct {
		program string
		want    Status
		says    string
	}{
		"good":               {"def double(n): return 2 * n", Passed, ""},
		"wrong":              {"def double(n): return n", Failed, `"four: 4" is missing`},
		"breaks":             {"def double(n): raise ValueError('no')", Failed, "ValueError: no"},
		"for ever":           {"def double(n):\n  while True: pass", Failed, "it took longer than"},
		"prints without end": {"def double(n): print('x' * 2000000); return 2 * n", Failed, "is missing"},
		"reads what is ours": {"import os\ndef double(n): return 2 * n if 'BENCHMARK_TEST' not in os.environ else 0", Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &agent{last: 1, files: map[string]string{"twice.py": x.program}}
			o := Options{PythonTimeout: 5 * time.Minute}
			if name == "for ever" {
				o.PythonTimeout = 200 * time.Millisecond
			}
			result := try(t, a, o, data(runs), "custom_python/check.py", "from twice import double\nprint('four:', double(2))\n")
			if result.Status != x.want || !strings.Contains(result.Reason, x.says) {
				t.Errorf("%s: %q, want %s: %q", result.Status, result.Reason, x.want, x.says)
			}
		})
	}
}

// pytest is asked for by its module; its exit code is the verdict. A script
// stands for the interpreter here.
func TestPytest(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is not installed")
	}
	script, err := filepath.Abs("testdata/python.sh")
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]Status{"def double(n): return 2 * n": Passed, "def double(n): return n": Failed} {
		a := &agent{last: 1, files: map[string]string{"twice.py": program}}
		result := try(t, a, Options{Python: script}, data(`{"files":["twice.py"],"eval":{"type":"pytest"}}`), "custom_python/check.sh", "grep '2 . n' twice.py || { echo 1 failed; exit 1; }\n")
		if result.Status != want || want == Failed && !strings.Contains(result.Reason, "pytest: it failed: exit status 1\n1 failed") {
			t.Errorf("%s: %s: %q, want %s", program, result.Status, result.Reason, want)
		}
	}
	if result := try(t, &agent{last: 1}, Options{Python: "false"}, data(`{"files":[],"eval":{"type":"pytest"}}`)); result.Reason != "pytest is not installed" {
		t.Errorf("without pytest: %+v", result)
	}
}

// TestRealPytest asks pytest itself, where an interpreter has it.
func TestRealPytest(t *testing.T) {
	t.Parallel()
	python := withPytest(t)
	const check = "from twice import double\n\ndef test_double():\n    assert double(2) == 4\n"
	for program, want := range map[string]Status{"def double(n): return 2 * n": Passed, "def double(n): return n": Failed} {
		a := &agent{last: 1, files: map[string]string{"twice.py": program}}
		result := try(t, a, Options{Python: python, PythonTimeout: 5 * time.Minute}, data(`{"files":["twice.py"],"eval":{"type":"pytest"}}`), "custom_python/test_twice.py", check)
		if result.Status != want || want == Failed && !strings.Contains(result.Reason, "assert 2 == 4") {
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

// Without an interpreter nothing is asked of the agent.
func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, kind := range []string{"python", "pytest"} {
		a := &agent{last: 1}
		result := try(t, a, Options{}, data(`{"files":["a.py"],"eval":{"type":"`+kind+`"}}`))
		if result.Status != Skipped || result.Reason != "python3 is not installed" || len(a.calls) > 0 {
			t.Errorf("%s: %+v, calls %q", kind, result, a.calls)
		}
	}
}

// What others depend on comes first; what cannot be passed any more is skipped.
func TestDependencies(t *testing.T) {
	t.Parallel()
	list, err := Load(fstest.MapFS{
		"a/data.json": {Data: []byte(named("A", `"TestC"`))},
		"b/data.json": {Data: []byte(named("B", `"A"`))},
		"c/data.json": {Data: []byte(named("C", ``))},
		"d/data.json": {Data: []byte(named("D", `"Gone"`))},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{last: 1, files: map[string]string{"a.txt": "nothing"}}
	server := httptest.NewServer(a)
	defer server.Close()
	report, err := Run(t.Context(), Options{URL: server.URL, Challenges: list})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range report.Challenges {
		got = append(got, fmt.Sprintf("%s %s: %s", c.Name, c.Status, c.Reason))
	}
	want := "C failed: a.txt: \"Hi\" is missing\nA skipped: depends on TestC, which was not passed\n" +
		"B skipped: depends on A, which was not passed\nD skipped: depends on Gone, which is not among the challenges"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if some, err := Select(list, []string{" B"}); err != nil || len(some) != 3 {
		t.Errorf("B needs three challenges: %v, %v", some, err)
	}
	if _, err := Select(list, []string{"Nobody"}); err == nil {
		t.Error("an unknown challenge was selected")
	}
}

// Nothing answers, also where what comes first is not even tried.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	list, err := Load(fstest.MapFS{"a/data.json": {Data: []byte(named("A", `"Gone"`))}, "b/data.json": {Data: []byte(named("B", ``))}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Options{URL: "http://127.0.0.1:1", Challenges: list}); err == nil || !strings.Contains(err.Error(), "nothing answers at") {
		t.Errorf("%v", err)
	}
}

func named(name, depends string) string {
	return strings.NewReplacer(`"X"`, `"`+name+`"`, `"dependencies":[]`, `"dependencies":[`+depends+`]`).Replace(data(wantsHi))
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for says, files := range map[string]map[string]string{
		"there is no data.json": {"x.txt": ""},
		"unexpected end":        {"data.json": `{"name":`},
		"name and task":         {"data.json": `{"name":"A"}`},
		"cutoff must not":       {"data.json": strings.Replace(data(wantsHi), `"cutoff":5`, `"cutoff":-5`, 1)},
		"file, python, pytest":  {"data.json": data(`{"files":[],"eval":{"type":"guess"}}`)},
		"is taken by":           {"a/data.json": data(wantsHi), "b/data.json": data(wantsHi)},
	} {
		tree := fstest.MapFS{}
		for at, content := range files {
			tree[at] = &fstest.MapFile{Data: []byte(content)}
		}
		if _, err := Load(tree); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	list, err := Load(fstest.MapFS{"a/data.json": {Data: []byte(named("A", `"B"`))}, "b/data.json": {Data: []byte(named("B", `"A"`))}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inOrder(list); err == nil || !strings.Contains(err.Error(), "depends on itself") {
		t.Errorf("a circle: %v", err)
	}
}

// The program's exit code, its lines and its report.
func TestCommand(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "data.json"), []byte(data(wantsHi)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		file string
		want int
		says string
	}{"good": {"Hi", 0, "X: passed (1 steps"}, "bad": {"ho", 1, `X: failed: a.txt: "Hi" is missing (1 steps`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&agent{last: 1, files: map[string]string{"a.txt": x.file}})
			defer server.Close()
			var out, complaints bytes.Buffer
			to := filepath.Join(t.TempDir(), "report.json")
			code := Command(t.Context(), []string{"-url", server.URL, "-challenges", folder, "-report", to}, &out, &complaints)
			if code != x.want || !strings.Contains(out.String(), "[1/1] "+x.says) || !strings.Contains(out.String(), "CHALLENGE") {
				t.Errorf("exit %d, want %d\n%s%s", code, x.want, &out, &complaints)
			}
			var report Report
			raw, err := os.ReadFile(to)
			if err == nil {
				err = json.Unmarshal(raw, &report)
			}
			if err != nil || len(report.Challenges) != 1 || report.Count(Passed) != 1-x.want {
				t.Errorf("%v, report %s", err, raw)
			}
		})
	}
	for says, args := range map[string][]string{
		"-what": {"-what"}, "interpreter /none": {"-python", "/none"}, "report cannot be written": {"-report", "/nowhere/report.json"},
		"is a directory": {"-report", folder}, "from 0 on": {"-cutoff", "-5s"}, "nothing answers at http://127.0.0.1:1:": {"-url", "http://127.0.0.1:1"},
		"ftp://x": {"-url", "ftp://x"}, "/nowhere": {"-challenges", "/nowhere"}, "there are CopyNote, Describe": {"-only", "Nobody"}, "u:xxxxx@h": {"-url", "http://u:secret@h"}, "http://stray": {"http://stray"},
	} {
		var complaints bytes.Buffer
		if code := Command(t.Context(), args, io.Discard, &complaints); code != 2 || !strings.Contains(complaints.String(), says) {
			t.Errorf("%v: exit %d, want 2, and %q in: %s", args, code, says, &complaints)
		}
	}
	var help bytes.Buffer
	if code := Command(t.Context(), []string{"-h"}, &help, io.Discard); code != 0 || !strings.Contains(help.String(), "-python-timeout") || !strings.Contains(help.String(), "Exit code") {
		t.Errorf("-h: exit %d\n%s", code, &help)
	}
}

// What was done before it was stopped is reported; the challenge that was under
// way has not failed.
func TestStopped(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"A", "B", "C"} {
		if err := os.WriteFile(filepath.Join(folder, "data.json"), []byte(named(name, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(folder, "deeper")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	folder = filepath.Dir(filepath.Dir(filepath.Dir(folder)))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	agent, tasks := &agent{last: 1, files: map[string]string{"a.txt": "Hi"}}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tasks") {
			if tasks++; tasks == 2 {
				_, _ = io.Copy(io.Discard, r.Body) // before that nobody notices that the client has left
				stop()
				<-r.Context().Done()
				return
			}
		}
		agent.ServeHTTP(w, r)
	}))
	defer server.Close()
	var out, complaints bytes.Buffer
	to := filepath.Join(t.TempDir(), "report.json")
	code := Command(ctx, []string{"-url", server.URL, "-challenges", folder, "-report", to}, &out, &complaints)
	var report Report
	raw, err := os.ReadFile(to)
	if err == nil {
		err = json.Unmarshal(raw, &report)
	}
	if err != nil || code != 1 || report.Count(Passed) != 1 || report.Count(Skipped) != 2 {
		t.Errorf("exit %d, %v, report %s\n%s%s", code, err, raw, &out, &complaints)
	}
}

func TestOwnChallenges(t *testing.T) {
	t.Parallel()
	list, err := Own()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if !strings.HasPrefix(c.Info.Description, "Tests if the agent can") || c.Info.Difficulty == "" || len(c.Category) == 0 {
			t.Errorf("%s: agbenchmark would not take its info %+v", c.Name, c.Info)
		}
		for _, name := range c.Dependencies {
			if _, err := Select(list, []string{name}); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

func TestParseBase(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://h:1": "http://h:1", "http://h:1/": "http://h:1", "http://h/ap/v1": "http://h", "http://h/ap/v1/agent/tasks": "http://h",
		"https://h/agents/graph": "https://h/agents/graph", "http://h/agents/graph/ap/v1/": "http://h/agents/graph",
		"h:1": "", "": "", "/x": "", "http://u:p@h": "", "http://h?key=x": "", "http://h#x": "",
	} {
		if got, err := parseBase(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// The document lists every flag, and no other.
func TestDocumentedFlags(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	Command(t.Context(), []string{"-h"}, &help, io.Discard)
	listed := func(of string, row *regexp.Regexp) (flags []string) {
		for _, line := range row.FindAllString(of, -1) {
			flags = append(flags, regexp.MustCompile(`-[a-z-]+`).FindAllString(line, -1)...)
		}
		slices.Sort(flags)
		return flags
	}
	has, told := listed(help.String(), regexp.MustCompile(`(?m)^  -[a-z-]+`)), listed(string(raw), regexp.MustCompile("(?m)^\\| `-[^|]+"))
	if len(has) == 0 || !slices.Equal(has, told) {
		t.Errorf("the program has %v, the document %v", has, told)
	}
}
