package stepping

import (
	"context"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// sharedPoll is the interval at which a caller checks the work of other processes on its task. There is no notification
// when a hand-out ends (claimStep) or when a run with an unknown id changes (advance, Cancel).
const sharedPoll = 50 * time.Millisecond

// Step hands out the next step of a task. To obtain the step, it starts or continues the run, answers its question, or
// waits. The caller must call Confirm or Release of the hand-out, because the next POST of the task waits for that.
//
// A step at which the agent failed is still a step. An error means that there is none: Conflict if another task of the
// thread must be finished first, or the cause of the cancellation of ctx.
func (s *Stepper) Step(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour, req adapter.StepRequest) (adapter.Handout, error) {
	lock, err := s.Acquire(ctx, task, agent, flavour)
	if err != nil {
		return adapter.Handout{}, err
	}
	p := &stepRequest{StepLock: lock, req: req}
	step, err := s.claimStep(ctx, p)
	if err != nil {
		s.finish(p)
		return adapter.Handout{}, err
	}
	return s.deliver(ctx, p, step)
}

// finish releases the lock of a POST, whatever its outcome. A run that continues by itself is cancelled if its client
// does not request its steps in time, so its idle timer starts here.
func (s *Stepper) finish(p *stepRequest) {
	if _, r, _, active := p.ses.current(); active && p.ses.Mode() != mapping.SteppingLockstep {
		s.engine.StartIdleTimer(r)
	}
	p.Release()
}

// claimStep returns the next step, once no other process is handing it out, and counts it as handed out.
func (s *Stepper) claimStep(ctx context.Context, p *stepRequest) (mapping.Step, error) {
	for {
		if s.shared {
			if _, err := s.sync(ctx, p.ses); err != nil {
				return mapping.Step{}, err
			}
		}
		p.n = p.ses.Task().HandOuts + 1
		step, err := s.dueStep(ctx, p)
		if err != nil || step.N < p.n { // it was handed out before
			return step, err
		}
		if ok, err := s.reserve(ctx, p, step); ok || err != nil {
			return step, err
		}
		if err := pause.For(ctx, sharedPoll); err != nil {
			return step, err
		}
	}
}

// dueStep returns the step that an earlier POST with the same key got. Otherwise it waits for step n and returns it, or
// the last step again if there will be no more.
func (s *Stepper) dueStep(ctx context.Context, p *stepRequest) (mapping.Step, error) {
	number, found, err := s.store.Requests.Remembered(ctx, p.key(stepRoute))
	if err != nil {
		return mapping.Step{}, err
	}
	if found {
		return s.sameStep(ctx, p, number)
	}
	for {
		step, done, err := s.advance(ctx, p)
		if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved {
			// Another process created a run of the task, or is handing out one of its steps.
			var moved bool
			if moved, err = s.sync(ctx, p.ses); err == nil && !moved {
				err = pause.For(ctx, sharedPoll)
			}
		}
		if done || err != nil {
			return step, err
		}
	}
}

// sameStep returns the step with this number for a repeated POST with the same key.
func (s *Stepper) sameStep(ctx context.Context, p *stepRequest, number string) (mapping.Step, error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return mapping.Step{}, err
	}
	if err := s.catchUp(ctx, p.ses); err != nil {
		return mapping.Step{}, err
	}
	if step, ok := p.ses.step(n); ok {
		return step, nil
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "The step that was handed out for this Idempotency-Key no longer exists.")
}

// advance takes the next action that leads to a step; see the table in the package documentation.
func (s *Stepper) advance(ctx context.Context, p *stepRequest) (step mapping.Step, done bool, err error) {
	if err := s.catchUp(ctx, p.ses); err != nil {
		return step, false, err
	}
	i, run, _, active := p.ses.current()
	if err := s.interject(ctx, p, active); err != nil {
		return step, false, err
	}
	if step, ok := p.released(); ok {
		return step, true, nil
	}
	if !active {
		return s.startNext(ctx, p)
	}
	if err := s.waitForThread(ctx, p.ses, i, run); err != nil {
		return step, false, err
	}
	if p.ses.Mode() == mapping.SteppingLockstep {
		return step, false, s.continueRun(ctx, p, run)
	}
	return step, false, s.followRun(ctx, p, i, run)
}

// interject creates a follow-up run from input that arrives while the run continues, or while the client still fetches
// its steps. In lockstep the input belongs to the next upstream step instead.
func (s *Stepper) interject(ctx context.Context, p *stepRequest, active bool) error {
	text, ok := p.followUp()
	if !ok || p.ses.Mode() == mapping.SteppingLockstep {
		return nil
	}
	state := p.ses.State()
	if state == taskAsking || state == taskAsked { // the input is the answer
		return nil
	}
	if _, behind := p.ses.step(p.n); !active && (!behind || state == taskCancelled) {
		return nil
	}
	return s.followUp(ctx, p, text)
}

// followRun reads the run's log until the step is released or the run has ended.
func (s *Stepper) followRun(ctx context.Context, p *stepRequest, i int, run mapping.Run) error {
	s.engine.StopIdleTimer(run.ID)
	_, _, after, _ := p.ses.current()
	for e, err := range s.log.Follow(ctx, &run, after, nil) {
		if err != nil {
			return err
		}
		p.ses.feed(i, e)
		if _, ok := p.released(); ok {
			return nil
		}
	}
	return nil
}

// continueRun requests one step from the agent in lockstep mode.
func (s *Stepper) continueRun(ctx context.Context, p *stepRequest, run mapping.Run) error {
	defer s.log.Retain(&run)()
	fresh, err := s.engine.AwaitInactive(ctx, run)
	if err != nil {
		return err
	}
	if err := s.catchUp(ctx, p.ses); err != nil {
		return err
	}
	if !fresh.Parked {
		return nil
	}
	p.ses.release()
	if _, ok := p.ses.step(p.n); ok {
		return nil
	}
	next := engine.StepInput{Text: p.req.Input}
	next.Update, next.Uploaded = s.uploadsAsUpdate(ctx, p.ses)
	p.used = true
	if err := s.engine.Continue(ctx, fresh, next); err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	return nil
}

// startNext creates the run that provides the next step. If done, there is none, and the last step is handed out again.
func (s *Stepper) startNext(ctx context.Context, p *stepRequest) (last mapping.Step, done bool, err error) {
	state, question, last := p.ses.standing()
	switch {
	case state == taskUnstarted:
		return last, false, s.start(ctx, p)
	case state.active(): // a reader has found a run in the meantime
		return last, false, nil
	}
	if moved, err := s.sync(ctx, p.ses); moved || err != nil {
		return last, false, err
	}
	if state == taskAsked {
		return last, false, s.answer(ctx, p, question)
	}
	if text, ok := p.followUp(); ok && state == taskDone {
		return last, false, s.followUp(ctx, p, text)
	}
	return last, true, nil
}
