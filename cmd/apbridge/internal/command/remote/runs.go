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
		Short: "List, explain, follow, answer and cancel runs",
		Long: `runs shows and controls the runs of a running bridge, for threads and for tasks. Name a
run by its id, the beginning of its id, or --last. A run is

  queued        not started; runs explain prints the reason
  running       executed by its agent
  parked        between two steps, until its client requests the next
  waiting       asking a question; answer it with runs answer
  interrupted   cancelled, or its question was answered
  success, error, timeout`,
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
		Short: "Explain why a run is waiting, running or failed",
		Long: `explain prints why a run is waiting or how it ended, and its open questions. -o json prints
everything that the bridge knows about it.`,
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
		Short: "Cancel a run and wait until it has ended",
		Long: `cancel stops a run, informs its agent if the protocol allows it, and returns when the run
has ended. It does not change a run that has already ended.`,
		Example: `  apbridge runs cancel RUN
  apbridge runs cancel RUN --rollback     # and remove its effects`,
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
	cmd.Flags().BoolVar(&rollback, "rollback", false, "remove the run and its effects on the thread")
	return cmd
}

// cancelled prints the state after a cancellation.
func (r *remote) cancelled(ctx context.Context, c *api.Client, before api.Run, rollback bool) error {
	id := before.ID
	run, err := c.Run(ctx, id)
	if api.NotFound(err) && rollback {
		if r.json() {
			return r.printJSON(map[string]string{"run_id": id, "state": "removed"})
		}
		fmt.Fprintf(r.p.Out, "removed run %s\n", id)
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
