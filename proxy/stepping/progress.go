package stepping

import (
	"context"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// progress does what it takes for there to be the step that a POST asks for.
type progress struct {
	loader   *loader
	runs     *taskRuns
	thread   threadWait
	uploads  uploads
	requests *store.Requests
	log      runLog
	engine   stepEngine
}

// runLog holds and follows the log of a run; eventlog.Log implements it.
type runLog interface {
	runFollower
	Retain(run *mapping.Run) (release func())
}

// stepEngine has parked runs go on; engine.Engine implements it.
type stepEngine interface {
	AwaitInactive(ctx context.Context, r mapping.Run) (mapping.Run, error)
	Continue(ctx context.Context, r mapping.Run, n engine.StepInput) error
	StopIdleTimer(runID string)
}

// due is the step that an earlier POST with the same key was given, else the next one.
func (s *progress) due(ctx context.Context, p *stepRequest) (mapping.Step, error) {
	n, err := s.earlier(ctx, p)
	if err != nil {
		return mapping.Step{}, err
	}
	if n == 0 {
		return s.next(ctx, p)
	}
	if err := s.loader.catchUp(ctx, p.ses); err != nil {
		return mapping.Step{}, err
	}
	if step, ok := p.ses.step(n); ok {
		return step, nil
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "The step that was handed out for this Idempotency-Key is not there any more.")
}

// earlier is the number of the step that an earlier POST with the same key was given, 0 for none.
func (s *progress) earlier(ctx context.Context, p *stepRequest) (int, error) {
	made, ok, err := s.requests.Remembered(ctx, p.key(stepRoute))
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(made)
}

// next waits until step n is released and returns it, or the last step again when there will be none.
func (s *progress) next(ctx context.Context, p *stepRequest) (mapping.Step, error) {
	for {
		step, done, err := s.advance(ctx, p)
		if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved {
			err = s.overtaken(ctx, p)
		}
		if done || err != nil {
			return step, err
		}
	}
}

// advance does what comes next for there to be a step: see the table of the package.
func (s *progress) advance(ctx context.Context, p *stepRequest) (step mapping.Step, done bool, err error) {
	if err := s.loader.catchUp(ctx, p.ses); err != nil {
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
	if err := s.thread.wait(ctx, p.ses, i, run); err != nil {
		return step, false, err
	}
	if p.ses.Mode() == mapping.SteppingLockstep {
		return step, false, s.lockstep(ctx, p, run)
	}
	return step, false, s.follow(ctx, p, i, run)
}

// overtaken: another process made a run of the task, or gives one of its steps to a client, before this POST could make
// its run. The client's words go on from there.
func (s *progress) overtaken(ctx context.Context, p *stepRequest) error {
	moved, err := s.loader.sync(ctx, p.ses)
	if moved || err != nil {
		return err
	}
	return pause.For(ctx, turnPoll)
}

// interject makes a follow-up run of words that come while the run goes on, or while the client still fetches its
// steps. In lockstep they belong to the next upstream step instead.
func (s *progress) interject(ctx context.Context, p *stepRequest, active bool) error {
	text, ok := p.text()
	if !ok || p.ses.Mode() == mapping.SteppingLockstep || !p.ses.agent.Config.Stepping.FollowUpRuns {
		return nil
	}
	state := p.ses.State()
	if state == taskAsking || state == taskAsked { // the words are the answer
		return nil
	}
	if _, behind := p.ses.step(p.n); !active && (!behind || state == taskCancelled) {
		return nil
	}
	p.used = true
	return s.runs.followUp(ctx, p, text)
}

// follow reads the run's log until the step is released or the run has ended.
func (s *progress) follow(ctx context.Context, p *stepRequest, i int, run mapping.Run) error {
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

// lockstep does one upstream step.
func (s *progress) lockstep(ctx context.Context, p *stepRequest, run mapping.Run) error {
	defer s.log.Retain(&run)()
	fresh, err := s.engine.AwaitInactive(ctx, run)
	if err != nil {
		return err
	}
	if err := s.loader.catchUp(ctx, p.ses); err != nil {
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
	next.Update, next.Uploaded = s.uploads.asUpdate(ctx, p.ses)
	p.used = true
	if err := s.engine.Continue(ctx, fresh, next); err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	return nil
}

// startNext starts the run that the next step comes from. done: there is none; the last step is handed out again.
func (s *progress) startNext(ctx context.Context, p *stepRequest) (last mapping.Step, done bool, err error) {
	state, question, last := p.ses.standing()
	switch {
	case state == taskUnstarted:
		return last, false, s.runs.first(ctx, p)
	case state.active(): // a reader has found a run meanwhile
		return last, false, nil
	}
	if moved, err := s.loader.sync(ctx, p.ses); moved || err != nil {
		return last, false, err
	}
	if state == taskAsked {
		return last, false, s.runs.answer(ctx, p, question)
	}
	if text, ok := p.text(); ok && p.ses.agent.Config.Stepping.FollowUpRuns && state == taskDone {
		p.used = true
		return last, false, s.runs.followUp(ctx, p, text)
	}
	return last, true, nil
}
