package benchmark

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Challenge is a data.json with the folders beside it.
type Challenge struct {
	EvalID       string   `json:"eval_id"`
	Name         string   `json:"name"`
	Category     []string `json:"category"`
	Task         string   `json:"task"`
	Dependencies []string `json:"dependencies"`
	Cutoff       int      `json:"cutoff"` // seconds; 0 is 60
	Ground       Ground   `json:"ground"`
	Info         Info     `json:"info"`

	in     []file // artifacts_in, uploaded before the first step
	python []file // custom_python, beside the agent's files when they are judged
}

// Ground is what makes the challenge a success.
type Ground struct {
	Answer           string   `json:"answer"` // for people, and for judges that are models
	ShouldContain    []string `json:"should_contain"`
	ShouldNotContain []string `json:"should_not_contain"`
	// Files are judged: ".txt" is every such file in the root, anything else
	// one path.
	Files         []string `json:"files"`
	CaseSensitive *bool    `json:"case_sensitive"` // nil is true
	Eval          Eval     `json:"eval"`
}

// Eval is how files are judged: file by their text, python by what they print
// when they are run, pytest by whether pytest is content, llm by a model.
type Eval struct {
	Type string `json:"type"`
}

// Info describes a challenge.
type Info struct {
	Difficulty  string   `json:"difficulty"`
	Description string   `json:"description"`
	SideEffects []string `json:"side_effects"`
}

// file is a file below one of a challenge's folders.
type file struct {
	path    string
	content []byte
}

//go:embed challenges
var own embed.FS

// Own are the challenges that come with this package.
func Own() ([]Challenge, error) { return Load(own) }

// Load reads every data.json below the root of files. It fails on the first
// that is no challenge, and when two have one name.
func Load(files fs.FS) ([]Challenge, error) {
	var list []Challenge
	seen := map[string]string{}
	err := fs.WalkDir(files, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "data.json" {
			return err
		}
		c, err := load(files, at)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if other := seen[c.Name]; other != "" {
			return fmt.Errorf("%s: the name %s is taken by %s", at, c.Name, other)
		}
		seen[c.Name] = at
		list = append(list, c)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("there is no data.json")
	}
	return list, err
}

func load(files fs.FS, at string) (c Challenge, err error) {
	raw, err := fs.ReadFile(files, at)
	if err != nil {
		return c, err
	}
	if err = json.Unmarshal(raw, &c); err != nil {
		return c, err
	}
	if err = c.check(); err != nil {
		return c, err
	}
	if c.in, err = filesBelow(files, path.Join(path.Dir(at), "artifacts_in")); err != nil {
		return c, err
	}
	c.python, err = filesBelow(files, path.Join(path.Dir(at), "custom_python"))
	return c, err
}

func (c Challenge) check() error {
	switch {
	case c.Name == "" || c.Task == "":
		return fmt.Errorf("name and task are needed")
	case c.Cutoff < 0:
		return fmt.Errorf("cutoff must not be negative")
	case !slices.Contains([]string{"file", "python", "pytest", "llm"}, c.Ground.Eval.Type):
		return fmt.Errorf("ground.eval.type is %q; file, python, pytest and llm are known", c.Ground.Eval.Type)
	}
	return nil
}

func (c Challenge) cutoff() time.Duration {
	if c.Cutoff == 0 {
		return time.Minute
	}
	return time.Duration(c.Cutoff) * time.Second
}

// filesBelow reads a folder that may be missing, in the order of the paths.
func filesBelow(files fs.FS, root string) ([]file, error) {
	var list []file
	if _, err := fs.Stat(files, root); err != nil {
		return nil, nil //nolint:nilerr // most challenges have none
	}
	err := fs.WalkDir(files, root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, at)
		list = append(list, file{strings.TrimPrefix(at, root+"/"), content})
		return err
	})
	return list, err
}

// challengeName is a name as dependencies spell it, with or without the "Test"
// that harnesses put before it.
func challengeName(dependency string) string { return strings.TrimPrefix(dependency, "Test") }

// inOrder puts challenges behind those they depend on and keeps their order
// else.
func inOrder(all []Challenge) ([]Challenge, error) {
	byName := map[string]Challenge{}
	for _, c := range all {
		byName[c.Name] = c
	}
	var order []Challenge
	state := map[string]int{} // 1: above in the chain, 2: in order
	var place func(c Challenge) error
	place = func(c Challenge) error {
		switch state[c.Name] {
		case 1:
			return fmt.Errorf("challenge %s depends on itself", c.Name)
		case 2:
			return nil
		}
		state[c.Name] = 1
		for _, name := range c.Dependencies {
			if before, ok := byName[challengeName(name)]; ok {
				if err := place(before); err != nil {
					return err
				}
			}
		}
		state[c.Name] = 2
		order = append(order, c)
		return nil
	}
	for _, c := range all {
		if err := place(c); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// Select keeps the named challenges and those they depend on. An unknown name
// is an error.
func Select(all []Challenge, names []string) ([]Challenge, error) {
	wanted := map[string]bool{}
	var want func(name string)
	want = func(name string) {
		at := slices.IndexFunc(all, func(c Challenge) bool { return c.Name == challengeName(name) })
		if at < 0 || wanted[all[at].Name] {
			return
		}
		wanted[all[at].Name] = true
		for _, before := range all[at].Dependencies {
			want(before)
		}
	}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(all, func(c Challenge) bool { return c.Name == challengeName(name) }) {
			return nil, fmt.Errorf("there is no challenge %q; there are %s", name, namesOf(all))
		}
		want(name)
	}
	return slices.DeleteFunc(slices.Clone(all), func(c Challenge) bool { return !wanted[c.Name] }), nil
}

func namesOf(all []Challenge) string {
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
