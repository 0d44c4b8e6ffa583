package challenge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNone is the error of a folder without a data.json.
var ErrNone = errors.New("there is no data.json")

// Found is what a folder holds.
type Found struct {
	Challenges []Challenge
	Faults     []Fault
	Retired    []string // folders that agbenchmark leaves out, and so does Load
}

// Load reads every data.json below the root of files, at any depth; name is the path of the root. What is no challenge
// is a fault, and the others are read all the same. The error is for a folder that cannot be read or holds no data.json
// at all.
func Load(files fs.FS, name string) (Found, error) {
	l := loader{files: files, taken: map[string]string{}}
	err := fs.WalkDir(files, ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != "." && retired(path.Join(name, at)):
			l.Retired = append(l.Retired, at)
			return fs.SkipDir
		case !d.IsDir() && d.Name() == "data.json":
			l.add(at)
		}
		return nil
	})
	if err == nil && len(l.Challenges)+len(l.Faults) == 0 {
		err = ErrNone
	}
	if err == nil {
		err = l.markOptional()
	}
	return l.Found, err
}

// retired reports whether agbenchmark leaves a folder out: it ignores each file with challenges/deprecated or
// challenges/library in its path (builtin.py, _challenge_should_be_ignored).
func retired(folder string) bool {
	folder = filepath.ToSlash(folder)
	return strings.HasSuffix(folder, "challenges/deprecated") || strings.HasSuffix(folder, "challenges/library")
}

type loader struct {
	Found
	files fs.FS
	taken map[string]string // paths by name
}

// markOptional reads which categories are optional: agbenchmark has a list of them beside its challenges, and skips a
// challenge of one that was not asked for.
func (l *loader) markOptional() error {
	const name = "optional_categories.json"
	raw, err := fs.ReadFile(l.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var of struct {
		Names []string `json:"optional_categories"`
	}
	if err == nil {
		err = decode(raw, &of)
	}
	if err != nil {
		fault := faultOf(name, err)
		return &fault
	}
	for i := range l.Challenges {
		c := &l.Challenges[i]
		for _, name := range c.Category {
			if slices.Contains(of.Names, name) {
				c.Optional = append(c.Optional, name)
			}
		}
	}
	return nil
}

func (l *loader) add(at string) {
	c, err := l.read(at)
	if err == nil && l.taken[Canonical(c.Name)] != "" {
		err = &Fault{Field: "name", Text: fmt.Sprintf("%q is taken by %s", c.Name, l.taken[Canonical(c.Name)])}
	}
	if err != nil {
		l.Faults = append(l.Faults, faultOf(at, err))
		return
	}
	l.taken[Canonical(c.Name)] = at
	l.Challenges = append(l.Challenges, c)
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
