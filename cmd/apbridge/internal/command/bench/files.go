package bench

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/progress"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// benchFiles are the files that a run writes, opened before it.
type benchFiles struct {
	reports []*report.Target
	lines   *report.Target // of events; nil for none
	history *report.History
	run     string   // folder of the history; "" for none
	made    []string // folders that were not there
	watch   func(report.Event)
}

// open opens all that is to be written, and leaves nothing behind where one cannot be.
func (f *benchFlags) open(now time.Time) (_ *benchFiles, err error) {
	b := &benchFiles{watch: func(report.Event) {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.drop())
		}
	}()
	if err := b.prepareKeep(f.keep); err != nil {
		return nil, err
	}
	if err := b.openReports(f); err != nil {
		return nil, err
	}
	return b, b.openHistory(f.history, now)
}

// openReports opens the files that flags name.
func (b *benchFiles) openReports(f *benchFlags) error {
	opened := map[string]*report.Target{} // by flag
	for _, x := range []struct {
		flag, file string
		write      func(report.Report, io.Writer) error
	}{{"--report", f.report, report.Report.Agbenchmark}, {"--junit", f.junit, report.Report.JUnit}, {"--markdown", f.markdown, report.Report.Markdown}, {"--jsonl", f.lines, nil}} {
		if x.file == "" {
			continue
		}
		t, err := report.Open(x.file, x.write)
		if err != nil {
			return err
		}
		b.add(t, x.write == nil)
		opened[x.flag] = t
	}
	return distinct(opened)
}

// add takes a file that was opened; of events are written as they happen.
func (b *benchFiles) add(t *report.Target, ofEvents bool) {
	if !ofEvents {
		b.reports = append(b.reports, t)
		return
	}
	b.lines, b.watch = t, progress.Lines(t)
}

// distinct refuses two flags with one file, in which only the last report would be left. Pipes and devices take
// several.
func distinct(opened map[string]*report.Target) error {
	flags := slices.Sorted(maps.Keys(opened))
	for i, one := range flags {
		for _, other := range flags[:i] {
			a, errA := opened[one].Stat()
			b, errB := opened[other].Stat()
			switch {
			case errA != nil || errB != nil:
				return errors.Join(errA, errB)
			case a.Mode().IsRegular() && os.SameFile(a, b):
				return fmt.Errorf("flags %s and %s name the same file", other, one)
			}
		}
	}
	return nil
}

// prepareKeep makes the folder for the agent's files. What is there already stays as it is.
func (b *benchFiles) prepareKeep(folder string) error {
	if folder == "" {
		return nil
	}
	if err := b.makeFolder(folder); err != nil {
		return fmt.Errorf("flag --keep: %w", err)
	}
	if inside, err := os.ReadDir(folder); err != nil || len(inside) > 0 {
		return errors.Join(err, fmt.Errorf("flag --keep: %s is not empty; name a new folder", folder))
	}
	return nil
}

// makeFolder makes a folder that drop removes, if it is not there.
func (b *benchFiles) makeFolder(folder string) error {
	_, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) {
		b.made = append(b.made, folder)
	}
	return os.MkdirAll(folder, 0o755)
}

// emptyLines empties what is written to while challenges run.
func (b *benchFiles) emptyLines() error {
	if b.lines == nil {
		return nil
	}
	return b.lines.Begin()
}

func (b *benchFiles) openHistory(folder string, now time.Time) (err error) {
	if folder == "" {
		return nil
	}
	if err := b.makeFolder(folder); err != nil {
		return fmt.Errorf("the history cannot be written: %w", err)
	}
	if b.history, err = report.OpenHistory(folder); err != nil {
		return err
	}
	run, files, err := b.history.Begin(now)
	b.run, b.reports = run, append(b.reports, files...)
	return err
}

// finish writes the reports.
func (b *benchFiles) finish(r report.Report) error {
	if b.history != nil {
		r.Regressions = b.history.Regressions(r)
	}
	var errs []error
	for _, f := range b.reports {
		errs = append(errs, f.Finish(r))
	}
	if b.lines != nil {
		errs = append(errs, b.lines.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return console.Misuse(fmt.Sprintf("a report could not be written: %v", err))
	}
	return nil
}

// drop leaves every file as it was.
func (b *benchFiles) drop() (err error) {
	for _, f := range b.reports {
		err = errors.Join(err, f.Drop())
	}
	if b.lines != nil {
		err = errors.Join(err, b.lines.Drop())
	}
	if b.run != "" {
		err = errors.Join(err, os.Remove(b.run))
	}
	for _, folder := range b.made {
		_ = os.Remove(folder) // one that something was put into stays
	}
	return err
}
