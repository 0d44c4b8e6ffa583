package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// Options are what a configuration is read from. Every field may be zero.
type Options struct {
	File    string    // YAML; "": none
	Environ []string  // NAME=value, as os.Environ gives it
	Flags   []Setting // laid over all the rest, in order
	// Dialects are the names an agent's dialect may have besides auto; nil: any.
	Dialects []string
	// Aliases are other names that an agent's dialect may have, with the name of Dialects that each stands for.
	Aliases map[string]string
	// Path reports why a text is no path of an item's index; nil: any is one.
	Path func(string) error
	// Read is called with each file that was looked into, with what it held; nil where it could not be read.
	Read func(file string, content []byte)
	// Warn is told what is allowed but unsafe or useless; nil: warnings are dropped.
	Warn func(Problem)
}

// Setting is one key set from outside of the file.
type Setting struct {
	Path  []string // "agents", "legacy", "url"
	Value string   // as in the environment: text, a comma separated list, or JSON
	From  string   // "flag --agent"
}

// Load merges defaults, file, environment and flags, in that order, resolves secrets and validates. The error is
// Complaints: all of them at once.
//
// A key is named in the environment by APBRIDGE_ and its path in upper case, joined by two underscores:
// APBRIDGE_AGENTS__LEGACY__URL. An empty variable is as good as none.
func Load(o Options) (*Config, error) {
	l := newLoader(o)
	if l.merge(o) {
		secretResolver{l.report, l.environ}.resolveIn("", reflect.ValueOf(l.cfg).Elem())
		l.settle(o.Aliases)
		l.validate(l.cfg, o)
	}
	return l.loaded()
}

// LoadDatabase is Load for what uses the database alone: of the rest only the form has to be right. There may be no
// agent, and of the secrets only the keys of encryption are resolved.
func LoadDatabase(o Options) (*Config, error) {
	l := newLoader(o)
	if l.merge(o) {
		secretResolver{l.report, l.environ}.resolveIn("encryption", reflect.ValueOf(&l.cfg.Encryption).Elem())
		l.checkChoices("", reflect.ValueOf(l.cfg).Elem())
		databaseCheck{l.report, l.cfg}.check()
	}
	return l.loaded()
}

// merge lays everything over the defaults. It returns false when the file cannot be read: whatever else is missing may
// stand in it.
func (l *loader) merge(o Options) bool {
	if o.File != "" && !l.readFile(o.File) {
		return false
	}
	l.readEnviron(o.Environ)
	for _, s := range o.Flags {
		l.put(s.Path, s.Value, place{name: s.From}, exact)
	}
	return true
}

func (l *loader) loaded() (*Config, error) {
	if len(l.complaints) > 0 {
		l.complaints.sort()
		return nil, l.complaints
	}
	return l.cfg, nil
}

// loader lays what it reads over the defaults, for one call of Load.
type loader struct {
	*report
	cfg     *Config
	environ map[string]string
}

func newLoader(o Options) *loader {
	l := &loader{report: &report{places: map[string]place{}, told: o.Warn, read: o.Read}, cfg: Default(), environ: map[string]string{}}
	for _, e := range o.Environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			l.environ[name] = value
		}
	}
	return l
}

// readFile returns false when there is nothing to be read.
func (l *loader) readFile(name string) bool {
	raw, err := readBounded(name, maxFile)
	l.looked(name, raw)
	switch {
	case errors.Is(err, errTooLarge):
		l.add(Problem{Where: name, Text: "is larger than 4 MiB; is it the right one?"})
	case errors.Is(err, fs.ErrNotExist):
		l.add(Problem{Where: name, Text: "cannot be read: no such file; name another, or have one written by: apbridge init --config " + name})
	case err != nil:
		l.add(Problem{Where: name, Text: "cannot be read: " + reason(err) + unreadable(err)})
	default:
		return l.readYAML(name, raw)
	}
	return false
}

// unreadable is what to do about a file that is there.
func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "; let the user that runs the bridge read it"
	case errors.Is(err, syscall.EISDIR):
		return "; name a file in it"
	}
	return ""
}

func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// readYAML returns false for what is no YAML.
func (l *loader) readYAML(name string, raw []byte) bool {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return true // nothing but comments
	case err != nil:
		l.add(Problem{Where: name, Text: "is not YAML: " + yamlFault(raw, err) + ". apbridge init writes a file to begin with"})
		return false
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		l.add(Problem{Where: name, Text: "holds more than one YAML document; keep one"})
	}
	d := decoder{report: l.report, from: place{name: name}, lines: true}
	d.decode("", doc.Content[0], reflect.ValueOf(l.cfg).Elem())
	return true
}

// settle fills in what follows from the rest, and takes aliases of dialects for what they stand for.
func (l *loader) settle(aliases map[string]string) {
	for name, agent := range l.cfg.Agents {
		if dialect, ok := aliases[agent.Dialect]; ok {
			agent.Dialect = dialect
			l.cfg.Agents[name] = agent
		}
	}
	if l.cfg.DefaultAgent == "" && len(l.cfg.Agents) == 1 {
		for name := range l.cfg.Agents {
			l.cfg.DefaultAgent = name
		}
	}
	l.settleIndex()
}
