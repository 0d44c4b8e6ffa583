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

A run is named by its id, by the beginning of its id, or by --last. The bridge is named by --url or APBRIDGE_URL, its key by APBRIDGE_KEY.`,
		Example: `  apbridge runs ls --state waiting
  apbridge runs show --last
  apbridge runs answer RUN "the blue one"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.add(cmd)
	cmd.AddCommand(r.runsLs(), r.runsShow(), r.runsExplain(), r.runsFollow(), r.runsCancel(), r.runsAnswer(), r.runsCurl())
	return cmd
}

func (r *remote) runsExplain() *cobra.Command {
	return r.ofOne(aRun(), &cobra.Command{
		Use:   "explain RUN",
		Short: "Say why a run is where it is",
		Long: `explain says in a sentence what a run waits for or how it ended, and prints the
questions that it asks. -o json has all that the bridge knows of it.`,
		Example: `  apbridge runs explain RUN`,
	}, func(ctx context.Context, c *api.Client, id string) error {
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
	s := aRun(stateRunning, stateQueued, stateParked)
	s.offered = runWords("pending")
	cmd := r.ofOne(s, &cobra.Command{
		Use:   "cancel RUN",
		Short: "Stop a run and wait until it has ended",
		Long: `cancel stops a run, tells its agent where that can be told, and returns when the
run has ended. A run that has ended already is left as it is.`,
		Example: `  apbridge runs cancel RUN
  apbridge runs cancel RUN --rollback     # and remove all it did`,
	}, func(ctx context.Context, c *api.Client, id string) error {
		before, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		if err := c.Cancel(ctx, id, rollback); err != nil {
			return err
		}
		return r.cancelled(ctx, c, before, rollback)
	})
	cmd.Flags().BoolVar(&rollback, "rollback", false, "remove the run and what it did to its thread")
	return cmd
}

// cancelled prints what is left of the run.
func (r *remote) cancelled(ctx context.Context, c *api.Client, before api.Run, rollback bool) error {
	id := before.ID
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
	when := "has ended"
	if before.Status != "pending" && before.Status != "running" {
		when = "had already ended"
	}
	fmt.Fprintf(r.p.Out, "run %s %s: %s\n", id, when, run.Status)
	return nil
}
