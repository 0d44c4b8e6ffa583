package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// doctorPatience is how long one agent may take to answer.
const doctorPatience = 15 * time.Second

func (p *program) doctorCommand() *cobra.Command {
	var from configFlags
	var losses bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Ask each configured agent how it is",
		Long: `doctor asks every agent of the configuration whether it is there, which dialect
it speaks and what it is like, and tells what of a client's requests the agent
cannot be told exactly. It starts no run and opens no database.

The exit code is 0 when every agent can be used, else 1.`,
		Example: `  apbridge doctor --config apbridge.yaml
  apbridge doctor --agent legacy=http://127.0.0.1:8000 --losses`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := from.load(p.environ, func(c config.Complaint) { fmt.Fprintf(p.err, "unwise: %s\n", c) })
			if err != nil {
				return err
			}
			list := examine(cmd.Context(), cfg)
			for _, f := range list {
				f.print(p.out, losses)
			}
			return verdict(list)
		},
	}
	from.add(cmd.Flags())
	cmd.Flags().BoolVar(&losses, "losses", false, "tell for each lossy field what becomes of it, and why")
	return cmd
}

// finding is what was found out about one agent.
type finding struct {
	name, url string
	dialect   string // that it speaks
	asked     bool   // that had to be found out
	profile   string
	traits    adapter.Traits
	err       error
}

// examine asks all agents at once; the findings are in order of names.
func examine(ctx context.Context, cfg *config.Config) []finding {
	names := slices.Sorted(maps.Keys(cfg.Agents))
	list := make([]finding, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { list[i] = examineOne(ctx, name, cfg) })
	}
	asked.Wait()
	return list
}

func examineOne(ctx context.Context, name string, cfg *config.Config) finding {
	ctx, stop := context.WithTimeout(ctx, doctorPatience)
	defer stop()
	c := cfg.Agents[name]
	f := finding{name: name, url: c.URL, dialect: c.Dialect}
	if c.Dialect == "auto" {
		f.asked = true
		if f.dialect, f.err = detected(ctx, name, c, cfg.Limits); f.err != nil {
			return f
		}
		c.Dialect = f.dialect
	}
	b, err := bridge.Dialects().Dial(upstream(name, c, cfg.Limits))
	if err != nil {
		f.err = err
		return f
	}
	if t, ok := b.(adapter.Traited); ok {
		f.traits = t.Traits()
	}
	if probe, ok := b.(adapter.Prober); ok {
		f.err = probe.Probe(ctx)
	}
	if about, ok := b.(adapter.Profiled); ok && f.err == nil {
		if f.profile = about.Profile(); f.profile == "" {
			f.err = mapping.Errorf(mapping.Upstream, mapping.CodeBadUpstream,
				"A server answers at %s, but not as an agent that speaks %s does. Check agents.%s.url and agents.%s.dialect.", c.URL, c.Dialect, name, name)
		}
	}
	return f
}

func upstream(name string, c config.Agent, limits config.Limits) adapter.Upstream {
	return adapter.Upstream{Name: name, Config: c, Limits: limits, Log: zap.NewNop(), Agent: "apbridge/" + bridge.Version()}
}

// detected asks which dialect an agent speaks.
func detected(ctx context.Context, name string, c config.Agent, limits config.Limits) (string, error) {
	found := ""
	var list []adapter.Dialect
	for _, d := range bridge.Dialects().Callable() {
		dial := d.Dial
		d.Dial = func(up adapter.Upstream) (adapter.Backend, error) {
			found = d.Name
			return dial(up)
		}
		list = append(list, d)
	}
	_, err := adapter.NewAuto(upstream(name, c, limits), list).Resolve(ctx)
	return found, err
}

func (f finding) print(w io.Writer, losses bool) {
	fmt.Fprintf(w, "%s at %s\n", f.name, f.url)
	if f.err != nil {
		fmt.Fprintf(w, "  cannot be used: %s\n", mapping.Classify(f.err).Message)
		return
	}
	how := "as configured"
	if f.asked {
		how = "found out"
	}
	fmt.Fprintf(w, "  reachable   yes\n  dialect     %s (%s)\n  profile     %s\n  stepping    %s\n", f.dialect, how, f.profile, f.traits.Stepping)
	f.printLosses(w, losses)
}

// printLosses tells what the agent is told only roughly, or not at all.
func (f finding) printLosses(w io.Writer, all bool) {
	var names []string
	for _, row := range bridge.Dialects().LossTable() {
		if row.To != f.dialect || row.Fate == mapping.Exact {
			continue
		}
		names = append(names, fmt.Sprintf("%s.%s;%s", row.Request, row.Field, row.Fate))
		if all {
			fmt.Fprintf(w, "  %-13s %s %s.%s: %s\n", row.Fate, row.From, row.Request, row.Field, row.Reason)
		}
	}
	if !all {
		fmt.Fprintf(w, "  lossy       %s\n", strings.Join(names, ", "))
	}
}

func verdict(list []finding) error {
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
