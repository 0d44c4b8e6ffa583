package stepping

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// StepLock is the right to serve one POST for a step of a task. POSTs for the same task wait for each other. Not safe
// for concurrent use.
type StepLock struct {
	s       *Stepper
	ses     *session
	flavour mapping.Flavour // of the runs that are created
	release func()
}

// Acquire waits for earlier callers and returns the task's lock, which must be released. It fails if ctx ends first.
// Runs that are created under the lock have the flavour.
func (s *Stepper) Acquire(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) (*StepLock, error) {
	ses, err := s.session(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	ses, release, err := s.sessions.acquire(ctx, ses)
	if err != nil {
		return nil, err
	}
	return &StepLock{s: s, ses: ses, flavour: flavour, release: release}, nil
}

// Release lets the next caller continue. Further calls do nothing.
func (l *StepLock) Release() { l.release() }

// Answer answers the task's open question with a message that does not request a step. The following steps are handed
// out as usual. key is the idempotency key of the new run. ok is false if there is no open question.
func (l *StepLock) Answer(ctx context.Context, input *string, additional json.RawMessage, key store.IdempotencyKey) (run mapping.Run, ok bool, err error) {
	p := &stepRequest{StepLock: l, req: adapter.StepRequest{Input: input, AdditionalInput: additional}, runKey: key}
	if err := l.s.catchUp(ctx, l.ses); err != nil {
		return run, false, err
	}
	if moved, err := l.s.sync(ctx, l.ses); moved || err != nil {
		return run, false, err
	}
	state, question, _ := l.ses.standing()
	if state != taskAsked {
		return run, false, nil
	}
	if err := l.s.answer(ctx, p, question); err != nil {
		return run, false, err
	}
	return l.ses.newestRun(), true, nil
}
