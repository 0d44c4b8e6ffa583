package stepping

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// turnPoll is how often what other processes do with a task is looked at: whether a hand-out that one of them has begun
// is over (claimNextStep), or a run that it made of the task is there (overtaken, Cancel). No notice tells of a
// hand-out, nor of a run whose id is not known here.
const turnPoll = 50 * time.Millisecond

// StepLock is the right to one POST for a step of a task; POSTs of one task take turns. Used by one goroutine.
type StepLock struct {
	loader   *loader
	runs     *taskRuns
	ses      *session
	flavour  mapping.Flavour // of the runs that are made
	giveBack func()
}

// Acquire returns the caller's Turn, after those of the callers that came before. GiveBack must follow. It fails when ctx
// ends. Runs that are made have the flavour.
func (s *Stepper) Acquire(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) (*StepLock, error) {
	ses, err := s.loader.session(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	ses, giveBack, err := s.sessions.takeTurn(ctx, ses)
	if err != nil {
		return nil, err
	}
	return &StepLock{loader: s.loader, runs: s.runs, ses: ses, flavour: flavour, giveBack: giveBack}, nil
}

// Release lets the next caller have its turn. Further calls do nothing.
func (t *StepLock) Release() { t.giveBack() }

func (t *StepLock) request(req adapter.StepRequest) *stepRequest {
	return &stepRequest{ses: t.ses, req: req, flavour: t.flavour}
}

// Answer answers the task's open question with words that are no request for a step. The steps that follow are handed
// out as any others. key is of the run that is made; ok is false when there is no question.
func (t *StepLock) Answer(ctx context.Context, input *string, additional json.RawMessage, key idempotency.Key) (run mapping.Run, ok bool, err error) {
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
