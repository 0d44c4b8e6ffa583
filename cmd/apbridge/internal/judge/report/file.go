package report

import (
	"errors"
	"io"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
)

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
