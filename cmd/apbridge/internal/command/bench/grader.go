package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/spf13/pflag"
)

// graderKey is the environment variable with the grader's key. There is no flag for it, because other programs can read
// command lines.
const graderKey = "GRADER_KEY"

// graderFlags name the model that judges challenges of type llm.
type graderFlags struct {
	url, model string
	patience   time.Duration
}

func (f *graderFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.url, "grader-url", "", "OpenAI-compatible `URL` that judges challenges of type llm, such as https://api.openai.com/v1\n(default $GRADER_URL; such challenges are skipped without it)")
	set.StringVar(&f.model, "grader-model", "", "`MODEL` that judges there (default $GRADER_MODEL)")
	set.DurationVar(&f.patience, "grader-timeout", 2*time.Minute, "time limit of one request to --grader-url")
}

// open checks that the configured grader answers if a challenge needs it. It returns nil if no grader is configured.
func (f *graderFlags) open(ctx context.Context, environ []string, chosen []challenge.Challenge) (judge.Model, error) {
	address, model := cmp.Or(f.url, console.Variable(environ, "GRADER_URL")), cmp.Or(f.model, console.Variable(environ, "GRADER_MODEL"))
	switch {
	case f.model != "" && address == "":
		return nil, errors.New("flag --grader-model has no effect without --grader-url")
	case address == "":
		return nil, nil
	case f.patience <= 0:
		return nil, errors.New("flag --grader-timeout: must be above 0, such as 90s")
	}
	g, err := judge.NewGrader(judge.GraderConfig{URL: address, Model: model, Key: console.Variable(environ, graderKey), Timeout: f.patience})
	if err != nil {
		return nil, fmt.Errorf("flags --grader-url and --grader-model: %w", err)
	}
	if slices.ContainsFunc(chosen, func(c challenge.Challenge) bool { return c.Ground.Eval.Type == challenge.ByModel }) {
		err = g.Probe(ctx)
	}
	return g, err
}
