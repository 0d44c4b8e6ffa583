package judge

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Workspace is a folder with what the agent handed in. Nothing is written or read outside of it, whatever the agent
// calls its files. Not safe for concurrent use.
type workspace struct {
	dir  string
	root *os.Root
	kept bool
}

// NewWorkspace makes a temporary folder, which Close removes, or the folder keep, which stays. keep must not be there
// yet; "" is none.
func newWorkspace(keep string) (*workspace, error) {
	dir, err := makeFolder(keep)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &workspace{dir: dir, root: root, kept: keep != ""}, nil
}

// makeFolder returns the folder with its whole path: programs that run in it are told where it is.
func makeFolder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", temporary)
	}
	dir, err := filepath.Abs(keep)
	return dir, errors.Join(err, os.Mkdir(dir, 0o755))
}

// Close removes the folder, unless it is kept.
func (w *workspace) Close() error {
	err := w.root.Close()
	if w.kept {
		return err
	}
	return errors.Join(err, remove(w.dir))
}

// remove removes a folder, also where a program has locked folders below it, as the Go command locks its module cache.
func remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(at, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// maxDepth is how many folders a file may lie in. A name has room for thousands, and each costs time: os.Root opens all
// those above it anew.
const maxDepth = 100

// Write makes a file, with the folders above it, of what fill writes. A path that leads out of the folder is an error.
func (w *workspace) Write(at string, fill func(io.Writer) error) error {
	if n := strings.Count(at, "/"); n > maxDepth {
		return notKept(at, fmt.Errorf("it lies in %d folders, and at most %d are made", n, maxDepth))
	}
	if folder := path.Dir(at); folder != "." {
		if err := w.root.MkdirAll(folder, 0o700); err != nil {
			return notKept(at, err)
		}
	}
	f, err := w.root.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return notKept(at, err)
	}
	return errors.Join(fill(f), f.Close())
}

// notKept names a file once and at a bounded length, which the errors of package os do.
func notKept(at string, err error) error {
	if known := new(fs.PathError); errors.As(err, &known) {
		err = known.Err
	}
	return fmt.Errorf("the file %.200q cannot be kept: %w", at, err)
}

// text reads a file, at most limit bytes of it.
func (w *workspace) text(at string, limit int64) (string, error) {
	f, err := w.root.Open(at)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit))
	return string(raw), err
}

// matching are the files that one entry of ground.files means: of an ending every such file in the root, but for hidden
// ones, as a glob has it; else one path, which must be there.
func (w *workspace) matching(entry string) ([]string, error) {
	if !strings.HasPrefix(entry, ".") {
		at := strings.TrimPrefix(entry, "/")
		if info, err := w.root.Stat(at); err != nil || info.IsDir() {
			return nil, fmt.Errorf("there is no file %s; %s", entry, w.inventory())
		}
		return []string{at}, nil
	}
	all, err := fs.ReadDir(w.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range all {
		if name := d.Name(); !d.IsDir() && strings.HasSuffix(name, entry) && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// mostListed is how many files a reason names.
const mostListed = 10

// inventory lists the files in words.
func (w *workspace) inventory() string {
	var names []string
	_ = fs.WalkDir(w.root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, at)
		}
		return nil
	})
	switch {
	case len(names) == 0:
		return "there are no files at all"
	case len(names) > mostListed:
		return fmt.Sprintf("its files are %s and %d more", strings.Join(names[:mostListed], ", "), len(names)-mostListed)
	}
	return "its files are " + strings.Join(names, ", ")
}

// temporary is the pattern of a workspace's name.
const temporary = "apbridge-bench-*"

// abandoned is how old a workspace is when no process judges it any more.
const abandoned = 24 * time.Hour

// Sweep removes from dir the workspaces that killed processes have left. What cannot be removed is left to the next
// sweep.
func Sweep(dir string) {
	folders, _ := filepath.Glob(filepath.Join(dir, temporary))
	for _, folder := range folders {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && time.Since(info.ModTime()) > abandoned {
			_ = remove(folder)
		}
	}
}
