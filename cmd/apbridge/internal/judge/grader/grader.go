// Package grader asks a model how well an agent did its task, by an endpoint of the form of OpenAI's (API reference,
// Chat Completions, Create). The command bench makes one for package verdict. It never asks the agent.
package grader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/verdict"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/mapping/pause"
)

// Config is the endpoint, and how it is asked.
type Config struct {
	URL     string // as https://api.openai.com/v1: "/chat/completions" is appended to its path
	Model   string
	Key     string        // sent as a bearer token, to this URL alone; "" sends none
	Timeout time.Duration // of one request with its answer, above 0
}

// Grader asks one endpoint. Safe for concurrent use.
type Grader struct {
	cfg     Config
	secrets credential.Set
	base    *url.URL
	http    *http.Client
	wait    func(context.Context, time.Duration) error // until the next try, or the context's error
}

// New checks the configuration and returns a Grader. It asks nothing yet.
func New(cfg Config) (*Grader, error) {
	base, err := url.Parse(cfg.URL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the URL of the grader is none; it is one as https://api.openai.com/v1")
	case base.User != nil:
		return nil, errors.New("the URL of the grader has a user or a password; set GRADER_KEY in the environment instead")
	case cfg.Model == "":
		return nil, errors.New("the grader has no model; name one that the endpoint knows")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Grader{cfg: cfg, secrets: credential.SetOf(cfg.Key), base: base, http: client, wait: pause.For}, nil
}

// Probe finds an endpoint that is not there and a key that is not taken, by the list of models: that costs nothing. An
// endpoint without the list is none the worse.
func (g *Grader) Probe(ctx context.Context) error {
	_, f := g.send(ctx, http.MethodGet, "models", nil)
	if f == nil || f.status != 0 && f.status != http.StatusUnauthorized {
		return nil
	}
	return f
}

// Grade has the model score a text that an agent made of a challenge of type llm. With an error there is no score, but
// the tokens that were used are told all the same.
func (g *Grader) Grade(ctx context.Context, c challenge.Challenge, text string) (verdict.Grade, error) {
	body, err := question(g.cfg.Model, c, text)
	if err != nil {
		return verdict.Grade{}, err
	}
	raw, err := g.ask(ctx, body)
	if err != nil {
		return verdict.Grade{}, err
	}
	answer, tokens, err := g.read(raw)
	grade := verdict.Grade{Tokens: tokens}
	if err != nil {
		return grade, err
	}
	most := highest(c.Ground.Eval.Scoring)
	score, err := g.scoreOf(answer, most)
	if err != nil {
		return grade, err
	}
	grade.Share, grade.Words = score/most, fmt.Sprintf("%g of %g", score, most)
	return grade, nil
}
