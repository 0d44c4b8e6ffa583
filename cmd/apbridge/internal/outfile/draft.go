package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Draft is a file that appears only when it is complete. Until then it has another name in the same folder. Not for
// concurrent use.
type Draft struct {
	Path string // temporary path
	name string
}

// ErrThere means that the file exists already.
var ErrThere = errors.New("it already exists")

// NewDraft creates an empty temporary file for name that only its owner may read. It fails if name exists, unless over
// is set; then the existing file stays until Keep. The caller must call Keep or Drop. If the process dies first,
// NAME.*.partial is left behind.
func NewDraft(name string, over bool) (*Draft, error) {
	if err := writable(name, over); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.partial")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be written: the folder %s does not exist; create it, or choose another file", name, filepath.Dir(name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return &Draft{Path: f.Name(), name: name}, f.Close()
}

func writable(name string, over bool) error {
	at, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot be written: %w", name, err)
	case at.IsDir():
		return fmt.Errorf("%s is a folder; choose a file in it", name)
	case !at.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; choose another", name)
	case !over:
		return fmt.Errorf("%s: %w", name, ErrThere)
	}
	return nil
}

// Keep renames the file and returns when it is on disk.
func (d *Draft) Keep() error {
	f, err := os.OpenFile(d.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close(), os.Rename(d.Path, d.name)); err != nil {
		return errors.Join(fmt.Errorf("%s could not be written: %w", d.name, err), d.Drop())
	}
	if folder, err := os.Open(filepath.Dir(d.name)); err == nil { // some systems cannot sync a folder
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// Drop removes the temporary file.
func (d *Draft) Drop() error {
	err := os.Remove(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
