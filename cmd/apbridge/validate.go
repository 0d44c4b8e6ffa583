package main

import (
	"fmt"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/spf13/cobra"
)

func (p *program) validateCommand() *cobra.Command {
	var from console.ConfigFlags
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration and list every mistake",
		Long: `validate reads the configuration like serve (file, environment, flags, secrets,
OpenTelemetry's variables) and lists every mistake with its location and a remedy. It
starts nothing and opens no database. Use it before a start or a reload.`,
		Example: `  apbridge validate --config apbridge.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := from.Load(p.Environ, func(c config.Problem) { fmt.Fprintf(p.Err, "warning: %s\n", c) })
			if err != nil {
				return err
			}
			if _, err := trace.Read(p.Environ); err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "The configuration is valid: %d agent(s), listening on %s.\n", len(cfg.Agents), cfg.Listen)
			return nil
		},
	}
	from.Add(cmd.Flags())
	return cmd
}
