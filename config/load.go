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

// Options are the sources of a configuration. Every field may be zero.
type Options struct {
	File    string    // YAML; "" means none
	Environ []string  // NAME=value, as from os.Environ
	Flags   []Setting // override all others, in order
	// Dialects are the allowed dialects of an agent in addition to auto. nil means any.
	Dialects []string
	// Aliases maps other names of an agent's dialect to those in Dialects.
	Aliases map[string]string
	// Path returns the reason why a text cannot be a path in an item's index. If it is nil, any text is accepted.
	Path func(string) error
	// Read is called with each file that was read and its content. The content is nil if the file was unreadable.
	Read func(file string, content []byte)
	// Warn receives warnings about unsafe or useless settings. It may be nil.
	Warn func(Problem)
}

// Setting is a key set outside of the file.
type Setting struct {
	Path  []string // "agents", "legacy", "url"
	Value string   // as in the environment: text, a comma-separated list, or JSON
	From  string   // "flag --agent"
}

// Load merges defaults, file, environment and flags, in that order, resolves secrets, and validates the result. The
// error is a Problems with everything that is wrong.
//
// The environment variable for a key is APBRIDGE_ followed by the key's path in upper case, joined by two underscores,
// such as APBRIDGE_AGENTS__LEGACY__URL. An empty variable counts as unset.
func Load(o Options) (*Config, error) {
	l := newLoader(o)
	if l.merge(o) {
		secretResolver{l.report, l.environ}.resolveIn("", reflect.ValueOf(l.cfg).Elem())
		l.settle(o.Aliases)
		l.validate(l.cfg, o)
	}
	return l.loaded()
}

// LoadDatabase is Load for commands that only use the database. Other parts only need a valid form, agents may be
// missing, and only the secrets of encryption are resolved.
func LoadDatabase(o Options) (*Config, error) {
	l := newLoader(o)
	if l.merge(o) {
		secretResolver{l.report, l.environ}.resolveIn("encryption", reflect.ValueOf(&l.cfg.Encryption).Elem())
		l.checkChoices("", reflect.ValueOf(l.cfg).Elem())
		databaseCheck{l.report, l.cfg}.check()
	}
	return l.loaded()
}

// merge merges the sources. It returns false if the file cannot be read, because that may explain all missing settings.
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
	if len(l.problems) > 0 {
		l.problems.sort()
		return nil, l.problems
	}
	return l.cfg, nil
}

// loader is the state of one call of Load.
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

// readFile returns false if the file cannot be read.
func (l *loader) readFile(name string) bool {
	raw, err := readBounded(name, maxFile)
	l.looked(name, raw)
	switch {
	case errors.Is(err, errTooLarge):
		l.add(Problem{Where: name, Text: "is larger than 4 MiB; is it the right one?"})
	case errors.Is(err, fs.ErrNotExist):
		l.add(Problem{Where: name, Text: "cannot be read: no such file; name another, or create it with: apbridge init --config " + name})
	case err != nil:
		l.add(Problem{Where: name, Text: "cannot be read: " + reason(err) + unreadable(err)})
	default:
		return l.readYAML(name, raw)
	}
	return false
}

// unreadable returns advice about a file that exists.
func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "; make it readable for the user that runs the bridge"
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

// readYAML returns false for invalid YAML.
func (l *loader) readYAML(name string, raw []byte) bool {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return true // nothing but comments
	case err != nil:
		l.add(Problem{Where: name, Text: "is not YAML: " + yamlFault(raw, err) + ". For a valid file to start from, run apbridge init"})
		return false
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		l.add(Problem{Where: name, Text: "contains more than one YAML document; keep one"})
	}
	d := decoder{report: l.report, from: place{name: name}, lines: true}
	d.decode("", doc.Content[0], reflect.ValueOf(l.cfg).Elem())
	return true
}

// settle derives settings from others, and replaces aliases of dialects.
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
