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
		Short: "Print a run's output until it ends",
		Long: `follow prints a run's steps from its start until the run ends. Ctrl-C stops only the
output. -o json prints each event as a line.

Exit code: 0 if the run succeeded, 1 if not, 130 after Ctrl-C.`,
		Example: `  apbridge runs follow RUN`,
	}, r.follow)
}

// follow prints a run until it ends. It returns an error if the run did not succeed.
func (r *remote) follow(ctx context.Context, c *api.Client, id string) error {
	t := &talk.Printer{Out: r.p.Out, Environ: r.p.Environ, Lines: r.json()}
	err := c.Follow(ctx, id, t.Event)
	switch {
	case err == nil && t.Fault == nil:
		return r.followed(ctx, c, id)
	case err == nil:
		return t.Fault
	case ctx.Err() != nil:
		fmt.Fprintf(r.p.Err, "apbridge: stopped following. Run %s continues; to follow it again: apbridge runs follow %s\n", id, id)
		return console.Ended(console.ExitInterrupted)
	}
	return err
}

// followed prints the outcome of a run whose stream has ended.
func (r *remote) followed(ctx context.Context, c *api.Client, id string) error {
	e, err := c.Explain(ctx, id)
	switch {
	case api.NotFound(err):
		return nil // a run that is deleted when it ends was successful
	case err != nil:
		return err
	}
	switch stateOf(e) {
	case "success":
		return nil
	case stateWaiting:
		return waiting(e)
	}
	return fmt.Errorf("run %s did not succeed. %s", id, e.Message)
}

// waiting returns the error of a run that is waiting for an answer.
func waiting(e api.Explanation) error {
	asked := "the run is waiting for an answer"
	if list, _ := e.Questions(); len(list) > 0 {
		asked = talk.Questions(list)
	}
	return fmt.Errorf("%s (to answer: apbridge runs answer %s TEXT)", asked, e.Run)
}
