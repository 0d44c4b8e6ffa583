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
		Short: "Ask whether a bridge takes requests, or wait until it does",
		Long: `health asks a bridge for GET /readyz, which needs no key: for health checks of images
without curl, and for scripts that start a bridge. The bridge is the one at the URL, which
--url names, too, else at $APBRIDGE_URL, else at ` + defaultURL + `.

The exit code is 0 when it takes requests, else 1.`,
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
					return console.Misuse("the bridge is named twice; write URL or --url")
				}
				address = args[0]
			}
			if wait < 0 {
				return console.Misuse("flag --wait: a time from 0 on is needed, as 30s")
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
	cmd.Flags().StringVar(&url, "url", "", "the bridge, as other commands name it")
	cmd.Flags().DurationVar(&wait, "wait", 0, "ask again until it does, for so long; --wait alone is a minute")
	cmd.Flags().Lookup("wait").NoOptDefVal = "1m"
	return cmd
}

// takeWait takes the time out of "--wait 30s": pflag leaves it among the arguments, since --wait may stand alone.
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
