package stepping

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// stepRoute is where keys of step POSTs belong, with the task.
const stepRoute = "step"

// stepRequest is one POST for a step, or words that are no such POST but make the task go on as those of one would.
// Used by one goroutine.
type stepRequest struct {
	*Stepper
	ses     *session
	uploads uploads
	leave   func() // ends the turn; further calls do nothing
	req     adapter.StepRequest
	n       int  // the step that is due
	made    int  // runs it made
	used    bool // the client's words went somewhere

	runKey  idempotency.Key // of the run it makes, where that is not the step's
	flavour mapping.Flavour // of the runs it makes
}

func (t *Turn) request(req adapter.StepRequest) *stepRequest {
	p := &stepRequest{Stepper: t.stepper, ses: t.ses, uploads: uploads{t.stepper.st.Artifacts, t.stepper.engine, t.stepper.zap, t.ses}, req: req, flavour: t.flavour}
	p.leave = sync.OnceFunc(func() { p.watchIdle(); t.Leave() })
	return p
}

// watchIdle begins the idle clock of a run that goes on by itself when a POST is over, with any outcome: a client has
// to ask for the run's steps.
func (p *stepRequest) watchIdle() {
	if _, r, _, active := p.ses.current(); active && p.ses.mode != mapping.SteppingLockstep {
		p.engine.StartIdleClock(r)
	}
}

// due is the step that an earlier POST with the same key was given, else the next one.
func (p *stepRequest) due(ctx context.Context) (mapping.Step, error) {
	n, err := p.earlier(ctx)
	if err != nil {
		return mapping.Step{}, err
	}
	if n == 0 {
		return p.next(ctx)
	}
	if err := p.catchUp(ctx, p.ses); err != nil {
		return mapping.Step{}, err
	}
	if step, ok := p.ses.step(n); ok {
		return step, nil
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "The step that was handed out for this Idempotency-Key is not there any more.")
}

// earlier is the number of the step that an earlier POST with the same key was given, 0 for none.
func (p *stepRequest) earlier(ctx context.Context) (int, error) {
	made, ok, err := p.st.Requests.Remembered(ctx, p.key(stepRoute))
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(made)
}

func (p *stepRequest) key(route string) idempotency.Key {
	r := p.req
	r.IdempotencyKey = ""
	return idempotency.NewKey(p.req.IdempotencyKey, route+" "+p.ses.task.ID, r)
}

// text is what the client said, if it is more than "go on".
func (p *stepRequest) text() (string, bool) {
	if p.req.Input == nil || p.used {
		return "", false
	}
	switch t := *p.req.Input; strings.TrimSpace(t) {
	case "", "y", p.ses.task.Input: // the task's input never changes
		return "", false
	default:
		return t, true
	}
}

// next waits until step n is released and returns it, or the last step again when there will be none.
func (p *stepRequest) next(ctx context.Context) (mapping.Step, error) {
	for {
		step, done, err := p.advance(ctx)
		if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved {
			err = p.overtaken(ctx)
		}
		if done || err != nil {
			return step, err
		}
	}
}

// advance does what comes next for there to be a step: see the table of the package.
func (p *stepRequest) advance(ctx context.Context) (step mapping.Step, done bool, err error) {
	if err := p.catchUp(ctx, p.ses); err != nil {
		return step, false, err
	}
	i, run, _, active := p.ses.current()
	if err := p.interject(ctx, active); err != nil {
		return step, false, err
	}
	if step, ok := p.released(); ok {
		return step, true, nil
	}
	if !active {
		return p.startNext(ctx)
	}
	if err := p.waitForThread(ctx, i, run); err != nil {
		return step, false, err
	}
	if p.ses.mode == mapping.SteppingLockstep {
		return step, false, p.lockstep(ctx, run)
	}
	return step, false, p.follow(ctx, i, run)
}

// overtaken: another process made a run of the task, or gives one of its steps to a client, before this POST could make
// its run. The client's words go on from there.
func (p *stepRequest) overtaken(ctx context.Context) error {
	moved, err := p.sync(ctx, p.ses)
	if moved || err != nil {
		return err
	}
	return pause.For(ctx, turnPoll)
}

// interject makes a follow-up run of words that come while the run goes on, or while the client still fetches its
// steps. In lockstep they belong to the next upstream step instead.
func (p *stepRequest) interject(ctx context.Context, active bool) error {
	text, ok := p.text()
	if !ok || p.ses.mode == mapping.SteppingLockstep || !p.ses.agent.Config.Stepping.FollowUp {
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
	return p.followUp(ctx, text)
}

// follow reads the run's log until the step is released or the run has ended.
func (p *stepRequest) follow(ctx context.Context, i int, run mapping.Run) error {
	p.engine.StopIdleClock(run.ID)
	_, _, after, _ := p.ses.current()
	for e, err := range p.log.Follow(ctx, &run, after, nil) {
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

// released returns the step that is due when it may be handed out: a question only when it can be answered.
func (p *stepRequest) released() (mapping.Step, bool) {
	step, ok := p.ses.step(p.n)
	return step, ok && !p.ses.endingQuestion(p.n)
}

// lockstep does one upstream step.
func (p *stepRequest) lockstep(ctx context.Context, run mapping.Run) error {
	defer p.log.Pin(&run)()
	fresh, err := p.engine.AwaitInactive(ctx, run)
	if err != nil {
		return err
	}
	if err := p.catchUp(ctx, p.ses); err != nil {
		return err
	}
	if !fresh.Parked {
		return nil
	}
	p.ses.release()
	if _, ok := p.ses.step(p.n); ok {
		return nil
	}
	next := engine.Next{Say: p.req.Input}
	next.Update, next.Uploaded = p.uploads.asUpdate(ctx)
	p.used = true
	if err := p.engine.Continue(ctx, fresh, next); err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	return nil
}

// startNext starts the run that the next step comes from. done: there is none; the last step is handed out again.
func (p *stepRequest) startNext(ctx context.Context) (last mapping.Step, done bool, err error) {
	state, question, last := p.ses.standing()
	switch {
	case state == taskUnstarted:
		return last, false, p.first(ctx)
	case state.active(): // a reader has found a run meanwhile
		return last, false, nil
	}
	if moved, err := p.sync(ctx, p.ses); moved || err != nil {
		return last, false, err
	}
	if state == taskAsked {
		return last, false, p.answer(ctx, question)
	}
	if text, ok := p.text(); ok && p.ses.agent.Config.Stepping.FollowUp && state == taskDone {
		p.used = true
		return last, false, p.followUp(ctx, text)
	}
	return last, true, nil
}
