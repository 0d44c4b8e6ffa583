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

// reportFile is the name of a run's report, as agbenchmark has it.
const reportFile = "report.json"

// History is a folder with one folder for each run, named as agbenchmark names them.
type History struct{ folder string }

// OpenHistory makes the folder, if it is not there.
func OpenHistory(folder string) (*History, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("the history cannot be written: %w", err)
	}
	return &History{folder}, nil
}

// Begin makes the folder of a run that begins now, with files for its reports.
func (h *History) Begin(now time.Time) (run string, files []*Target, err error) {
	run = filepath.Join(h.folder, now.UTC().Format("20060102T150405")+"_full_run")
	if err := os.Mkdir(run, 0o755); err != nil {
		return "", nil, fmt.Errorf("the history cannot be written: %w", err)
	}
	for name, write := range map[string]func(Report, io.Writer) error{
		reportFile: Report.Agbenchmark, "report.md": Report.Markdown, "junit.xml": Report.JUnit,
	} {
		f, err := Open(filepath.Join(run, name), write)
		if err != nil {
			return "", nil, errors.Join(err, dropAll(files))
		}
		files = append(files, f)
	}
	return run, files, nil
}

func dropAll(files []*Target) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Drop())
	}
	return err
}

// lasting is how many runs in a row a challenge must have passed to be expected to, as in agbenchmark
// (update_regression_tests).
const lasting = 3

// Regressions returns the challenges of r that passed in it and in the runs before it, three in all.
func (h *History) Regressions(r Report) map[string]bool {
	runs, err := runsIn(h.folder)
	passed := map[string]int{}
	if err == nil {
		for _, run := range runs[max(0, len(runs)-lasting+1):] {
			if before, err := Read(filepath.Join(h.folder, run)); err == nil {
				count(before, passed)
			}
		}
	}
	count(r, passed)
	expected := map[string]bool{}
	for _, each := range r.Results {
		expected[each.Challenge.Name] = passed[challenge.Canonical(each.Challenge.Name)] >= lasting
	}
	return expected
}

// count adds up by canonical names: a report that was read has no others.
func count(r Report, passed map[string]int) {
	for _, each := range r.Results {
		if len(each.Attempts) > 0 && each.Count(Passed) == len(each.Attempts) {
			passed[challenge.Canonical(each.Challenge.Name)]++
		}
	}
}

// runsIn lists the folders of finished runs, the oldest first.
func runsIn(folder string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(folder, e.Name(), reportFile)); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// Target is where a report will be written. What an earlier run wrote there stays until then.
type Target struct {
	*outfile.File
	write func(Report, io.Writer) error
}

// Open opens a file for a report, so that one that cannot be written is told before hours of work.
func Open(name string, write func(Report, io.Writer) error) (*Target, error) {
	f, err := outfile.Open(name)
	if err != nil {
		return nil, err
	}
	return &Target{File: f, write: write}, nil
}

// Finish writes the report and closes the file.
func (f *Target) Finish(r Report) error {
	if err := f.Begin(); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.write(r, f.File), f.Close())
}
