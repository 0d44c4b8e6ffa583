package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/spf13/cobra"
)

func (r *remote) runsLs() *cobra.Command {
	s := runSearch{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List runs, newest first",
		Long: `ls lists the runs of all threads or of one, newest first, with their states and the
reasons why runs wait or failed. "apbridge runs --help" explains the states.`,
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
			if s.thread != "" {
				if s.thread, err = aThread.id(cmd.Context(), c, s.thread); err != nil {
					return err
				}
			}
			list, err := s.runs(cmd.Context(), c)
			if err == nil && len(list) == 0 && s.agent != "" {
				err = knownAgent(cmd.Context(), c, s.agent)
			}
			if err != nil {
				return err
			}
			return r.printRuns(list)
		},
	}
	cmd.Flags().StringVar(&s.thread, "thread", "", "list only runs of this `THREAD`")
	cmd.Flags().StringVar(&s.agent, "agent", "", "list only runs of this `AGENT`")
	cmd.Flags().StringVar(&s.state, "state", "", "list only runs in this `STATE`")
	cmd.Flags().IntVarP(&s.limit, "limit", "n", 20, "maximum `NUMBER` of runs")
	r.completeFlag(cmd, "thread", threadWords)
	r.completeFlag(cmd, "agent", agentWords)
	console.CompleteWords(cmd, "state", stateNames()...)
	return cmd
}

func (s runSearch) check() error {
	switch {
	case s.limit < 1:
		return console.Misuse("flag --limit: must be at least 1")
	case s.state != "" && !slices.Contains(stateNames(), s.state):
		return console.Misuse(fmt.Sprintf("flag --state: %q is not one of %s", s.state, strings.Join(stateNames(), ", ")))
	}
	return nil
}

func (r *remote) printRuns(list []found) error {
	if r.json() {
		return r.printJSON(append([]found{}, list...))
	}
	var ids []string
	for _, run := range list {
		ids = append(ids, run.ID)
	}
	rows, now, n := [][]string{}, time.Now(), shortened(ids)
	for _, run := range list {
		rows = append(rows, []string{short(run.ID, n), run.state, age(run.Created, now), run.Agent, cut(rule.RequestText(run.Kwargs), requestMost), reasonIn(run)})
	}
	return table(r.p.Out, "RUN STATE AGE AGENT REQUEST REASON", rows)
}

// Lengths of texts in a table, in characters. A row with an agent name of ten letters has at most 120.
const (
	requestMost = 32
	reasonMost  = 40
)

// reasonIn returns the reason why a run failed or is waiting, for a table.
func reasonIn(run found) string {
	if run.state == "success" || run.state == stateRunning {
		return ""
	}
	return cut(mapping.WithoutAgent(run.Agent, cmp.Or(run.Error, run.why)), reasonMost)
}

// cut returns the beginning of a text, on one line.
func cut(text string, most int) string {
	if len(text) > 8*most { // the rest does not matter
		text = strings.ToValidUTF8(text[:8*most], "")
	}
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}

// knownAgent returns an error for an unknown agent.
func knownAgent(ctx context.Context, c *api.Client, name string) error {
	list, err := c.Agents(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range list {
		if name == a.ID || name == a.Graph {
			return nil
		}
		if !slices.Contains(names, a.Graph) {
			names = append(names, a.Graph)
		}
	}
	if meant := mapping.Nearest(name, names); meant != "" {
		return fmt.Errorf("there is no agent %q; did you mean %q?", name, meant)
	}
	return fmt.Errorf("there is no agent %q; known agents: %s", name, strings.Join(names, ", "))
}

func (r *remote) runsShow() *cobra.Command {
	return r.ofOne(aRun(), &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run's thread, agent, input and state",
		Example: `  apbridge runs show RUN
  apbridge runs show --last -o json`,
	}, func(ctx context.Context, c *api.Client, id string) error {
		run, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		e, err := c.Explain(ctx, id)
		if err != nil {
			return err
		}
		if r.json() {
			return r.printJSON(found{Run: run, state: stateOf(e)})
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
	switch stateOf(e) {
	case stateQueued, stateRunning, stateParked, stateWaiting:
	default:
		ended = exactTime(run.Updated)
	}
	return pairs(r.p.Out,
		"run", run.ID, "thread", run.Thread, "agent", run.Agent, "state", stateOf(e), "created", exactTime(run.Created), "ended", ended,
		"request", rule.RequestText(run.Kwargs), "code", run.Code, "why", e.Message)
}

// printQuestions prints the run's questions, and how to answer them.
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
