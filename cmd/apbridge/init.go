package main

import (
	"bytes"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"

	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	text "text/template"

	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
)

// starterFile is the template of a first configuration. It has the keys that beginners change first.
//
//go:embed starter.yaml.tmpl
var starterFile string

func (p *program) initCommand() *cobra.Command {
	var file string
	var agents []string
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first configuration",
		Long: `init writes a commented configuration for the given agents, and a JSON Schema that lets
editors complete and check its keys. config.example.yaml lists every key. An existing
configuration is kept unless you pass --force.`,
		Example: `  apbridge init --agent legacy=http://127.0.0.1:8000
  apbridge init --agent legacy=http://127.0.0.1:8000 --config -     # standard output`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if file == "-" {
				written, err := starter(agents, "")
				if err != nil {
					return err
				}
				_, err = p.Out.Write(written)
				return err
			}
			beside := strings.TrimSuffix(file, filepath.Ext(file)) + ".schema.json"
			written, err := starter(agents, filepath.Base(beside))
			if err != nil {
				return err
			}
			if err := writeNew(file, written, force); err != nil {
				return err
			}
			if err := os.WriteFile(beside, []byte(config.Schema()), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "Wrote %s. Next:\n\n  apbridge doctor --config %s\n  apbridge serve --config %s\n", file, file, file)
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "apbridge.yaml", "`FILE` to write; - is standard output")
	cmd.Flags().StringArrayVar(&agents, "agent", nil, "an agent, as `NAME=URL`; repeatable")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return cmd
}

func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the configuration's JSON Schema",
		Long: `schema prints the JSON Schema of this version's configuration for editors. init writes it
with the configuration; run schema again after an upgrade.`,
		Example: `  apbridge schema > apbridge.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.Out, config.Schema())
			return err
		},
	}
}

// starter returns the configuration for the given agents, validated as by serve. Its first line names the schema file
// for editors unless that is "".
func starter(flags []string, schema string) ([]byte, error) {
	type agent struct{ Name, URL string }
	var list []agent
	for _, f := range flags {
		name, url, ok := strings.Cut(f, "=")
		if !ok {
			return nil, console.Misuse(fmt.Sprintf("flag --agent: %q is not NAME=URL, such as legacy=http://127.0.0.1:8000", f))
		}
		list = append(list, agent{name, url})
	}
	if len(list) == 0 {
		list = append(list, agent{"legacy", "http://127.0.0.1:8000"})
	}
	given := console.ConfigFlags{Agents: flags}
	if len(flags) > 0 {
		if _, err := given.Load(nil, func(config.Problem) {}); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	t, err := text.New("starter").Parse(starterFile)
	if err != nil {
		return nil, err
	}
	err = t.Execute(&b, struct {
		Agents        []agent
		First, Schema string
	}{list, list[0].Name, schema})
	return b.Bytes(), err
}

func writeNew(file string, content []byte, force bool) error {
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(file, how, 0o600) // secrets may be added later
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists; choose another file with --config, or overwrite it with --force", file)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; choose another file with --config", file, console.ReasonOf(err))
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
