package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configFlags are the flags that lead to a configuration.
type configFlags struct {
	file     string
	listen   string
	database string
	agents   []string
	origins  []string
}

func (f *configFlags) add(set *pflag.FlagSet) {
	set.VarP((*filled)(&f.file), "config", "c", "configuration file in YAML (default $APBRIDGE_CONFIG)")
	set.Var((*filled)(&f.listen), "listen", "address to listen on (default 127.0.0.1:8080)")
	set.Var((*filled)(&f.database), "database", "SQLite file (default apbridge.db)")
	set.StringArrayVar(&f.agents, "agent", nil, "an agent to stand in front of, as NAME=URL; may be repeated")
	set.StringArrayVar(&f.origins, "cors-origin", nil, "a web page that may call, like http://localhost:3000, or loopback for all of this machine;\nmay be repeated, and goes before cors.origins")
}

// filled is a flag that says something: an empty one would be taken for one that is not there.
type filled string

func (f *filled) String() string { return string(*f) }
func (f *filled) Type() string   { return "string" }

func (f *filled) Set(s string) error {
	if s == "" {
		return errors.New("it is empty; write a value, or leave the flag out for the default")
	}
	*f = filled(s)
	return nil
}

// load merges defaults, file, environment and flags.
func (f *configFlags) load(environ []string, warn func(config.Complaint)) (*config.Config, error) {
	return f.loadFrom(environ, warn, nil)
}

// loadFrom also tells which files were read, and what they held.
func (f *configFlags) loadFrom(environ []string, warn func(config.Complaint), read func(file string, content []byte)) (*config.Config, error) {
	settings, err := f.settings()
	if err != nil {
		return nil, err
	}
	return config.Load(config.Options{
		File: f.path(environ), Environ: environ, Flags: settings, Dialects: bridge.Dialects().Names(), Path: checkItemPath, Warn: warn, Read: read,
	})
}

// completeAgents offers a shell the agents of the configuration for the first argument.
func (f *configFlags) completeAgents(environ []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		cfg, err := f.load(environ, nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Sorted(maps.Keys(cfg.Agents)), cobra.ShellCompDirectiveNoFileComp
	}
}

func checkItemPath(text string) error {
	_, err := rule.ParseItemPath(text)
	return err
}

func (f *configFlags) path(environ []string) string {
	if f.file != "" {
		return f.file
	}
	for _, e := range environ {
		if file, ok := strings.CutPrefix(e, "APBRIDGE_CONFIG="); ok {
			return file
		}
	}
	return ""
}

func (f *configFlags) settings() ([]config.Setting, error) {
	var list []config.Setting
	if f.listen != "" {
		list = append(list, config.Setting{Path: []string{"listen"}, Value: f.listen, From: "flag --listen"})
	}
	if f.database != "" {
		list = append(list, config.Setting{Path: []string{"database"}, Value: f.database, From: "flag --database"})
	}
	if len(f.origins) > 0 {
		list = append(list, config.Setting{Path: []string{"cors", "origins"}, Value: strings.Join(f.origins, ","), From: "flag --cors-origin"})
	}
	urls := map[string]string{}
	for _, a := range f.agents {
		name, url, ok := strings.Cut(a, "=")
		if !ok {
			return nil, misuse(fmt.Sprintf("flag --agent: %q is not NAME=URL, for instance legacy=http://127.0.0.1:8000", a))
		}
		if first, twice := urls[name]; twice && first != url { // completion reads flags twice
			return nil, misuse(fmt.Sprintf("flag --agent: %q is given twice; give each agent a name of its own", name))
		}
		urls[name] = url
		list = append(list, config.Setting{Path: []string{"agents", name, "url"}, Value: url, From: "flag --agent"})
	}
	return list, nil
}
