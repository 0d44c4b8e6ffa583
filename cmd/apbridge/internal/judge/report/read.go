package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
)

// Read reads a report.json, ours or agbenchmark's of 2024 and later. path may be the file, the folder of a run, or a
// folder of runs, of which the newest counts.
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
		return Report{}, fmt.Errorf("%s is no report.json: %w", file, err)
	}
	r := in.report()
	if len(r.Results) == 0 {
		return Report{}, fmt.Errorf("%s is no report.json: it has no tests with results, as agbenchmark writes them since 2024", file)
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
		return "", errors.Join(err, fmt.Errorf("there is no %s in %s or in a folder of it", reportFile, path))
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

// attempts reads the tries: those of a report of ours as they were, else from what agbenchmark says of them.
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
	n, _ := strconv.ParseFloat(number, 64) // of another form it is unknown
	return n
}
