package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// reportFile is where the report will be written; nil is nowhere. What an earlier
// run wrote there stays until then.
type reportFile struct {
	*os.File
	fresh bool
}

func openReport(name string) (*reportFile, error) {
	if name == "" {
		return nil, nil
	}
	_, err := os.Stat(name)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the report cannot be written: %w. Name another file with -report", err)
	}
	return &reportFile{File: f, fresh: fresh}, nil
}

func (f *reportFile) write(r Report) error {
	if f == nil {
		return nil
	}
	if at, err := f.Stat(); err == nil && at.Mode().IsRegular() {
		if err := f.Truncate(0); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(r.JSON(f), f.Close())
}

// drop leaves everything as it was.
func (f *reportFile) drop() error {
	if f == nil {
		return nil
	}
	err := f.Close()
	if f.fresh {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
