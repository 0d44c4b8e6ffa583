package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
)

func (p *program) doctorCommand() *cobra.Command {
	var from configFlags
	var losses bool
	cmd := &cobra.Command{
		Use:   "doctor [URL...]",
		Short: "Ask agents how they are, and what they cannot be told",
		Long: `doctor asks the agents at the URLs, or else every agent of the configuration,
whether they are there, which dialect they speak, what they are like and how
long a call takes, and of a LangGraph server the version. It tells what of a
client's requests each agent is told exactly, approximately or not at all, and
for a URL what to configure. It starts no run and opens no database.

The exit code is 0 when every agent can be used, else 1.`,
		Example: `  apbridge doctor http://127.0.0.1:8000
  apbridge doctor --config apbridge.yaml
  apbridge doctor --agent legacy=http://127.0.0.1:8000 --losses`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			cfg, err := p.patients(from, urls)
			if err != nil {
				return err
			}
			list := examine(cmd.Context(), cfg)
			for _, f := range list {
				f.print(p.out, losses)
				if len(urls) > 0 {
					f.printUse(p.out)
				}
			}
			return unusable(list)
		},
	}
	from.add(cmd.Flags())
	cmd.Flags().BoolVar(&losses, "losses", false, "tell for each field what becomes of it, and why")
	return cmd
}

// patients is the configuration of the agents to ask: those at the URLs with all else at its default, or
// the ones that flags, file and environment name.
func (p *program) patients(from configFlags, urls []string) (*config.Config, error) {
	unwise := func(c config.Complaint) { fmt.Fprintf(p.err, "unwise: %s\n", c) }
	if len(urls) == 0 {
		return from.load(p.environ, unwise)
	}
	if from.file != "" || len(from.agents) > 0 {
		return nil, misuse("doctor takes URLs, or agents of a configuration (--config, --agent), not both")
	}
	for i, url := range urls {
		name := "agent"
		if i > 0 {
			name += fmt.Sprint(i + 1)
		}
		from.agents = append(from.agents, name+"="+url)
	}
	return from.load(nil, unwise)
}

// examine asks all agents at once; the findings are in order of names.
func examine(ctx context.Context, cfg *config.Config) []finding {
	names := slices.Sorted(maps.Keys(cfg.Agents))
	list := make([]finding, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() {
			list[i] = examineOne(ctx, name, cfg)
			list[i].askVersion(ctx)
		})
	}
	asked.Wait()
	return list
}

func unusable(list []finding) error {
	var bad []string
	for _, f := range list {
		if f.err != nil {
			bad = append(bad, f.name)
		}
	}
	if len(bad) > 0 {
		return errors.New("cannot be used as configured: " + strings.Join(bad, ", "))
	}
	return nil
}
