package bench

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
)

// benchFiles holds the output files, which are opened in advance.
type benchFiles struct {
	reports []*outfile.Report[report.Report]
	lines   *outfile.Report[report.Report] // of events, or nil
	history string
	run     string   // folder in the history, or ""
	made    []string // folders that were created
	watch   func(report.Event)
}

// open opens all output files. If one cannot be opened, it removes the others.
func (f *benchFlags) open(now time.Time) (_ *benchFiles, err error) {
	b := &benchFiles{history: f.history, watch: func(report.Event) {}}
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
	return b, b.openHistory(now)
}

// openReports opens the files of the flags.
func (b *benchFiles) openReports(f *benchFlags) error {
	var all []*outfile.Report[report.Report]
	for _, x := range []struct {
		flag, file string
		write      func(report.Report, io.Writer) error
	}{{"--jsonl", f.lines, nil}, {"--junit", f.junit, report.Report.JUnit}, {"--markdown", f.markdown, report.Report.Markdown}, {"--report", f.report, report.Report.Agbenchmark}} {
		if x.file == "" {
			continue
		}
		t, err := outfile.OpenReport(x.flag, x.file, x.write)
		if err != nil {
			return err
		}
		if all = append(all, t); x.write == nil {
			b.lines, b.watch = t, report.EventLines(t)
		} else {
			b.reports = append(b.reports, t)
		}
	}
	return outfile.Distinct(all)
}

// prepareKeep creates the folder for the agent's files. An existing folder must be empty.
func (b *benchFiles) prepareKeep(folder string) error {
	if folder == "" {
		return nil
	}
	if err := b.makeFolder(folder); err != nil {
		return fmt.Errorf("flag --keep: %w", err)
	}
	if inside, err := os.ReadDir(folder); err != nil || len(inside) > 0 {
		return errors.Join(err, fmt.Errorf("flag --keep: %s is not empty; choose a new folder", folder))
	}
	return nil
}

// makeFolder creates a folder if it does not exist. drop removes a created folder.
func (b *benchFiles) makeFolder(folder string) error {
	_, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) {
		b.made = append(b.made, folder)
	}
	return os.MkdirAll(folder, 0o755)
}

// emptyLines truncates the file of events, which is written while challenges run.
func (b *benchFiles) emptyLines() error {
	if b.lines == nil {
		return nil
	}
	return b.lines.Begin()
}

func (b *benchFiles) openHistory(now time.Time) error {
	if b.history == "" {
		return nil
	}
	if err := b.makeFolder(b.history); err != nil {
		return fmt.Errorf("the history cannot be written: %w", err)
	}
	run, files, err := report.OpenRun(b.history, now)
	b.run, b.reports = run, append(b.reports, files...)
	return err
}

// finish writes the reports.
func (b *benchFiles) finish(r report.Report) error {
	if b.history != "" {
		r.Regressions = report.FindRegressions(b.history, r)
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

// drop restores the state before open.
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
		_ = os.Remove(folder) // fails if the folder contains files
	}
	return err
}
