package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
)

// Types of agbenchmark's report.json (agbenchmark/reports/processing/report_types.py, filled in by SessionReportManager
// and add_test_result_to_report). Additional values are in metadata.
type (
	agReport struct {
		Command       string            `json:"command"`
		Completion    string            `json:"completion_time"`
		Start         string            `json:"benchmark_start_time"`
		Metrics       agOverall         `json:"metrics"`
		Config        map[string]string `json:"config"`
		AgentCommit   string            `json:"agent_git_commit_sha"`
		BenchmarkSHA  string            `json:"benchmark_git_commit_sha"`
		RepositoryURL *string           `json:"repo_url"`
		Tests         map[string]agTest `json:"tests"`
	}
	agOverall struct {
		RunTime   string  `json:"run_time"`
		Highest   string  `json:"highest_difficulty"`
		TotalCost float64 `json:"total_cost"`
	}
	agTest struct {
		Category    []string   `json:"category"`
		Difficulty  *string    `json:"difficulty"`
		DataPath    string     `json:"data_path"`
		Description string     `json:"description"`
		Task        string     `json:"task"`
		Answer      string     `json:"answer"`
		Metrics     agMetrics  `json:"metrics"`
		Results     []agResult `json:"results"`
		Metadata    agMetadata `json:"metadata"`
	}
	agMetrics struct {
		Attempted  bool `json:"attempted"`
		Regression bool `json:"is_regression"`
		// agbenchmark writes Success by the field's name and reads it by its alias.
		Success    *float64 `json:"success_percentage"`
		SuccessToo *float64 `json:"success_%"`
	}
	agResult struct {
		Success *bool             `json:"success"`
		RunTime *string           `json:"run_time"`
		Why     *string           `json:"fail_reason"`
		Cutoff  *bool             `json:"reached_cutoff"`
		Steps   *int              `json:"n_steps"`
		Answers []json.RawMessage `json:"steps"`
		Cost    *float64          `json:"cost"`
	}
	agMetadata struct {
		Ours *ours `json:"apbridge,omitempty"`
	}
	ours struct {
		Attempts []Attempt `json:"attempts"`
	}
)

// Agbenchmark writes the report as agbenchmark's report.json.
func (r Report) Agbenchmark(w io.Writer) error {
	out := agReport{
		Command: r.Command, Start: stamp(r.Began), Completion: stamp(r.Began.Add(seconds(r.Seconds))),
		Metrics:     agOverall{RunTime: runTime(r.Seconds, 2), Highest: r.highest()},
		Config:      map[string]string{"host": r.URL},
		AgentCommit: "---", BenchmarkSHA: "---", Tests: map[string]agTest{},
	}
	if cost := r.Usage().Cost; cost != nil {
		out.Metrics.TotalCost = *cost
	}
	for _, each := range r.Results {
		out.Tests[strings.TrimPrefix(each.Challenge.Name, "Test")] = each.agbenchmark(r.Regressions[each.Challenge.Name])
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	return e.Encode(out)
}

func (r Result) agbenchmark(regression bool) agTest {
	c := r.Challenge
	t := agTest{
		Category: orEmpty(c.Category), DataPath: path.Clean(c.Path), Description: c.Info.Description, Task: c.Task, Answer: c.Ground.Answer,
		Metrics: agMetrics{Regression: regression}, Metadata: agMetadata{&ours{r.Attempts}},
	}
	if c.Info.Difficulty != "" {
		t.Difficulty = &c.Info.Difficulty
	}
	for _, a := range r.Attempts {
		t.Results = append(t.Results, a.agbenchmark())
		t.Metrics.Attempted = a.Status != Skipped // of the last one, as in agbenchmark
	}
	share := 100 * float64(r.Count(Passed)) / float64(len(r.Attempts))
	t.Metrics.Success, t.Metrics.SuccessToo = &share, &share
	return t
}

func (a Attempt) agbenchmark() agResult {
	passed, took := a.Status == Passed, runTime(a.Seconds, 3)
	r := agResult{Success: &passed, RunTime: &took, Cutoff: &a.TimedOut, Answers: orEmpty(a.Answers), Cost: a.Usage.Cost}
	if a.Status == NotJudged {
		r.Success = nil
	}
	if !passed {
		r.Why = &a.Reason
	}
	if a.Status != Skipped || a.Steps > 0 {
		r.Steps = &a.Steps
	}
	return r
}

func orEmpty[E any](list []E) []E {
	if list == nil {
		return []E{}
	}
	return list
}

// levels are agbenchmark's difficulties, lowest first (agbenchmark/utils/data_types.py).
var levels = [...]string{"interface", "basic", "novice", "intermediate", "advanced", "expert", "human"}

// highest returns the difficulty of the hardest challenge with a passed attempt.
func (r Report) highest() string {
	best := -1
	for _, each := range r.Results {
		for level, name := range levels {
			if each.Count(Passed) > 0 && name == strings.ToLower(each.Challenge.Info.Difficulty) {
				best = max(best, level)
			}
		}
	}
	if best < 0 {
		return "No successful tests"
	}
	return levels[best] + ": " + strconv.Itoa(best+1)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05+00:00") }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// runTime formats seconds as Python does, rounded to digits after the point.
func runTime(s float64, digits int) string {
	scale := math.Pow10(digits)
	text := strconv.FormatFloat(math.Round(s*scale)/scale, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text + " seconds"
}

// Read reads a report.json of this program, or of agbenchmark since 2024. path is the file, the folder of a run, or a
// folder of runs, in which it reads the newest.
func Read(path string) (Report, error) {
	file, err := find(path)
	if err != nil {
		return Report{}, err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return Report{}, err
	}
	var in agReport
	if err := json.Unmarshal(raw, &in); err != nil {
		return Report{}, fmt.Errorf("%s is not a report.json: %w", file, err)
	}
	r := in.report()
	if len(r.Results) == 0 {
		return Report{}, fmt.Errorf("%s is not a report.json: it has no tests with results in agbenchmark's format of 2024", file)
	}
	return r, nil
}

func find(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, err
	}
	if file := filepath.Join(path, reportFile); exists(file) {
		return file, nil
	}
	runs, err := runsIn(path)
	if err != nil || len(runs) == 0 {
		return "", errors.Join(err, fmt.Errorf("there is no %s in %s or its folders", reportFile, path))
	}
	return filepath.Join(path, runs[len(runs)-1], reportFile), nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

func (in agReport) report() (r Report) {
	r.Command, r.URL = in.Command, in.Config["host"]
	r.Seconds = secondsOf(&in.Metrics.RunTime)
	for name, t := range in.Tests {
		if len(t.Results) == 0 {
			continue
		}
		c := challenge.Challenge{Name: name, Category: t.Category, Task: t.Task, Path: t.DataPath}
		if t.Difficulty != nil {
			c.Info.Difficulty = *t.Difficulty
		}
		r.Results = append(r.Results, Result{Challenge: c, Attempts: t.attempts()})
	}
	slices.SortFunc(r.Results, func(a, b Result) int { return strings.Compare(a.Challenge.Name, b.Challenge.Name) })
	return r
}

// attempts prefers our own metadata, which has more fields.
func (t agTest) attempts() (list []Attempt) {
	if t.Metadata.Ours != nil && len(t.Metadata.Ours.Attempts) == len(t.Results) {
		return t.Metadata.Ours.Attempts
	}
	for i, x := range t.Results {
		a := Attempt{Number: i + 1, Status: NotJudged, Seconds: secondsOf(x.RunTime)}
		switch {
		case !t.Metrics.Attempted:
			a.Status = Skipped
		case x.Success != nil && *x.Success:
			a.Status = Passed
		case x.Success != nil:
			a.Status = Failed
		}
		if x.Why != nil {
			a.Reason = *x.Why
		}
		if x.Steps != nil {
			a.Steps = *x.Steps
		}
		a.Usage.Cost = x.Cost
		list = append(list, a)
	}
	return list
}

func secondsOf(text *string) float64 {
	if text == nil {
		return 0
	}
	number, _, _ := strings.Cut(*text, " ")
	n, _ := strconv.ParseFloat(number, 64) // 0 if unknown
	return n
}
