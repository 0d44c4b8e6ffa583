package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func (p *program) runCommand() *cobra.Command {
	var from configFlags
	logs := logFlags{}
	cmd := &cobra.Command{
		Use:   "run AGENT TEXT",
		Short: "Do one run and show what the agent says",
		Long: `run gives an agent one request and prints its steps as they come. AGENT is a name
of the configuration, or the URL of an agent. The bridge it goes through lives
only as long as the run, over a database of its own that is removed afterwards.

On a terminal, control characters in what the agent says are shown as \u001b and the
like; a file or a pipe gets every character as it is.

The exit code is 0 when the run succeeded. It is 1 when it failed, and when the
agent asks something back.`,
		Example: `  apbridge run http://127.0.0.1:8000 "Write the word Washington"
  apbridge run legacy "Write the word Washington" --config apbridge.yaml`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := logs.open(p.err)
			if err != nil {
				return err
			}
			agent := args[0]
			if strings.Contains(agent, "://") {
				from.agents = append(from.agents, "agent="+agent)
				agent = "agent"
			}
			cfg, err := from.load(p.environ, nil)
			if err != nil {
				return err
			}
			if _, ok := cfg.Agents[agent]; !ok {
				return fmt.Errorf("there is no agent %q in the configuration; name one of it, or give a URL", agent)
			}
			return p.once(cmd.Context(), cfg, log, agent, args[1])
		},
	}
	from.add(cmd.Flags())
	logs.add(cmd.Flags())
	cmd.Flags().Lookup("log-level").DefValue = "error"
	logs.level = "error"
	return cmd
}

// once does a run through a bridge of its own, which leaves nothing behind.
func (p *program) once(ctx context.Context, cfg *config.Config, log *zap.Logger, agent, text string) (err error) {
	bridge.SweepTemporary(os.TempDir())
	folder, err := os.MkdirTemp("", bridge.TemporaryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	a, err := bridge.New(ctx, private(cfg, folder), bridge.Dialects(), log)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- a.Run(serving) }()
	err = (&talk{out: p.out, base: a.URL()}).run(ctx, agent, text)
	stop()
	return errors.Join(err, <-served, a.Close())
}

// private is the configuration of a bridge that only this process uses.
func private(cfg *config.Config, folder string) *config.Config {
	c := *cfg
	c.Listen, c.Admin, c.Database = "127.0.0.1:0", "", filepath.Join(folder, bridge.RunDatabase)
	c.Auth, c.CORS, c.Hosts = config.Auth{}, config.CORS{}, nil
	return &c
}
