package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/talk"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/mattn/go-isatty"
)

// questioner asks the user at the terminal.
type questioner struct {
	in  *bufio.Reader // nil if there is no terminal
	out io.Writer
}

func (p *program) questioner() *questioner {
	a := &questioner{out: p.Out}
	if f, ok := p.In.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		a.in = bufio.NewReader(f)
	}
	return a
}

// answer returns the answer to the questions. It is a text, or one text per id if there are several questions.
func (a *questioner) answer(ctx context.Context, list []api.Question) (any, error) {
	if a.in == nil {
		return nil, fmt.Errorf("%s (run this in a terminal to answer, or include the answer in TEXT)", talk.Questions(list))
	}
	answers := map[string]string{}
	for _, q := range list {
		text, err := a.line(ctx, rule.QuestionText(q.Value))
		if err != nil {
			return nil, err
		}
		if len(list) == 1 {
			return text, nil
		}
		answers[q.ID] = text
	}
	return answers, nil
}

// line reads one line. Reading continues after ctx ends, because a terminal cannot be interrupted, but the process
// exits soon.
func (a *questioner) line(ctx context.Context, question string) (string, error) {
	fmt.Fprintf(a.out, "the agent asks: %s\n> ", question)
	type read struct {
		text string
		err  error
	}
	came := make(chan read, 1)
	go func() {
		text, err := a.in.ReadString('\n')
		came <- read{text, err}
	}()
	select {
	case r := <-came:
		if r.err != nil {
			fmt.Fprintln(a.out)
			return "", fmt.Errorf("the agent asks: %s (not answered; the run ends here)", question)
		}
		return strings.TrimRight(r.text, "\r\n"), nil
	case <-ctx.Done():
		fmt.Fprintln(a.out)
		return "", context.Cause(ctx)
	}
}
