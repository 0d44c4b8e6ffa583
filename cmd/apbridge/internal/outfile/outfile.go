// Package outfile opens the files for reports before the work begins. The commands use it. An unwritable file is thus
// an error at once, and an earlier report stays until there is a new one. A file is never incomplete.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is the file of a future report. Not for concurrent use.
type File struct {
	*os.File
	fresh bool // the file did not exist
}

// Open opens a file for a report, and creates it if necessary.
func Open(name string) (*File, error) {
	_, err := os.Stat(name)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the report cannot be written: %w", err)
	}
	return &File{File: f, fresh: fresh}, nil
}

// Begin truncates a file before writing to it.
func (f *File) Begin() error {
	if at, err := f.Stat(); err != nil || !at.Mode().IsRegular() {
		return err // a pipe or a terminal cannot be truncated
	}
	return f.Truncate(0)
}

// Drop restores the state before Open.
func (f *File) Drop() error {
	err := f.Close()
	if f.fresh {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
