package remote

import (
	"context"
	"fmt"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/talk"
	"github.com/spf13/cobra"
)

func (r *remote) runsFollow() *cobra.Command {
	s := aRun()
	s.offered = runWords("pending", "")
	return r.ofOne(s, &cobra.Command{
		Use:   "follow RUN",
		Short: "Print what a run's agent says until the run ends",
		Long: `follow prints a run's steps from its start, waits for further ones, and ends with the
run. It only reads: Ctrl-C leaves the run alone. -o json prints each event on a line.

The exit code is 0 when the run succeeded, 1 when it did not, and 130 after Ctrl-C.`,
		Example: `  apbridge runs follow RUN`,
	}, r.follow)
}

// follow prints a run until it ends. A run that did not succeed is an error.
func (r *remote) follow(ctx context.Context, c *api.Client, id string) error {
	t := &talk.Printer{Out: r.p.Out, Environ: r.p.Environ, Lines: r.json()}
	err := c.Follow(ctx, id, t.Event)
	switch {
	case err == nil && t.Fault == nil:
		return r.followed(ctx, c, id)
	case err == nil:
		return t.Fault
	case ctx.Err() != nil:
		fmt.Fprintf(r.p.Err, "apbridge: stopped following. Run %s goes on; to see it again: apbridge runs follow %s\n", id, id)
		return console.Ended(console.ExitInterrupted)
	}
	return err
}

// followed prints what has become of a run whose stream is over.
func (r *remote) followed(ctx context.Context, c *api.Client, id string) error {
	e, err := c.Explain(ctx, id)
	switch {
	case api.NotFound(err):
		return nil // a run that is removed with its end has succeeded in telling it
	case err != nil:
		return err
	}
	switch stateOf(e) {
	case "success":
		return nil
	case stateWaiting:
		return waiting(e)
	}
	return fmt.Errorf("run %s has not succeeded. %s", id, e.Message)
}

// waiting is the error of a run that asks.
func waiting(e api.Explanation) error {
	asked := "the run has stopped to be answered"
	if list, _ := e.Questions(); len(list) > 0 {
		asked = talk.Questions(list)
	}
	return fmt.Errorf("%s (answer by: apbridge runs answer %s TEXT)", asked, e.Run)
}
