// Package serve implements the command that runs the bridge. It handles the log, reloads and the supervisor. Package
// main adds it. Package bridge handles the requests.
package serve

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/spf13/cobra"
)

// program runs the command in its process.
type program struct{ *console.Process }

// Command returns the command apbridge serve.
func Command(process *console.Process) *cobra.Command {
	p := &program{process}
	var from console.ConfigFlags
	var logs console.LogFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the bridge in the foreground",
		Long: `serve runs the bridge until SIGTERM or Ctrl-C. It then waits for running work
(shutdown_grace) and leaves the rest to the next process. A second signal stops it at
once. It is ready when GET /readyz returns 200. Agents may start later.

The configuration is reloaded on SIGHUP and when its files change. The log names the
changed keys and those that need a restart.`,
		Example: `  # in front of one agent, with defaults
  apbridge serve --agent legacy=http://127.0.0.1:8000

  # from a file; the environment and flags override it
  APBRIDGE_LIMITS__BODY=4MiB apbridge serve --config apbridge.yaml --listen 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logs.Check(); err != nil {
				return err
			}
			var warnings []config.Problem
			again := &reloader{from: from, logs: logs, environ: p.Environ, systemd: newSupervisor(p.Environ), read: contents{}}
			if p.Hangups != nil {
				again.hangups = p.Hangups()
			}
			cfg, err := from.LoadFrom(p.Environ, func(c config.Problem) { warnings = append(warnings, c) }, again.read.note)
			if err != nil {
				return err
			}
			if again.switched, err = console.NewLog(p.Err, logs.Over(cfg.Log)); err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, again, warnings)
		},
	}
	from.Add(cmd.Flags())
	logs.Add(cmd.Flags())
	logs.Complete(cmd)
	return cmd
}

func (p *program) serve(ctx context.Context, cfg *config.Config, again *reloader, warnings []config.Problem) error {
	log := again.switched.Logger()
	traces, err := trace.Read(p.Environ)
	if err != nil {
		return err
	}
	for _, c := range warnings {
		log.Warn(c.String())
	}
	bridge.SweepTemporary(os.TempDir())
	app, err := bridge.New(ctx, cfg, bridge.Dialects(), log, bridge.Traced(traces))
	if err != nil {
		return err
	}
	app.Administer("/log", logHandler{again.switched})
	if at := app.Inspector(); at != "" && console.OnTerminal(p.Err) { // otherwise the URL is in the log
		app.OnServing(func() { fmt.Fprintf(p.Err, "Open %s to see runs. Press Ctrl-C to stop the bridge.\n", at) })
	}
	p.setCollector()
	again.app = app
	stop := again.attend(ctx)
	err = app.Run(ctx)
	stop()
	return errors.Join(err, app.Close())
}
