package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/spf13/cobra"
)

func (r *remote) runsAnswer() *cobra.Command {
	asJSON, detach := "", false
	s := aRun(stateWaiting)
	s.offered = runWords("interrupted")
	cmd := r.about(s, &cobra.Command{
		Use:   "answer RUN [TEXT]",
		Short: "Answer a run's question and print the result",
		Long: `answer resumes a run that is waiting for an answer: it starts a run on the same thread with the
answer and prints the agent's output. The answer is TEXT, or any JSON value. If the run
has several questions, send an object with an answer for each question's id, as listed
by runs explain RUN -o json.`,
		Example: `  apbridge runs answer RUN "the blue one"
  apbridge runs answer RUN --json '{"decisions":[{"type":"approve"}]}' --detach`,
	}, 1, func(ctx context.Context, c *api.Client, id string, text []string) error {
		answer, err := answerOf(text, asJSON)
		if err != nil {
			return err
		}
		return r.answer(ctx, c, id, answer, detach)
	})
	cmd.Flags().StringVar(&asJSON, "json", "", "the answer as `JSON`, instead of TEXT")
	cmd.Flags().BoolVar(&detach, "detach", false, "print the new run's id and exit")
	return cmd
}

// answerOf returns the answer of a command line: either a text or JSON.
func answerOf(text []string, asJSON string) (any, error) {
	switch {
	case len(text) == 1 && asJSON == "":
		return text[0], nil
	case len(text) == 1:
		return nil, console.Misuse("the answer is given twice; use either TEXT or --json VALUE")
	case asJSON == "":
		return nil, console.Misuse("no answer given; pass it as TEXT or --json VALUE")
	case !json.Valid([]byte(asJSON)):
		return nil, console.Misuse("flag --json: the answer is not JSON; a string needs quotes inside those of the shell: --json '\"yes\"'")
	}
	return json.RawMessage(asJSON), nil
}

func (r *remote) answer(ctx context.Context, c *api.Client, id string, answer any, detach bool) error {
	e, err := c.Explain(ctx, id)
	if err != nil {
		return err
	}
	if err := answerable(e, answer); err != nil {
		return err
	}
	run, err := c.Run(ctx, id)
	if err != nil {
		return err
	}
	next, err := c.Answer(ctx, run, answer)
	switch {
	case err != nil:
		return err
	case !detach:
		return r.follow(ctx, c, next.ID)
	case r.json():
		return r.printJSON(next.Whole)
	}
	_, err = fmt.Fprintln(r.p.Out, next.ID)
	return err
}

// answerable returns an error if the run is not asking a question, or if it asks several and the answer is a text.
func answerable(e api.Explanation, answer any) error {
	list, open := e.Questions()
	if !open {
		return fmt.Errorf("run %s is not asking a question. %s To list runs that are: apbridge runs ls --state %s", e.Run, e.Message, stateWaiting)
	}
	if _, text := answer.(string); text && len(list) > 1 {
		ids := make([]string, len(list))
		for i, q := range list {
			ids[i] = `"` + q.ID + `": …`
		}
		return console.Misuse(fmt.Sprintf("run %s asks %d questions; answer each by its id: --json '{%s}'", e.Run, len(list), strings.Join(ids, ", ")))
	}
	return nil
}
