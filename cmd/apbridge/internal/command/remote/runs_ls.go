package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/spf13/cobra"
)

func (r *remote) runsLs() *cobra.Command {
	s := runSearch{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List runs, the newest first",
		Long: `ls lists the runs of all threads, or of one, the newest first. Its state tells a run
that works (running) from one that waits: for its turn (queued), for its client
(parked) or for an answer (waiting). apbridge runs --help has all states.`,
		Example: `  apbridge runs ls
  apbridge runs ls --state waiting --agent legacy
  apbridge runs ls --thread THREAD -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			c, err := r.client()
			if err != nil {
				return err
			}
			list, err := s.runs(cmd.Context(), c)
			if err != nil {
				return err
			}
			return r.printRuns(list)
		},
	}
	cmd.Flags().StringVar(&s.thread, "thread", "", "only runs of this thread")
	cmd.Flags().StringVar(&s.agent, "agent", "", "only runs of this agent")
	cmd.Flags().StringVar(&s.state, "state", "", "only runs in this state")
	cmd.Flags().IntVarP(&s.limit, "limit", "n", 20, "how many at the most")
	r.completeFlag(cmd, "thread", threadWords)
	r.completeFlag(cmd, "agent", agentWords)
	console.CompleteWords(cmd, "state", stateNames()...)
	return cmd
}

func (s runSearch) check() error {
	switch {
	case s.limit < 1:
		return console.Misuse("flag --limit: a number from 1 on is needed")
	case s.state != "" && !slices.Contains(stateNames(), s.state):
		return console.Misuse(fmt.Sprintf("flag --state: %q is not one of %s", s.state, strings.Join(stateNames(), ", ")))
	}
	return nil
}

func (r *remote) printRuns(list []found) error {
	if r.json() {
		return r.printJSON(append([]found{}, list...))
	}
	rows, now := [][]string{}, time.Now()
	for _, run := range list {
		rows = append(rows, []string{run.ID, run.state, age(run.Created, now), run.Agent})
	}
	return table(r.p.Out, "RUN STATE AGE AGENT", rows)
}

func (r *remote) runsShow() *cobra.Command {
	return r.ofOne(&cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its thread, agent, input, state and why",
		Example: `  apbridge runs show RUN
  apbridge runs show RUN -o json`,
	}, runWords(), func(ctx context.Context, c *api.Client, id string) error {
		run, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		e, err := c.Explain(ctx, id)
		if err != nil {
			return err
		}
		if r.json() {
			return r.printJSON(found{run, stateOf(e)})
		}
		if err := r.printRun(run, e); err != nil {
			return err
		}
		printQuestions(r.p.Out, e)
		return nil
	})
}

func (r *remote) printRun(run api.Run, e api.Explanation) error {
	ended := ""
	if s := stateOf(e); s != stateQueued && s != stateRunning && s != stateParked {
		ended = exactTime(run.Updated)
	}
	return pairs(r.p.Out,
		"run", run.ID, "thread", run.Thread, "agent", run.Agent, "state", stateOf(e), "created", exactTime(run.Created), "ended", ended,
		"input", inputOf(run), "code", run.Code, "why", e.Message)
}

// inputOf is what the run was given, on one line.
func inputOf(run api.Run) string {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(run.Kwargs, &given)
	for _, name := range []string{"input", "messages", "command"} {
		if raw := given[name]; len(raw) > 0 && string(raw) != "null" {
			return string(raw)
		}
	}
	return ""
}

// printQuestions prints what the run asks, and how it is answered.
func printQuestions(w io.Writer, e api.Explanation) {
	list, open := e.Questions()
	if !open {
		return
	}
	for _, q := range list {
		fmt.Fprintf(w, "the agent asks: %s\n", rule.QuestionText(q.Value))
	}
	fmt.Fprintf(w, "to answer: apbridge runs answer %s TEXT\n", e.Run)
}
