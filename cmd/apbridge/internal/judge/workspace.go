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

// workspace is a folder with the agent's files. Nothing outside it is written or read, whatever the names of the files.
// Not safe for concurrent use.
type workspace struct {
	dir  string
	root *os.Root
	kept bool
}

// newWorkspace creates the folder keep, which must not exist yet and is not removed by Close. If keep is "", it creates
// a temporary folder.
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

// makeFolder returns an absolute path, since it goes into the environment of programs.
func makeFolder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", temporary)
	}
	dir, err := filepath.Abs(keep)
	return dir, errors.Join(err, os.Mkdir(dir, 0o755))
}

// Close removes the folder unless it is kept.
func (w *workspace) Close() error {
	err := w.root.Close()
	if w.kept {
		return err
	}
	return errors.Join(err, remove(w.dir))
}

// remove also removes read-only folders, such as Go's module cache.
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

// maxDepth bounds the folders above a file. A name has room for thousands, and os.Root opens each one again and again.
const maxDepth = 100

// Write creates a file and the folders above it, with the content that fill writes. It fails if the path leads out of
// the workspace.
func (w *workspace) Write(at string, fill func(io.Writer) error) error {
	if n := strings.Count(at, "/"); n > maxDepth {
		return notKept(at, fmt.Errorf("it is in %d nested folders; at most %d are allowed", n, maxDepth))
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

// notKept returns an error with the shortened file name. Errors of package os would repeat the whole name.
func notKept(at string, err error) error {
	if known := new(fs.PathError); errors.As(err, &known) {
		err = known.Err
	}
	return fmt.Errorf("the file %.200q cannot be saved: %w", at, err)
}

// text reads at most limit bytes of a file.
func (w *workspace) text(at string, limit int64) (string, error) {
	f, err := w.root.Open(at)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit))
	return string(raw), err
}

// matching returns the files that match an entry of ground.files. For an extension, these are the files in the root
// with that extension that are not hidden, as with a glob. Any other entry is one path, which must exist.
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

// mostListed bounds the number of files listed in a reason.
const mostListed = 10

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
		return fmt.Sprintf("the files are %s and %d more", strings.Join(names[:mostListed], ", "), len(names)-mostListed)
	}
	return "the files are " + strings.Join(names, ", ")
}

const (
	temporary = "apbridge-bench-*" // the pattern of a workspace's name
	abandoned = 24 * time.Hour     // the age at which no process uses a workspace any more
)

// Sweep removes workspaces that killed processes have left behind in dir. If that fails, the next sweep tries again.
func Sweep(dir string) {
	folders, _ := filepath.Glob(filepath.Join(dir, temporary))
	for _, folder := range folders {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && time.Since(info.ModTime()) > abandoned {
			_ = remove(folder)
		}
	}
}
