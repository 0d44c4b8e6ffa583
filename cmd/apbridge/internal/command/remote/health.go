package remote

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

// Health returns the command apbridge health.
func Health(p *console.Process) *cobra.Command {
	var wait time.Duration
	url := ""
	cmd := &cobra.Command{
		Use:   "health [URL]",
		Short: "Check whether a bridge is ready, or wait until it is",
		Long: `health calls GET /readyz, which needs no key. Use it as the health check of a container, or
in a script that starts a bridge.

Exit code: 0 if the bridge accepts requests, else 1.`,
		Example: `  apbridge health
  apbridge health http://127.0.0.1:9000 --wait=30s`,
		Args: cobra.MaximumNArgs(2), // the second for "--wait 30s"
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := takeWait(cmd, args, &wait)
			if err != nil {
				return err
			}
			address := cmp.Or(url, console.Variable(p.Environ, "APBRIDGE_URL"), defaultURL)
			if len(args) > 0 {
				if url != "" && url != args[0] {
					return console.Misuse("the bridge is given twice; use either URL or --url")
				}
				address = args[0]
			}
			if wait < 0 {
				return console.Misuse("flag --wait: must be at least 0, such as 30s")
			}
			c, err := api.New(address, "")
			if err != nil {
				return console.Misuse(err.Error())
			}
			if err := c.Ready(cmd.Context(), wait); err != nil {
				return err
			}
			fmt.Fprintln(p.Out, "ready")
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "`URL` of the bridge, like the argument (default $APBRIDGE_URL, else http://127.0.0.1:8080)")
	cmd.Flags().DurationVar(&wait, "wait", 0, "retry until the bridge is ready, for at most this `DURATION`; --wait alone means 1m")
	cmd.Flags().Lookup("wait").NoOptDefVal = "1m"
	return cmd
}

// takeWait reads the time of "--wait 30s", which pflag leaves among the arguments because --wait may stand alone.
func takeWait(cmd *cobra.Command, args []string, wait *time.Duration) ([]string, error) {
	for i, a := range args {
		if d, err := time.ParseDuration(a); err == nil && cmd.Flags().Changed("wait") {
			*wait, args = d, slices.Delete(slices.Clone(args), i, i+1)
			break
		}
	}
	if len(args) > 1 {
		return nil, console.WrongArguments(cmd, args)
	}
	return args, nil
}
