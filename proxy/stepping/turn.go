package stepping

import (
	"context"
	"encoding/json"
	"sync"
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

// Turn is the right to one POST for a step of a task; POSTs of one task take turns. Used by one goroutine.
type Turn struct {
	stepper *Stepper
	ses     *session
	flavour mapping.Flavour // of the runs that are made
	leave   func()
}

// Enter returns the caller's Turn, after those of the callers that came before. Leave must follow. It fails when ctx
// ends. Runs that are made have the flavour.
func (s *Stepper) Enter(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) (*Turn, error) {
	ses, err := s.session(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return s.enter(ctx, ses, flavour)
}

func (s *Stepper) enter(ctx context.Context, ses *session, flavour mapping.Flavour) (*Turn, error) {
	ses = s.sessions.use(ses)
	select {
	case ses.turn <- struct{}{}:
	case <-ctx.Done():
		s.sessions.letGo(ses)
		return nil, context.Cause(ctx)
	}
	return &Turn{s, ses, flavour, sync.OnceFunc(func() {
		<-ses.turn
		s.sessions.letGo(ses)
	})}, nil
}

// Leave lets the next caller have its turn. Further calls do nothing.
func (t *Turn) Leave() { t.leave() }

// Answer answers the task's open question with words that are no request for a step. The steps that follow are handed
// out as any others. key is of the run that is made; ok is false when there is no question.
func (t *Turn) Answer(ctx context.Context, input *string, additional json.RawMessage, key idempotency.Key) (run mapping.Run, ok bool, err error) {
	p := t.request(adapter.StepRequest{Input: input, AdditionalInput: additional})
	p.runKey = key
	if err := p.catchUp(ctx, p.ses); err != nil {
		return run, false, err
	}
	if moved, err := p.sync(ctx, p.ses); moved || err != nil {
		return run, false, err
	}
	state, question, _ := p.ses.standing()
	if state != taskAsked {
		return run, false, nil
	}
	if err := p.answer(ctx, question); err != nil {
		return run, false, err
	}
	return p.ses.newestRun(), true, nil
}
