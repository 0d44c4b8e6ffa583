package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
)

// A history is a folder with one folder for each run, named as agbenchmark names them.

// reportFile is agbenchmark's name for a run's report.
const reportFile = "report.json"

// OpenRun creates the folder of a run in a history, with files for its reports.
func OpenRun(history string, now time.Time) (run string, files []*outfile.Report[Report], err error) {
	run = filepath.Join(history, now.UTC().Format("20060102T150405")+"_full_run")
	if err := os.Mkdir(run, 0o755); err != nil {
		return "", nil, fmt.Errorf("the history cannot be written: %w", err)
	}
	for name, write := range map[string]func(Report, io.Writer) error{
		reportFile: Report.Agbenchmark, "report.md": Report.Markdown, "junit.xml": Report.JUnit,
	} {
		f, err := outfile.OpenReport("--history", filepath.Join(run, name), write)
		if err != nil {
			for _, f := range files {
				err = errors.Join(err, f.Drop())
			}
			return "", nil, err
		}
		files = append(files, f)
	}
	return run, files, nil
}

// regressionRuns is the number of consecutive passed runs after which a challenge is expected to pass, as in
// agbenchmark (update_regression_tests).
const regressionRuns = 3

// FindRegressions reports for each challenge of r whether it passed in r and in the runs before it in a history.
func FindRegressions(history string, r Report) map[string]bool {
	runs, _ := runsIn(history) // what cannot be read does not count
	passed := map[string]int{}
	for _, run := range runs[max(0, len(runs)-regressionRuns+1):] {
		if before, err := Read(filepath.Join(history, run)); err == nil {
			countPassed(before, passed)
		}
	}
	countPassed(r, passed)
	expected := map[string]bool{}
	for _, each := range r.Results {
		expected[each.Challenge.Name] = passed[challenge.Canonical(each.Challenge.Name)] >= regressionRuns
	}
	return expected
}

// countPassed counts by canonical names, since a report that was read has only those.
func countPassed(r Report, passed map[string]int) {
	for _, each := range r.Results {
		if len(each.Attempts) > 0 && each.Count(Passed) == len(each.Attempts) {
			passed[challenge.Canonical(each.Challenge.Name)]++
		}
	}
}

// runsIn lists the folders of finished runs, oldest first.
func runsIn(history string) (names []string, err error) {
	entries, err := os.ReadDir(history)
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(history, e.Name(), reportFile)); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}
