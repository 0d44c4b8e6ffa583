package main

import (
	"context"
	"errors"
	"os"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/spf13/cobra"
)

func (p *program) serveCommand() *cobra.Command {
	var from configFlags
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the bridge",
		Long: `serve runs the bridge in the foreground until SIGTERM or Ctrl-C, then lets
running work end (shutdown_grace) and hands the rest over to the next process.
A second signal stops it at once. SIGHUP has the configuration read again, and so
does a change of its files: agents, keys, limits, origins and the log's level are
then taken over while it serves, and the log names what needs a restart.

It is ready when GET /readyz answers 200. Agents are asked at their first run,
so they may be started later.`,
		Example: `  # in front of one agent, with everything else at its default
  apbridge serve --agent legacy=http://127.0.0.1:8000

  # from a file; flags and environment go before it
  APBRIDGE_LIMITS__BODY=4MiB apbridge serve --config apbridge.yaml --listen 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logs.check(); err != nil {
				return err
			}
			var unwise []config.Complaint
			again := &reloader{from: from, logs: logs, environ: p.environ, systemd: newSupervisor(p.environ), read: contents{}}
			if p.hangups != nil {
				again.hangups = p.hangups()
			}
			cfg, err := from.loadFrom(p.environ, func(c config.Complaint) { unwise = append(unwise, c) }, again.read.note)
			if err != nil {
				return err
			}
			if again.switched, err = newSwitchedLog(p.err, logs.over(cfg.Log)); err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, again, unwise)
		},
	}
	from.add(cmd.Flags())
	logs.add(cmd.Flags())
	logs.complete(cmd)
	return cmd
}

func (p *program) serve(ctx context.Context, cfg *config.Config, again *reloader, unwise []config.Complaint) error {
	log := again.switched.logger()
	traces, err := trace.Read(p.environ)
	if err != nil {
		return err
	}
	for _, c := range unwise {
		log.Warn(c.String())
	}
	bridge.SweepTemporary(os.TempDir())
	app, err := bridge.New(ctx, cfg, bridge.Dialects(), log, bridge.Traced(traces))
	if err != nil {
		return err
	}
	app.Administer("/log", again.switched)
	p.setCollector()
	again.app = app
	stop := again.attend(ctx)
	err = app.Run(ctx)
	stop()
	return errors.Join(err, app.Close())
}
