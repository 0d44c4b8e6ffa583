package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// workspace is a temporary folder with what the agent handed in. Nothing can be
// written outside of it, whatever the agent calls its files.
type workspace struct {
	dir  string
	root *os.Root
}

func newWorkspace() (*workspace, error) {
	dir, err := os.MkdirTemp("", "benchmark-")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &workspace{dir: dir, root: root}, nil
}

func (w *workspace) remove() {
	_ = w.root.Close()
	_ = os.RemoveAll(w.dir)
}

func (w *workspace) write(at string, content []byte) error {
	if folder := path.Dir(at); folder != "." {
		if err := w.root.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("the artifact %q: %w", at, err)
		}
	}
	if err := w.root.WriteFile(at, content, 0o600); err != nil {
		return fmt.Errorf("the artifact %q: %w", at, err)
	}
	return nil
}

// matching are the files that one entry of ground.files means.
func (w *workspace) matching(entry string) ([]string, error) {
	if !strings.HasPrefix(entry, ".") {
		at := strings.TrimPrefix(entry, "/")
		if _, err := w.root.Stat(at); err != nil {
			return nil, fmt.Errorf("there is no file %s", entry)
		}
		return []string{at}, nil
	}
	all, err := fs.ReadDir(w.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range all { // as a glob does, without hidden files
		if name := d.Name(); !d.IsDir() && strings.HasSuffix(name, entry) && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
