package remote

import (
	"context"
	"fmt"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

// Runs returns the command apbridge runs.
func Runs(p *console.Process) *cobra.Command {
	r := &remote{p: p}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, explain, follow, answer and cancel the runs of a bridge",
		Long: `runs asks a bridge that serves for its runs, of threads and of tasks. A run's state is

  queued        it has not begun: runs show says what it waits for
  running       an agent works on it
  parked        it has done a step, and waits for its client to ask for the next
  waiting       it asks something: runs answer goes on
  interrupted   it was cancelled, or what it asked is answered
  success, error, timeout

The bridge is named by --url or APBRIDGE_URL, its key by APBRIDGE_KEY.`,
		Example: `  apbridge runs ls --state waiting
  apbridge runs show RUN
  apbridge runs answer RUN "the blue one"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.add(cmd)
	cmd.AddCommand(r.runsLs(), r.runsShow(), r.runsExplain(), r.runsFollow(), r.runsCancel(), r.runsAnswer(), r.runsCurl())
	return cmd
}

// ofOne is a command about one run or thread.
func (r *remote) ofOne(cmd *cobra.Command, offered words, do func(ctx context.Context, c *api.Client, id string) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = r.completed(1, offered)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args[0])
	}
	return cmd
}

func (r *remote) runsExplain() *cobra.Command {
	return r.ofOne(&cobra.Command{
		Use:   "explain RUN",
		Short: "Say why a run is where it is",
		Long: `explain says in a sentence what a run waits for or how it ended, and prints the
questions that it asks. -o json has all that the bridge knows of it.`,
		Example: `  apbridge runs explain RUN`,
	}, runWords(), func(ctx context.Context, c *api.Client, id string) error {
		e, err := c.Explain(ctx, id)
		if err != nil {
			return err
		}
		if r.json() {
			return r.printJSON(e.Whole)
		}
		fmt.Fprintln(r.p.Out, e.Message)
		printQuestions(r.p.Out, e)
		return nil
	})
}

func (r *remote) runsCancel() *cobra.Command {
	rollback := false
	cmd := r.ofOne(&cobra.Command{
		Use:   "cancel RUN",
		Short: "Stop a run and wait until it has ended",
		Long: `cancel stops a run, tells its agent where that can be told, and returns when the
run has ended. A run that has ended already is left as it is.`,
		Example: `  apbridge runs cancel RUN
  apbridge runs cancel RUN --rollback     # and remove all it did`,
	}, runWords("pending"), func(ctx context.Context, c *api.Client, id string) error {
		if err := c.Cancel(ctx, id, rollback); err != nil {
			return err
		}
		return r.cancelled(ctx, c, id, rollback)
	})
	cmd.Flags().BoolVar(&rollback, "rollback", false, "remove the run and what it did to its thread")
	return cmd
}

// cancelled prints what is left of the run.
func (r *remote) cancelled(ctx context.Context, c *api.Client, id string, rollback bool) error {
	run, err := c.Run(ctx, id)
	if api.NotFound(err) && rollback {
		if r.json() {
			return r.printJSON(map[string]string{"run_id": id, "state": "removed"})
		}
		fmt.Fprintf(r.p.Out, "run %s is removed\n", id)
		return nil
	}
	if err != nil {
		return err
	}
	if r.json() {
		return r.printJSON(run.Whole)
	}
	fmt.Fprintf(r.p.Out, "run %s has ended: %s\n", id, run.Status)
	return nil
}
