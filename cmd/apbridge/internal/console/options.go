package console

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ConfigFlags holds the flags that select and override a configuration.
type ConfigFlags struct {
	File     string
	listen   string
	Database string
	Agents   []string
	origins  []string
}

// Add adds the flags to a command.
func (f *ConfigFlags) Add(set *pflag.FlagSet) {
	set.VarP((*Filled)(&f.File), "config", "c", "YAML configuration `FILE` (default $APBRIDGE_CONFIG)")
	set.Var((*Filled)(&f.listen), "listen", "`ADDRESS` to listen on (default 127.0.0.1:8080)")
	set.Var((*Filled)(&f.Database), "database", "`DATABASE`, a SQLite file or PostgreSQL URL (default apbridge.db)")
	set.StringArrayVar(&f.Agents, "agent", nil, "an agent, as `NAME=URL`; repeatable")
	set.StringArrayVar(&f.origins, "cors-origin", nil, "`ORIGIN` of web pages that may call, such as http://localhost:3000, or loopback for this machine;\nrepeatable, overrides cors.origins")
}

// Filled is a flag that must not be empty, since an empty value would count as unset.
type Filled string

func (f *Filled) String() string { return string(*f) }
func (f *Filled) Type() string   { return "string" }

func (f *Filled) Set(s string) error {
	if s == "" {
		return errors.New("must not be empty; leave the flag out to use the default")
	}
	*f = Filled(s)
	return nil
}

// Load merges defaults, file, environment and flags.
func (f *ConfigFlags) Load(environ []string, warn func(config.Problem)) (*config.Config, error) {
	return f.LoadFrom(environ, warn, nil)
}

// LoadFrom is like Load but also calls read with the name and content of each file that was read.
func (f *ConfigFlags) LoadFrom(environ []string, warn func(config.Problem), read func(file string, content []byte)) (*config.Config, error) {
	o, err := f.Options(environ)
	if err != nil {
		return nil, err
	}
	o.Warn, o.Read = warn, read
	return config.Load(o)
}

// Options returns the sources of the configuration. An invalid flag is a Misuse.
func (f *ConfigFlags) Options(environ []string) (config.Options, error) {
	settings, err := f.settings()
	return config.Options{File: f.Path(environ), Environ: environ, Flags: settings, Dialects: bridge.Dialects().Names(), Aliases: bridge.Dialects().Aliases(), Path: checkItemPath}, err
}

// CompleteAgents completes the first argument with the agents of the configuration.
func (f *ConfigFlags) CompleteAgents(environ []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		cfg, err := f.Load(environ, nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Sorted(maps.Keys(cfg.Agents)), cobra.ShellCompDirectiveNoFileComp
	}
}

func checkItemPath(text string) error {
	_, err := itemquery.ParseItemPath(text)
	return err
}

// Path returns the configuration file named by the flags or the environment, or "".
func (f *ConfigFlags) Path(environ []string) string {
	return cmp.Or(f.File, Variable(environ, "APBRIDGE_CONFIG"))
}

func (f *ConfigFlags) settings() ([]config.Setting, error) {
	var list []config.Setting
	if f.listen != "" {
		list = append(list, config.Setting{Path: []string{"listen"}, Value: f.listen, From: "flag --listen"})
	}
	if f.Database != "" {
		list = append(list, config.Setting{Path: []string{"database"}, Value: f.Database, From: "flag --database"})
	}
	if len(f.origins) > 0 {
		list = append(list, config.Setting{Path: []string{"cors", "origins"}, Value: strings.Join(f.origins, ","), From: "flag --cors-origin"})
	}
	urls := map[string]string{}
	for _, a := range f.Agents {
		name, url, ok := strings.Cut(a, "=")
		if !ok {
			return nil, Misuse(fmt.Sprintf("flag --agent: %q is not NAME=URL, such as legacy=http://127.0.0.1:8000", a))
		}
		if first, twice := urls[name]; twice && first != url { // completion parses flags twice
			return nil, Misuse(fmt.Sprintf("flag --agent: %q is given twice; give each agent a different name", name))
		}
		urls[name] = url
		list = append(list, config.Setting{Path: []string{"agents", name, "url"}, Value: url, From: "flag --agent"})
	}
	return list, nil
}
