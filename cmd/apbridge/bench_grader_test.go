package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
)

// scriptedGrader is an OpenAI-compatible endpoint that knows one key and always gives the same response.
func scriptedGrader(answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer very-secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[]}`)
		default:
			fmt.Fprintf(w, `{"choices":[{"message":{"content":%q}}],"usage":{"total_tokens":42}}`, answer)
		}
	})
}

// graded creates a folder with one challenge for a model for each kind of scoring.
func graded(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, scoring := range []string{"percentage", "scale", "binary"} {
		if err := os.Mkdir(filepath.Join(folder, scoring), 0o755); err != nil {
			t.Fatal(err)
		}
		rig.WriteFile(t, filepath.Join(folder, scoring, "data.json"),
			`{"name":"`+scoring+`","task":"Write 'Harbour'","ground":{"answer":"a harbour","files":[".txt"],"eval":{"type":"llm","scoring":"`+scoring+`","template":"rubric"}}}`)
	}
	return folder
}

// TestBenchGrader checks that a model judges by each kind of scoring, and that its usage is reported separately from
// the agent's.
func TestBenchGrader(t *testing.T) {
	t.Parallel()
	agent, challenges := serving(t, legacyagent.Handler()), graded(t)
	for answer, x := range map[string]struct {
		code  int
		holds []string
	}{
		"1":   {1, []string{"binary      -           passed", "scale       -           failed", "answer.txt: the grader's score is 1 of 10; more than 90 % is required", "1 passed, 2 failed, 0 skipped, 0 not judged", "; the grader used 126 tokens"}},
		"95":  {0, []string{"percentage  -           passed", "scale       -           not judged", `the grader's response "95" does not end with a score from 0 to 10`, "1 passed, 0 failed, 0 skipped, 2 not judged"}},
		"<p>": {0, []string{"0 passed, 0 failed, 0 skipped, 3 not judged", `the grader's response "<p>"`}},
	} {
		file := filepath.Join(t.TempDir(), "report.json")
		code, out, errs := command(t, []string{"GRADER_KEY=very-secret", "GRADER_MODEL=judge", "GRADER_URL=" + serving(t, scriptedGrader(answer)) + "/v1"}, "bench", agent, "--challenges", challenges, "--report", file)
		if code != x.code || strings.Contains(out+errs, "very-secret") {
			t.Errorf("%s: exit code %d, want %d: %s%s", answer, code, x.code, out, errs)
		}
		holds(t, out, x.holds...)
		r, err := report.Read(file)
		if err != nil || r.GraderTokens() == nil || *r.GraderTokens() != 126 || r.Usage().Tokens == nil || *r.Usage().Tokens == 126 {
			t.Errorf("%s: %v, tokens of the grader %v, of the agent %v", answer, err, r.GraderTokens(), r.Usage().Tokens)
		}
	}
	code, out, _ := command(t, nil, "bench", agent, "--challenges", challenges)
	if code != 0 {
		t.Errorf("without a grader: exit code %d", code)
	}
	holds(t, out, "0 passed, 0 failed, 3 skipped, 0 not judged", "none is configured (--grader-url)")
}

// TestBenchGraderRefuses checks that an unusable grader is reported before the agent is called, but only if a challenge
// needs it.
func TestBenchGraderRefuses(t *testing.T) {
	t.Parallel()
	agent := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			t.Error("a task was made")
		}
		legacyagent.Handler().ServeHTTP(w, r)
	}))
	challenges, keyed := graded(t), serving(t, scriptedGrader("1"))+"/v1"
	for _, x := range []struct {
		says string
		args []string
	}{
		{"the grader returned 401 (is GRADER_KEY right?)", []string{"--grader-url", keyed, "--grader-model", "m"}},
		{"the grader at 127.0.0.1:1 could not be reached", []string{"--grader-url", "http://127.0.0.1:1", "--grader-model", "m"}},
		{"the grader has no model", []string{"--grader-url", keyed}},
		{"has no effect without --grader-url", []string{"--grader-model", "m"}},
		{"use one such as https://api.openai.com/v1", []string{"--grader-url", "api.openai.com", "--grader-model", "m"}},
		{"set GRADER_KEY in the environment instead", []string{"--grader-url", "http://me:hunter2@127.0.0.1:1", "--grader-model", "m"}},
		{"flag --grader-timeout", []string{"--grader-url", keyed, "--grader-model", "m", "--grader-timeout", "0s"}},
	} {
		code, _, errs := command(t, nil, append([]string{"bench", agent, "--challenges", challenges}, x.args...)...)
		if code != console.ExitMisuse || !strings.Contains(errs, x.says) || strings.Contains(errs, "hunter2") {
			t.Errorf("%v: exit code %d, want 2, and %q in: %s", x.args, code, x.says, errs)
		}
	}
	plain := serving(t, legacyagent.Handler())
	if code, _, errs := command(t, nil, "bench", plain, "--only", "WriteWord", "--grader-url", "http://127.0.0.1:1", "--grader-model", "m"); code != 0 {
		t.Errorf("nothing is for a grader: exit code %d: %s", code, errs)
	}
}
