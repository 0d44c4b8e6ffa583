// Package serve is the command that runs the bridge: its log, its reloads, its supervisor. Package main adds it. It
// answers no request; package bridge does.
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

// program is the process around these commands.
type program struct{ *console.Process }

// Command returns the command apbridge serve.
func Command(process *console.Process) *cobra.Command {
	p := &program{process}
	var from console.ConfigFlags
	var logs console.LogFlags
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

  # from a file; flags and environment win over it
  APBRIDGE_LIMITS__BODY=4MiB apbridge serve --config apbridge.yaml --listen 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logs.Check(); err != nil {
				return err
			}
			var warnings []config.Complaint
			again := &reloader{from: from, logs: logs, environ: p.Environ, systemd: newSupervisor(p.Environ), read: contents{}}
			if p.Hangups != nil {
				again.hangups = p.Hangups()
			}
			cfg, err := from.LoadFrom(p.Environ, func(c config.Complaint) { warnings = append(warnings, c) }, again.read.note)
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

func (p *program) serve(ctx context.Context, cfg *config.Config, again *reloader, warnings []config.Complaint) error {
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
	if at := app.Inspector(); at != "" && console.OnTerminal(p.Err) { // elsewhere the log has it, in lines for programs
		app.OnServing(func() { fmt.Fprintf(p.Err, "Open %s to see what runs. Ctrl-C stops the bridge.\n", at) })
	}
	p.setCollector()
	again.app = app
	stop := again.attend(ctx)
	err = app.Run(ctx)
	stop()
	return errors.Join(err, app.Close())
}
