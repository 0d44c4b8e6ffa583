// Package doctor implements the command that checks agents and explains why one cannot be used. Package main adds it;
// bench and conformance use its functions. It only reads and creates neither runs nor tasks.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
)

// Command returns the command apbridge doctor.
func Command(p *console.Process) *cobra.Command {
	var from console.ConfigFlags
	var losses bool
	cmd := &cobra.Command{
		Use:   "doctor [URL...]",
		Short: "Check agents: reachability, dialect, unsupported features",
		Long: `doctor calls the agents at the URLs, or all agents of the configuration. It prints
whether each is reachable, its dialect, version and response time, and how many request
fields it receives exactly, approximately or not at all. For a LangGraph server it reports
whether the bridge uses its store. For a URL it also prints the configuration to use.
It starts no run and opens no database.

Exit code: 0 if every agent is usable, else 1.`,
		Example: `  apbridge doctor http://127.0.0.1:8000
  apbridge doctor --config apbridge.yaml
  apbridge doctor --agent legacy=http://127.0.0.1:8000 --losses`,
		RunE: func(cmd *cobra.Command, urls []string) error {
			cfg, err := patients(p, from, urls)
			if err != nil {
				return err
			}
			list := examineAll(cmd.Context(), cfg)
			for i := range list {
				f := &list[i]
				if len(urls) > 0 {
					f.byURL = &console.ByURL{Name: f.name, URL: f.url}
				}
				f.print(p.Out, losses)
				if len(urls) > 0 {
					f.printUse(p.Out)
				}
			}
			return unusable(list)
		},
	}
	from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&losses, "losses", false, "list each request field that the agent does not receive exactly, with the reason")
	return cmd
}

// patients returns the configuration of the agents to examine. They are the agents at the given URLs, with defaults for
// everything else, or else those from flags, file and environment.
func patients(p *console.Process, from console.ConfigFlags, urls []string) (*config.Config, error) {
	warn := func(c config.Problem) { fmt.Fprintf(p.Err, "warning: %s\n", c) }
	if len(urls) == 0 {
		return from.Load(p.Environ, warn)
	}
	if from.File != "" || len(from.Agents) > 0 {
		return nil, console.Misuse("doctor takes either URLs or the agents of a configuration (--config, --agent), not both")
	}
	for i, url := range urls {
		from.Agents = append(from.Agents, byURL(i, url).Flag())
	}
	cfg, err := from.Load(nil, warn)
	for i, url := range urls {
		err = byURL(i, url).Error(err)
	}
	return cfg, err
}

// byURL returns the agent for the nth URL.
func byURL(n int, url string) console.ByURL {
	name := "agent"
	if n > 0 {
		name += fmt.Sprint(n + 1)
	}
	return console.ByURL{Name: name, URL: url}
}

// examineAll examines all agents concurrently. The findings are sorted by name.
func examineAll(ctx context.Context, cfg *config.Config) []Finding {
	names := slices.Sorted(maps.Keys(cfg.Agents))
	list := make([]Finding, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() {
			list[i] = Examine(ctx, name, cfg)
			list[i].askVersion(ctx)
			list[i].askStore(ctx)
		})
	}
	asked.Wait()
	return list
}

func unusable(list []Finding) error {
	var bad []string
	how := "cannot be used as configured: "
	for _, f := range list {
		switch {
		case f.Err == nil:
		case f.byURL != nil:
			how = "cannot be used: "
			bad = append(bad, console.WithoutParts(f.url))
		default:
			bad = append(bad, f.name)
		}
	}
	if len(bad) > 0 {
		return errors.New(how + strings.Join(bad, ", "))
	}
	return nil
}
