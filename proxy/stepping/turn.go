package stepping

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// turnPoll is how often what other processes do with a task is looked at: whether a hand-out that one of them has begun
// is over (claimNextStep), or a run that it made of the task is there (overtaken, Cancel). No notice tells of a
// hand-out, nor of a run whose id is not known here.
const turnPoll = 50 * time.Millisecond

// Turn is the right to one POST for a step of a task; POSTs of one task take turns. Used by one goroutine.
type Turn struct {
	loader   *loader
	runs     *taskRuns
	ses      *session
	flavour  mapping.Flavour // of the runs that are made
	giveBack func()
}

// Enter returns the caller's Turn, after those of the callers that came before. GiveBack must follow. It fails when ctx
// ends. Runs that are made have the flavour.
func (s *Stepper) Enter(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) (*Turn, error) {
	ses, err := s.loader.session(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	ses, giveBack, err := s.sessions.takeTurn(ctx, ses)
	if err != nil {
		return nil, err
	}
	return &Turn{loader: s.loader, runs: s.runs, ses: ses, flavour: flavour, giveBack: giveBack}, nil
}

// GiveBack lets the next caller have its turn. Further calls do nothing.
func (t *Turn) GiveBack() { t.giveBack() }

func (t *Turn) request(req adapter.StepRequest) *stepRequest {
	return &stepRequest{ses: t.ses, req: req, flavour: t.flavour}
}

// Answer answers the task's open question with words that are no request for a step. The steps that follow are handed
// out as any others. key is of the run that is made; ok is false when there is no question.
func (t *Turn) Answer(ctx context.Context, input *string, additional json.RawMessage, key store.IdempotencyKey) (run mapping.Run, ok bool, err error) {
	p := t.request(adapter.StepRequest{Input: input, AdditionalInput: additional})
	p.runKey = key
	if err := t.loader.catchUp(ctx, p.ses); err != nil {
		return run, false, err
	}
	if moved, err := t.loader.sync(ctx, p.ses); moved || err != nil {
		return run, false, err
	}
	state, question, _ := p.ses.standing()
	if state != taskAsked {
		return run, false, nil
	}
	if err := t.runs.answer(ctx, p, question); err != nil {
		return run, false, err
	}
	return p.ses.newestRun(), true, nil
}
