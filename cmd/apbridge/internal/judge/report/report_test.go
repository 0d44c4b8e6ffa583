package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/junit"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
	"github.com/google/go-cmp/cmp"
)

func number[N any](n N) *N { return &n }

func result(name string, attempts ...Attempt) Result {
	for i := range attempts {
		attempts[i].Number = i + 1
	}
	return Result{Challenge: challenge.Challenge{Name: name, Task: "do it", Category: []string{"coding"}, Path: name + "/data.json", Info: challenge.Info{Difficulty: "basic"}}, Attempts: attempts}
}

func passes(seconds float64) Attempt {
	return Attempt{Status: Passed, Seconds: seconds, Steps: 2, Answers: []json.RawMessage{[]byte(`{"step_id":"1"}`)}}
}

func fails() Attempt {
	return Attempt{Status: Failed, Steps: 3, Reason: `check.py: it failed: ValueError: <no> | "1"`, LastWords: "I am done", Output: "Traceback\nValueError: no", Thread: "http://b/threads/t",
		Files: []File{{Source: "check.py", Reason: "it failed", Excerpt: "Traceback"}}}
}

func skipped() Attempt { return Attempt{Status: Skipped, Reason: "depends on X"} }

func sample() Report {
	costly := passes(1)
	costly.Usage = agent.Usage{Tokens: number[int64](120), Cost: number(0.25)}
	return Report{
		Target: "agent", URL: "http://127.0.0.1:8000", Command: "apbridge bench", Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seconds: 12.3456,
		Results: []Result{result("Good", costly), result("Bad", fails()), result("Flaky", passes(2), fails()), result("Left", skipped()), result("Open", Attempt{Status: NotJudged, Reason: "a model"})},
		Faults:  []challenge.Fault{{File: "x/data.json", Field: "name", Text: "is missing"}},
	}
}

// The report has every field of agbenchmark's report_types.py, with its type.
func TestAgbenchmark(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Regressions = map[string]bool{"Good": true}
	var out bytes.Buffer
	if err := r.Agbenchmark(&out); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	tests := got["tests"].(map[string]any)
	for _, each := range tests {
		delete(each.(map[string]any), "metadata")
	}
	test := func(regression, attempted bool, share float64, results ...any) map[string]any {
		return map[string]any{
			"category": []any{"coding"}, "difficulty": "basic", "description": "", "task": "do it", "answer": "",
			"metrics": map[string]any{"attempted": attempted, "is_regression": regression, "success_percentage": share, "success_%": share}, "results": results,
		}
	}
	line := func(success, seconds, why, steps, answers, cost any) map[string]any {
		return map[string]any{"success": success, "run_time": seconds, "fail_reason": why, "reached_cutoff": false, "n_steps": steps, "steps": answers, "cost": cost}
	}
	none, one := []any{}, []any{map[string]any{"step_id": "1"}}
	bad := line(false, "0.0 seconds", fails().Reason, 3.0, none, nil)
	want := map[string]any{
		"command": "apbridge bench", "completion_time": "2026-01-02T03:04:17+00:00", "benchmark_start_time": "2026-01-02T03:04:05+00:00",
		"metrics": map[string]any{"run_time": "12.35 seconds", "highest_difficulty": "basic: 2", "total_cost": 0.25},
		"config":  map[string]any{"host": "http://127.0.0.1:8000"}, "agent_git_commit_sha": "---", "benchmark_git_commit_sha": "---", "repo_url": nil,
		"tests": map[string]any{
			"Good":  test(true, true, 100, line(true, "1.0 seconds", nil, 2.0, one, 0.25)),
			"Bad":   test(false, true, 0, bad),
			"Flaky": test(false, true, 50, line(true, "2.0 seconds", nil, 2.0, one, nil), bad),
			"Left":  test(false, false, 0, line(false, "0.0 seconds", "depends on X", nil, none, nil)),
			"Open":  test(false, true, 0, line(nil, "0.0 seconds", "a model", 0.0, none, nil)),
		},
	}
	for name, each := range want["tests"].(map[string]any) {
		each.(map[string]any)["data_path"] = name + "/data.json"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A written report is read back, as far as report.json holds it.
func TestRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "20260102T030405_full_run", "report.json")
	write(t, file, sample())
	for _, from := range []string{file, filepath.Dir(file), folder} {
		got, err := Read(from)
		if err != nil {
			t.Fatal(err)
		}
		if got.Count(Passed) != 2 || got.Count(Failed) != 2 || got.Count(NotJudged) != 1 || *got.Usage().Tokens != 120 || len(got.Results) != 5 {
			t.Errorf("%s: %+v", from, got.Summary())
		}
	}
	for name, text := range map[string]string{"no JSON": "{", "no tests": "{}", "another form": `{"tests":{"A":{"metrics":{"success":true}}}}`} {
		at := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(at); err == nil || !strings.Contains(err.Error(), "is not a report.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no report.json in") {
		t.Errorf("an empty folder: %v", err)
	}
}

// A report by agbenchmark has only its own fields.
func TestReadAgbenchmarks(t *testing.T) {
	t.Parallel()
	got, err := Read("testdata/agbenchmark.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, each := range got.Results {
		for _, a := range each.Attempts {
			list = append(list, fmt.Sprintf("%s %s %d %.1f %s", each.Challenge.Name, a.Status, a.Steps, a.Seconds, a.Reason))
		}
	}
	want := []string{"ReadFile skipped 0 0.0 Test skipped", "ThreeSum failed 3 9.1 No passed evals", "WriteFile passed 2 4.5 ", "WriteFile passed 3 5.5 "}
	if diff := cmp.Diff(want, list); diff != "" || *got.Usage().Cost != 0.75 {
		t.Errorf("cost %v (-want +got):\n%s", got.Usage().Cost, diff)
	}
}

func write(t *testing.T, file string, r Report) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := outfile.OpenReport("--report", file, Report.Agbenchmark)
	if err == nil {
		err = f.Finish(r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := sample().Table(&out); err != nil {
		t.Fatal(err)
	}
	const want = `CHALLENGE  DIFFICULTY  RESULT         STEPS  SECONDS  TOKENS  COST   
Good       basic       passed         2      1.0      120     $0.25  
Bad        basic       failed         3      0.0      -       -      check.py: it failed: ValueError: <no> | "1"
Flaky      basic       1 of 2 passed  2-3    1.0      -       -      check.py: it failed: ValueError: <no> | "1"
Left       basic       skipped        0      0.0      -       -      depends on X
Open       basic       not judged     0      0.0      -       -      a model

Bad failed: check.py: it failed: ValueError: <no> | "1"
  the agent's last output: I am done
  output of the program:
    Traceback
    ValueError: no
  thread: http://b/threads/t

Flaky, attempt 2, failed: check.py: it failed: ValueError: <no> | "1"
  the agent's last output: I am done
  output of the program:
    Traceback
    ValueError: no
  thread: http://b/threads/t

No challenges:
  x/data.json: name: is missing

2 passed, 2 failed, 1 skipped, 1 not judged in 12.3 s, 120 tokens, $0.25
passed: 2 of 4 (50 %, 95 % interval 15 to 85 %)
flaky: Flaky
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An attempt that was not judged has not failed.
func TestVerdictOfTries(t *testing.T) {
	t.Parallel()
	open := Attempt{Status: NotJudged}
	for want, attempts := range map[string][]Attempt{
		"passed": {passes(1)}, "skipped": {skipped(), skipped()}, "not judged": {open, open}, "2 of 2 passed": {passes(1), passes(1)}, "0 of 2 passed": {fails(), fails()},
		"1 of 2 passed, 1 skipped": {passes(1), fails(), skipped()}, "1 of 1 passed, 2 not judged": {open, passes(1), open}, "0 of 0 passed, 1 skipped, 1 not judged": {open, skipped()},
	} {
		if got := result("A", attempts...).verdict(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var out bytes.Buffer
	if err := (Report{Results: []Result{result("A", skipped())}}).Table(&out); err != nil || !strings.HasSuffix(out.String(), "\npassed: none was judged\n") {
		t.Errorf("%v: %s", err, &out)
	}
}

// The number of shown files is bounded.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	a := Attempt{Status: Failed, Reason: "no"}
	for i := range 1000 {
		a.Files = append(a.Files, File{Source: fmt.Sprintf("%d.txt", i), Reason: "no", Excerpt: "text"})
	}
	var out bytes.Buffer
	if err := (Report{Results: []Result{result("A", a)}}).Table(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), " begins: text\n"); n != 5 || !strings.Contains(out.String(), "  more files: 995\n") {
		t.Errorf("%d files are shown in\n%s", n, &out)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := sample().JUnit(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct {
			Tests    int          `xml:"tests,attr"`
			Failures int          `xml:"failures,attr"`
			Errors   int          `xml:"errors,attr"`
			Skipped  int          `xml:"skipped,attr"`
			Time     string       `xml:"time,attr"`
			Stamp    string       `xml:"timestamp,attr"`
			Cases    []junit.Case `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Suites[0]
	if s.Tests != 7 || s.Failures != 2 || s.Errors != 1 || s.Skipped != 2 || s.Time != "12.346" || s.Stamp != "2026-01-02T03:04:05" {
		t.Errorf("%+v", s)
	}
	var cases []string
	for _, c := range s.Cases {
		cases = append(cases, fmt.Sprint(c.Class, " ", c.Name, " ", c.Failure != nil, c.Error != nil, c.Skipped != nil))
	}
	want := []string{"coding Good false false false", "coding Bad true false false", "coding Flaky [1] false false false", "coding Flaky [2] true false false",
		"coding Left false false true", "coding Open false false true", "challenges x/data.json false true false"}
	if diff := cmp.Diff(want, cases); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if why := s.Cases[1].Failure; why.Message != fails().Reason || !strings.Contains(why.Text, "Traceback") {
		t.Errorf("%+v", why)
	}
}

// Texts of agents are never markup.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Results[1].Attempts[0].LastWords = "<script> | [x](http://evil)\r# no"
	r.Results[1].Attempts[0].Reason = "<img> | [x](http://evil)\n# no"
	r.Results[2].Attempts[1].Reason = `~~~.txt: "Hi" isn't & \[x\](http://evil) \*`
	var out bytes.Buffer
	if err := r.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| Good | basic | passed | 2 | 1.0 | 120 | $0.25 |  |\n", "| Flaky | basic | 1 of 2 passed |", "&lt;img&gt; \\| \\[x\\](http://evil) \\# no", "\n    <script> | [x](http://evil)\n    # no\n",
		`\~\~\~.txt: "Hi" isn't &amp; \\\[x\\\](http://evil) \\\*`,
		"- x/data.json: name: is missing\n", "Passed: 2 of 4 (50 %",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// The values were computed by hand and agree with tables of the score interval.
func TestInterval(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		rate      Rate
		low, high float64
	}{{Rate{0, 0}, 0, 1}, {Rate{0, 10}, 0, 0.2775}, {Rate{10, 10}, 0.7225, 1}, {Rate{5, 10}, 0.2366, 0.7634}, {Rate{1, 1}, 0.2065, 1}, {Rate{80, 100}, 0.7112, 0.8666}} {
		if low, high := x.rate.Interval(); math.Abs(low-x.low) > 1e-4 || math.Abs(high-x.high) > 1e-4 {
			t.Errorf("%v: %.4f to %.4f, want %.4f to %.4f", x.rate, low, high, x.low, x.high)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	cost := func(dollars float64, tokens int64) Attempt {
		a := passes(1)
		a.Usage = agent.Usage{Cost: &dollars}
		if tokens > 0 {
			a.Usage = agent.Usage{Tokens: &tokens}
		}
		return a
	}
	open := Attempt{Number: 1, Status: NotJudged, Reason: "a model"}
	var attempts [][2][]Attempt
	for _, x := range [][2]Attempt{{passes(1), fails()}, {fails(), passes(1)}, {passes(1), skipped()}, {passes(1), passes(2.4)}, {passes(1), passes(1.9)}, {passes(10), passes(14)},
		{cost(1, 0), cost(1.3, 0)}, {cost(1, 0), cost(1.1, 0)}, {cost(0, 100), cost(0, 130)}, {fails(), fails()}} {
		attempts = append(attempts, [2][]Attempt{{x[0]}, {x[1]}})
	}
	attempts = append(attempts, [2][]Attempt{{passes(1), fails()}, {fails(), passes(1)}}, [2][]Attempt{{passes(1), passes(1)}, {passes(1), fails()}}, [2][]Attempt{nil, {passes(1)}}, [2][]Attempt{{passes(1)}, nil},
		[2][]Attempt{{open}, {fails()}}, [2][]Attempt{{open}, {skipped()}}, [2][]Attempt{{passes(1), skipped()}, {passes(1), passes(1)}})
	var before, after Report
	for i, x := range attempts {
		name := string(rune('A' + i))
		if x[0] != nil {
			before.Results = append(before.Results, result(name, x[0]...))
		}
		if x[1] != nil {
			after.Results = append(after.Results, result(name, x[1]...))
		}
	}
	var got []string
	for _, d := range Compare(before, after, Tolerance{Time: 1.5, Cost: 1.2}) {
		got = append(got, fmt.Sprintf("%s %s: %s", d.Change, d.Challenge, d.Text))
	}
	want := []string{
		`broken A: failed, was passed: check.py: it failed: ValueError: <no> | "1"`, `broken L: 1 of 2 passed, was 2 of 2 passed: check.py: it failed: ValueError: <no> | "1"`,
		"fixed B: passed, was failed", `flaky K: 1 of 2 passed, was 1 of 2 passed: check.py: it failed: ValueError: <no> | "1"`,
		"not judged C: skipped, was passed: depends on X", "not judged O: failed, was not judged: check.py: it failed: ValueError: <no> | \"1\"",
		"slower D: 2.4 s, was 1.0 s", "dearer G: $1.3 per attempt, was $1", "dearer I: 130 tokens per attempt, was 100", "new M: passed", "gone N: was passed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Three passes in a row are expected to continue, as in agbenchmark.
func TestHistory(t *testing.T) {
	t.Parallel()
	history := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, want := range []bool{false, false, true} {
		run, files, err := OpenRun(history, at.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		r := Report{Began: at, Results: []Result{result("A", passes(1)), result("B", passes(1), fails()), result("TestC", passes(1))}}
		if got := FindRegressions(history, r); got["A"] != want || got["B"] || got["TestC"] != want {
			t.Errorf("run %d: %v", i, got)
		}
		for _, f := range files {
			if err := f.Finish(r); err != nil {
				t.Fatal(err)
			}
		}
		if list, _ := filepath.Glob(run + "/*"); len(list) != 3 {
			t.Errorf("the run has %q", list)
		}
	}
	if _, _, err := OpenRun(history, at); err == nil {
		t.Error("two runs in one folder")
	}
}
