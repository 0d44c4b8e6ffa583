package challenge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ErrNone is the error of a folder without a data.json.
var ErrNone = errors.New("there is no data.json")

// Load reads every data.json below the root of files, at any depth. What is no challenge is a fault, and the others are
// read all the same; the error is for a folder that cannot be read or holds no data.json at all.
func Load(files fs.FS) (list []Challenge, faults []Fault, err error) {
	l := loader{files: files, taken: map[string]string{}}
	err = fs.WalkDir(files, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "data.json" {
			return err
		}
		l.add(at)
		return nil
	})
	if err == nil && len(l.list)+len(l.faults) == 0 {
		err = ErrNone
	}
	return l.list, l.faults, err
}

type loader struct {
	files  fs.FS
	taken  map[string]string // paths by name
	list   []Challenge
	faults []Fault
}

func (l *loader) add(at string) {
	c, err := l.read(at)
	if err == nil && l.taken[Canonical(c.Name)] != "" {
		err = &Fault{Field: "name", Text: fmt.Sprintf("%q is taken by %s", c.Name, l.taken[Canonical(c.Name)])}
	}
	if err != nil {
		l.faults = append(l.faults, faultOf(at, err))
		return
	}
	l.taken[Canonical(c.Name)] = at
	l.list = append(l.list, c)
}

func (l *loader) read(at string) (c Challenge, err error) {
	raw, err := fs.ReadFile(l.files, at)
	if err != nil {
		return c, err
	}
	if err := decode(raw, &c); err != nil {
		return c, err
	}
	if err := l.applySuite(path.Dir(at), &c); err != nil {
		return c, err
	}
	c.Path = at
	if err := c.check(); err != nil {
		return c, err
	}
	if c.In, err = filesBelow(l.files, path.Join(path.Dir(at), "artifacts_in")); err != nil {
		return c, err
	}
	c.Python, err = filesBelow(l.files, path.Join(path.Dir(at), "custom_python"))
	return c, err
}

func decode(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &Fault{Text: fmt.Sprintf("line %d is no JSON: %v", 1+strings.Count(string(raw[:min(int(syntax.Offset), len(raw))]), "\n"), err)}
	}
	return err
}

// filesBelow reads a folder that may be missing, in the order of the paths.
func filesBelow(files fs.FS, root string) ([]File, error) {
	var list []File
	if _, err := fs.Stat(files, root); err != nil {
		return nil, nil //nolint:nilerr // most challenges have none
	}
	err := fs.WalkDir(files, root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, at)
		list = append(list, File{strings.TrimPrefix(at, root+"/"), content})
		return err
	})
	return list, err
}
