package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/talk"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/spf13/cobra"
)

// Threads returns the command apbridge threads.
func Threads(p *console.Process) *cobra.Command {
	r := &remote{p: p}
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List, show, export and delete threads",
		Long: `threads shows, exports and deletes the threads of a running bridge. Name a thread by its
id, the beginning of its id, or --last.`,
		Example: `  apbridge threads ls
  apbridge threads show THREAD
  apbridge threads export THREAD > thread.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.add(cmd)
	cmd.AddCommand(r.threadsLs(), r.threadsShow(), r.threadsExport(), r.threadsRm())
	return cmd
}

func (r *remote) threadsLs() *cobra.Command {
	f := api.ThreadFilter{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List threads, last changed first",
		Long: `ls lists threads, last changed first, with the first agent and the first message of each.
A thread is idle, busy (a run has not ended), interrupted (a run is asking a question or was
cancelled) or error.`,
		Example: `  apbridge threads ls
  apbridge threads ls --state interrupted -n 100`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > 1000 {
				return console.Misuse("flag --limit: must be from 1 to 1000")
			}
			c, err := r.client()
			if err != nil {
				return err
			}
			if !r.json() {
				f.Extract = api.FirstMessage
			}
			list, err := c.Threads(cmd.Context(), f)
			if err != nil {
				return err
			}
			return r.printThreads(list)
		},
	}
	cmd.Flags().StringVar(&f.Status, "state", "", "list only threads in this `STATE`")
	cmd.Flags().IntVarP(&f.Limit, "limit", "n", 20, "maximum `NUMBER` of threads")
	console.CompleteWords(cmd, "state", "idle", "busy", "interrupted", "error")
	return cmd
}

func (r *remote) printThreads(list []api.Thread) error {
	if r.json() {
		whole := make([]json.RawMessage, len(list))
		for i, t := range list {
			whole[i] = t.Whole
		}
		return r.printJSON(whole)
	}
	var ids []string
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	rows, now, n := [][]string{}, time.Now(), shortened(ids)
	for _, t := range list {
		rows = append(rows, []string{short(t.ID, n), t.Status, age(t.Updated, now), t.Agent(), cut(rule.MessageText(t.First), requestMost)})
	}
	return table(r.p.Out, "THREAD STATE AGE AGENT REQUEST", rows)
}

// runsShown is the number of runs that are shown with a thread.
const runsShown = 10

func (r *remote) threadsShow() *cobra.Command {
	return r.ofOne(aThread, &cobra.Command{
		Use:   "show THREAD",
		Short: "Show a thread's conversation, files and newest runs",
		Example: `  apbridge threads show THREAD
  apbridge threads show THREAD -o json`,
	}, func(ctx context.Context, c *api.Client, id string) error {
		t, err := c.Thread(ctx, id)
		if err != nil {
			return err
		}
		if r.json() {
			return r.printJSON(t.Whole)
		}
		list, err := runSearch{thread: id, limit: runsShown}.runs(ctx, c)
		if err != nil {
			return err
		}
		return r.printThread(t, stored(ctx, c, id), list)
	})
}

// stored describes the size of a thread. It is "" if the bridge does not report the size.
func stored(ctx context.Context, c *api.Client, id string) string {
	use, err := c.Storage(ctx, id)
	switch {
	case err != nil:
		return ""
	case !use.Exact:
		return fmt.Sprintf("more than %d bytes", use.Total)
	}
	return fmt.Sprintf("%d bytes", use.Total)
}

func (r *remote) printThread(t api.Thread, stored string, list []found) error {
	err := pairs(r.p.Out, "thread", t.ID, "agent", t.Agent(), "state", t.Status, "created", exactTime(t.Created), "changed", exactTime(t.Updated), "stored", stored)
	if err != nil {
		return err
	}
	if len(t.Values.Messages) > 0 {
		fmt.Fprintln(r.p.Out)
		for _, m := range t.Values.Messages {
			who, text := talk.Spoken(m)
			fmt.Fprintf(r.p.Out, "%s: %s\n", who, text)
		}
	}
	for _, path := range talk.Paths(t.Values.Files) {
		fmt.Fprintf(r.p.Out, "file: %s\n", path)
	}
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(r.p.Out)
	return r.printRuns(list)
}

func (r *remote) threadsRm() *cobra.Command {
	return &cobra.Command{
		Use:   "rm THREAD...",
		Short: "Permanently delete threads with their runs, states and files",
		Long: `rm permanently deletes threads with their runs, states and files. A thread with an active
run is not deleted: cancel the run first. The agent's copy is deleted if its configuration has
delete_upstream_threads: true.`,
		Example:           `  apbridge threads rm THREAD`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: r.completed(0, threadWords),
		RunE: func(cmd *cobra.Command, ids []string) error {
			c, err := r.client()
			if err != nil {
				return err
			}
			for i, word := range ids { // all before the first deletion, because a deletion may make another prefix unique
				if ids[i], err = aThread.id(cmd.Context(), c, word); err != nil {
					return err
				}
			}
			for _, id := range ids {
				if err := c.DeleteThread(cmd.Context(), id); err != nil {
					return err
				}
				if !r.json() {
					fmt.Fprintf(r.p.Out, "deleted thread %s\n", id)
				}
			}
			if r.json() {
				return r.printJSON(map[string][]string{"deleted": ids})
			}
			return nil
		},
	}
}
