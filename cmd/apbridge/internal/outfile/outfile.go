// Package outfile opens the files that reports are written to, before the work that they report on. The commands use
// it. A file that cannot be written is an error at once, and an earlier report stays until there is a new one: a file
// is never half written.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is where a report will be written. Not for concurrent use.
type File struct {
	*os.File
	fresh bool // it was not there
}

// Open opens a file for a report, and makes it where it is not there.
func Open(name string) (*File, error) {
	_, err := os.Stat(name)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the report cannot be written: %w", err)
	}
	return &File{File: f, fresh: fresh}, nil
}

// Begin empties a file that something is written to from now on.
func (f *File) Begin() error {
	if at, err := f.Stat(); err != nil || !at.Mode().IsRegular() {
		return err // a pipe or a terminal has nothing to empty
	}
	return f.Truncate(0)
}

// Drop leaves everything as it was.
func (f *File) Drop() error {
	err := f.Close()
	if f.fresh {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
