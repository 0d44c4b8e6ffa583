package challenge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// ErrNone is the error for a folder without a data.json.
var ErrNone = errors.New("there is no data.json")

// Found holds the contents of a folder.
type Found struct {
	Challenges []Challenge
	Faults     []Fault
	Retired    []string // folders that agbenchmark and Load ignore
}

// Load reads every data.json in files, at any depth. name is the path of the root. An invalid data.json is a Fault.
// Load fails if the folder cannot be read, or with ErrNone if it has no data.json.
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

// retired reports whether agbenchmark ignores a folder: challenges/deprecated and challenges/library (builtin.py,
// _challenge_should_be_ignored).
func retired(folder string) bool {
	folder = filepath.ToSlash(folder)
	return strings.HasSuffix(folder, "challenges/deprecated") || strings.HasSuffix(folder, "challenges/library")
}

type loader struct {
	Found
	files fs.FS
	taken map[string]string // paths by name
}

// markOptional reads agbenchmark's list of categories that run only if they are selected.
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
		err = &Fault{Field: "name", Text: fmt.Sprintf("%q is already used by %s", c.Name, l.taken[Canonical(c.Name)])}
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
		return &Fault{Text: fmt.Sprintf("line %d is not JSON: %v", 1+strings.Count(string(raw[:min(int(syntax.Offset), len(raw))]), "\n"), err)}
	}
	return err
}

// filesBelow reads a folder that may be missing, in order of the paths.
func filesBelow(files fs.FS, root string) ([]File, error) {
	var list []File
	if _, err := fs.Stat(files, root); errors.Is(err, fs.ErrNotExist) { // as for most challenges
		return nil, nil
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

// suite is a suite.json of agbenchmark before October 2023, with common values of the challenges below it. In
// agbenchmark, challenges with same_task shared one run of the agent. Here each has its own run, with the same verdict.
type suite struct {
	Task         string   `json:"task"`
	Cutoff       int      `json:"cutoff"`
	Dependencies []string `json:"dependencies"`
	Category     []string `json:"shared_category"`
}

// applySuite adds the values of the suite.json above the challenge's folder, if there is one.
func (l *loader) applySuite(folder string, c *Challenge) error {
	at := path.Join(path.Dir(folder), "suite.json")
	raw, err := fs.ReadFile(l.files, at)
	if folder == "." || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s suite
	if err == nil {
		err = decode(raw, &s)
	}
	if err != nil {
		f := faultOf(at, err)
		return &f
	}
	if c.Task == "" {
		c.Task = s.Task
	}
	if c.Cutoff == 0 {
		c.Cutoff = s.Cutoff
	}
	c.Dependencies = append(c.Dependencies, s.Dependencies...)
	c.Category = append(c.Category, s.Category...)
	return nil
}

// Fault is the error for an invalid file.
type Fault struct {
	File  string `json:"file"`
	Field string `json:"field,omitempty"` // such as ground.eval.type; "" for the whole file
	Text  string `json:"text"`
}

func (f *Fault) Error() string {
	var parts []string
	for _, s := range []string{f.File, f.Field, f.Text} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

func faultOf(file string, err error) Fault {
	var known *Fault
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &known) && known.File == "":
		return Fault{File: file, Field: known.Field, Text: known.Text}
	case errors.As(err, &known):
		return *known
	case errors.As(err, &kind):
		return Fault{File: file, Field: kind.Field, Text: fmt.Sprintf("is a JSON %s, not %s", kind.Value, wanted(kind.Type))}
	}
	return Fault{File: file, Text: err.Error()}
}

// wanted returns the JSON name of a Go type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list of strings"
	case reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	}
	return "a string"
}

// check returns a *Fault for the first invalid field.
func (c Challenge) check() error {
	kinds := []string{ByText, ByOutput, ByPytest, ByModel}
	kind := c.Ground.Eval.Type
	scorings, templates := []string{Percentage, Scale, Binary}, []string{Rubric, Reference, Question}
	for _, x := range []struct {
		wrong       bool
		field, text string
	}{
		{c.Name == "", "name", "is missing"},
		{c.Task == "", "task", "is missing; it is the prompt for the agent"},
		{c.Cutoff < 0, "cutoff", "is negative; it is a number of seconds, and 0 means 60"},
		{!slices.Contains(kinds, kind), "ground.eval.type", oneOf(kind, kinds)},
		{len(c.Ground.Files) == 0 && kind != ByPytest, "ground.files", "is empty, so nothing would be judged; add a file name, or an extension such as .txt"},
		{slices.Contains(c.Ground.Files, ""), "ground.files", "has an empty name"},
		{kind == ByModel && !slices.Contains(scorings, c.Ground.Eval.Scoring), "ground.eval.scoring", oneOf(c.Ground.Eval.Scoring, scorings)},
		{kind == ByModel && !slices.Contains(templates, c.Ground.Eval.Template), "ground.eval.template", oneOf(c.Ground.Eval.Template, templates)},
	} {
		if x.wrong {
			return &Fault{Field: x.field, Text: x.text}
		}
	}
	return nil
}

func oneOf(is string, known []string) string {
	if is == "" {
		return "is missing; it is one of " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("is %q; it is one of %s", is, strings.Join(known, ", "))
}
