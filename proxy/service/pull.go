package service

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// Step hands out the next step of a task, doing whatever makes there be one:
// starting the run, letting it go on, answering its question, or waiting.
func (s *tasks) Step(ctx context.Context, ref adapter.TaskRef, req adapter.StepRequest) (adapter.Handout, error) {
	if err := checkKey(req.IdempotencyKey); err != nil {
		return adapter.Handout{}, err
	}
	task, agent, err := s.find(ctx, ref)
	if err != nil {
		return adapter.Handout{}, err
	}
	ses, err := s.session(ctx, task, agent)
	if err != nil {
		return adapter.Handout{}, err
	}
	ses, left, err := s.enter(ctx, ses)
	if err != nil {
		return adapter.Handout{}, err
	}
	p := &pull{tasks: s, ses: ses, req: req, flavour: ref.Flavour}
	leave := sync.OnceFunc(func() { p.watch(); left() })
	step, err := p.mine(ctx)
	if err != nil {
		leave()
		return adapter.Handout{}, err
	}
	return p.handOut(ctx, step, leave)
}

// pull is one POST for a step.
type pull struct {
	*tasks
	ses  *session
	req  adapter.StepRequest
	n    int  // the step that is due
	made int  // runs it made
	said bool // the client's words went somewhere

	runKey  store.Key       // of the run it makes, where that is not the step's
	flavour mapping.Flavour // of the runs it makes
}

// watch begins the idle clock of a run that goes on by itself when a POST is
// over, with any outcome: a client has to ask for the run's steps.
func (p *pull) watch() {
	if _, r, _, active := p.ses.current(); active && p.ses.mode != mapping.SteppingLockstep {
		p.engine.CancelIdle(r)
	}
}

// due is the step that an earlier POST with the same key was given, else the
// next one.
func (p *pull) due(ctx context.Context) (mapping.Step, error) {
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

// earlier is the number of the step that an earlier POST with the same key was
// given, 0 for none.
func (p *pull) earlier(ctx context.Context) (int, error) {
	made, ok, err := p.st.Remembered(ctx, p.key(stepRoute))
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(made)
}

// text is what the client said, if it is more than "go on".
func (p *pull) text() (string, bool) {
	if p.req.Input == nil || p.said {
		return "", false
	}
	switch t := *p.req.Input; strings.TrimSpace(t) {
	case "", "y", p.ses.task.Input: // the task's input never changes
		return "", false
	default:
		return t, true
	}
}

// next waits until step n is released and returns it, or the last step again
// when there will be none.
func (p *pull) next(ctx context.Context) (mapping.Step, error) {
	for {
		step, done, err := p.round(ctx)
		if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved {
			err = p.overtaken(ctx)
		}
		if done || err != nil {
			return step, err
		}
	}
}

// round does what comes next for there to be a step.
func (p *pull) round(ctx context.Context) (step mapping.Step, done bool, err error) {
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
		return p.begin(ctx)
	}
	if err := p.turn(ctx, i, run); err != nil {
		return step, false, err
	}
	if p.ses.mode == mapping.SteppingLockstep {
		return step, false, p.lockstep(ctx, run)
	}
	return step, false, p.follow(ctx, i, run)
}

// overtaken: another process made a run of the task, or gives one of its steps to a
// client, before this POST could make its run. The client's words go on from there.
func (p *pull) overtaken(ctx context.Context) error {
	moved, err := p.sync(ctx, p.ses)
	if moved || err != nil {
		return err
	}
	return wait(ctx, turnPoll)
}

// interject makes a follow-up run of words that come while the run goes on, or
// while the client still fetches its steps. In lockstep they belong to the next
// upstream step instead.
func (p *pull) interject(ctx context.Context, active bool) error {
	text, ok := p.text()
	if !ok || p.ses.asks() || p.ses.asked() || p.ses.mode == mapping.SteppingLockstep || !p.ses.agent.Config.Stepping.FollowUp {
		return nil
	}
	if _, behind := p.ses.step(p.n); !active && (!behind || p.ses.cancelled()) {
		return nil
	}
	p.said = true
	return p.followUp(ctx, text)
}

func (p *pull) followUp(ctx context.Context, text string) error {
	tr := &taskRun{task: p.ses.its(), stepping: p.ses.mode, followUp: true, newest: p.ses.newest()}
	return p.run(ctx, p.request(ctx, []string{text}, tr), tr, nil)
}

// run makes a run of the task. A POST that is sent again with its key makes
// none.
func (p *pull) run(ctx context.Context, n adapter.NewRun, tr *taskRun, say *string) error {
	p.made++
	key := p.runKey
	if key.Text == "" {
		key = p.key(fmt.Sprintf("%s run %d", stepRoute, p.made))
	}
	_, err := p.startStep(ctx, p.ses, n, tr, say, key)
	if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved { // nothing was made or told
		p.made, p.said = p.made-1, false
	}
	return err
}

// follow reads the run's log until the step is released or the run has ended.
func (p *pull) follow(ctx context.Context, i int, run mapping.Run) error {
	p.engine.Pulled(run.ID)
	_, _, after, _ := p.ses.current()
	for e, err := range p.log.Follow(ctx, run, after, nil) {
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

// released returns the step that is due when it may be handed out: a question
// only when it can be answered.
func (p *pull) released() (mapping.Step, bool) {
	step, ok := p.ses.step(p.n)
	return step, ok && !p.ses.winding(p.n)
}

// lockstep does one upstream step.
func (p *pull) lockstep(ctx context.Context, run mapping.Run) error {
	defer p.log.Hold(run)()
	fresh, err := p.engine.Settled(ctx, run)
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
	next.Update, next.Uploaded = p.uploadsAsUpdate(ctx)
	p.said = true
	if err := p.engine.Continue(ctx, fresh, next); err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	return nil
}

// begin starts the run that the next step comes from. done: there is none; the
// last step is handed out again.
func (p *pull) begin(ctx context.Context) (again mapping.Step, done bool, err error) {
	p.ses.mu.Lock()
	ended, question, steps := p.ses.ended, p.ses.question, len(p.ses.steps)
	p.ses.mu.Unlock()
	if ended == nil {
		return again, false, p.first(ctx)
	}
	if moved, err := p.sync(ctx, p.ses); moved || err != nil {
		return again, false, err
	}
	if len(question) > 0 {
		return again, false, p.answer(ctx, question)
	}
	if text, ok := p.text(); ok && p.ses.agent.Config.Stepping.FollowUp && !ended.Cancelled {
		p.said = true
		return again, false, p.followUp(ctx, text)
	}
	again, _ = p.ses.step(steps)
	return again, true, nil
}

// first starts the task's run.
func (p *pull) first(ctx context.Context) error {
	var words []string
	if p.ses.task.HasInput {
		words = append(words, p.ses.task.Input)
	}
	say := p.req.Input
	if text, ok := p.text(); ok && p.ses.mode != mapping.SteppingLockstep {
		words, say = append(words, text), nil
	}
	p.said = true
	if len(words) == 0 && p.req.Input != nil && *p.req.Input != "" {
		words = []string{*p.req.Input}
	}
	if p.ses.mode != mapping.SteppingLockstep {
		say = nil
	}
	tr := &taskRun{task: p.ses.its(), stepping: p.ses.mode}
	return p.run(ctx, p.request(ctx, words, tr), tr, say)
}

// answer resumes the run with the client's words, or with the default answer
// of a client that never says anything.
func (p *pull) answer(ctx context.Context, question []mapping.Interrupt) error {
	if err := p.stillAsked(ctx); err != nil {
		return err
	}
	text, given := p.text()
	silent := false // the client said nothing
	tr := &taskRun{task: p.ses.its(), stepping: p.ses.mode, asked: question, asker: p.ses.newest()}
	if !given && p.spelled() == nil {
		text = p.ses.agent.Config.Stepping.DefaultAnswer
		if p.req.Input != nil && strings.TrimSpace(*p.req.Input) != "" {
			text = *p.req.Input
		} else {
			silent = true
			tr.guessed = mapping.QuestionText(question[0].Value)
			tr.spent = p.ses.spent(tr.guessed)
		}
	}
	p.said = true
	update, upTo := p.uploadsAsUpdate(ctx)
	tr.uploaded = upTo
	n := adapter.NewRun{
		ThreadID: p.ses.task.ThreadID, Flavour: p.flavour, Multitask: mapping.StrategyEnqueue,
		Command: &adapter.Command{HasResume: true, Resume: p.resume(question, text), Update: update},
		Retries: p.req.Retries, RetriesSaid: p.req.RetriesSaid,
	}
	if p.req.AdditionalInput != nil {
		n.Kwargs = new(rawjson.Pieces).Literal(`{"additional_input":`).Raw(p.req.AdditionalInput).Literal("}").Join()
	}
	err := p.run(ctx, n, tr, nil)
	if silent && mapping.Classify(err).Code == mapping.CodeNothingToResume {
		return nil // another client answered meanwhile, and the steps follow from that
	}
	return err
}

// resume is the resume value: what the client spelled out, or its words in the
// form of the question.
func (p *pull) resume(question []mapping.Interrupt, text string) json.RawMessage {
	if spelled := p.spelled(); spelled != nil {
		return spelled
	}
	if len(question) == 1 {
		return mapping.ResumeFor(question[0], text)
	}
	answers := make(map[string]json.RawMessage, len(question))
	for _, q := range question { // one answer for all that were asked at once
		answers[q.ID] = mapping.ResumeFor(q, text)
	}
	raw, _ := json.Marshal(answers)
	return raw
}

// spelled is an answer in the question's own form, nil for none.
func (p *pull) spelled() json.RawMessage {
	return rawjson.Get(p.req.AdditionalInput, "resume")
}

// handOut completes a step whose hand-out is noted: the cursor stands behind it.
func (p *pull) handOut(ctx context.Context, step mapping.Step, leave func()) (adapter.Handout, error) {
	ses, again := p.ses, step.N < p.n
	detached, over := context.WithoutCancel(ctx), sync.Once{}
	settle := func(do func(context.Context, int)) func() {
		return func() {
			over.Do(func() {
				defer leave()
				if !again {
					do(detached, step.N)
				}
			})
		}
	}
	release := settle(p.takeBack)
	list := []mapping.Step{withRequest(step, ses.fetched(step.N, p.asked(), again))}
	if err := p.withArtifacts(ctx, ses.task.ThreadID, list); err != nil {
		release()
		return adapter.Handout{}, err
	}
	return adapter.Handout{Step: list[0], Losses: ses.lossesOf(step.RunID), Release: release, Confirm: settle(p.handedOut)}, nil
}

// asked is what the step is fetched with.
func (p *pull) asked() store.StepRequest {
	return store.StepRequest{Input: p.req.Input, AdditionalInput: p.req.AdditionalInput, Key: p.key(stepRoute)}
}

func withRequest(step mapping.Step, r store.StepRequest) mapping.Step {
	step.Input, step.AdditionalInput = r.Input, r.AdditionalInput
	return step
}
