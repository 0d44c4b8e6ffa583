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
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
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
	ses = s.sessions.hold(ses)
	if err := ses.enter(ctx); err != nil {
		s.sessions.letGo(ses)
		return adapter.Handout{}, err
	}
	p := &pull{tasks: s, ses: ses, req: req, n: ses.ofTask().Cursor + 1}
	leave := sync.OnceFunc(p.leave)
	step, err := p.due(ctx)
	if err != nil {
		leave()
		return adapter.Handout{}, err
	}
	context.AfterFunc(ctx, leave) // an answer that was never written: the next POST gets the step again
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
}

// leave lets the next POST have its turn. A run that goes on by itself is
// watched from now on: somebody has to ask for its steps.
func (p *pull) leave() {
	if _, r, _, active := p.ses.current(); active && p.ses.mode != mapping.SteppingLockstep {
		p.engine.CancelIdle(r)
	}
	<-p.ses.turn
	p.sessions.letGo(p.ses)
}

// due is the step that an earlier POST with the same key was given, else the
// next one.
func (p *pull) due(ctx context.Context) (mapping.Step, error) {
	made, ok, err := p.st.Remembered(ctx, p.key(stepRoute))
	if err != nil || !ok {
		if err != nil {
			return mapping.Step{}, err
		}
		return p.next(ctx)
	}
	if err := p.catchUp(ctx, p.ses); err != nil {
		return mapping.Step{}, err
	}
	n, _ := strconv.Atoi(made)
	if step, ok := p.ses.step(n); ok {
		return step, nil
	}
	return mapping.Step{}, mapping.Errorf(mapping.NotFound, mapping.CodeStepNotFound, "The step that was handed out for this Idempotency-Key is not there any more.")
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
		if err := p.catchUp(ctx, p.ses); err != nil {
			return mapping.Step{}, err
		}
		i, run, _, active := p.ses.current()
		if err := p.interject(ctx, active); err != nil {
			return mapping.Step{}, err
		}
		if step, ok := p.ses.step(p.n); ok {
			return step, nil
		}
		var err error
		switch {
		case active && p.ses.mode == mapping.SteppingLockstep:
			err = p.lockstep(ctx, run)
		case active:
			err = p.follow(ctx, i, run)
		default:
			var again mapping.Step
			var done bool
			if again, done, err = p.begin(ctx); done {
				return again, err
			}
		}
		if err != nil {
			return mapping.Step{}, err
		}
	}
}

// interject makes a follow-up run of words that come while the run goes on, or
// while the client still fetches its steps. In lockstep they belong to the next
// upstream step instead.
func (p *pull) interject(ctx context.Context, active bool) error {
	text, ok := p.text()
	if !ok || p.ses.asks() || p.ses.mode == mapping.SteppingLockstep || !p.ses.agent.Config.Stepping.FollowUp {
		return nil
	}
	if _, behind := p.ses.step(p.n); !active && (!behind || p.ses.cancelled()) {
		return nil
	}
	p.said = true
	return p.followUp(ctx, text)
}

func (p *pull) followUp(ctx context.Context, text string) error {
	tr := &taskRun{task: p.ses.ofTask(), stepping: p.ses.mode, followUp: true, due: p.n}
	return p.run(ctx, p.request(ctx, []string{text}), tr, nil)
}

// run makes a run of the task. A POST that is sent again with its key makes
// none.
func (p *pull) run(ctx context.Context, n adapter.NewRun, tr *taskRun, say *string) error {
	p.made++
	_, err := p.startStep(ctx, p.ses, n, tr, say, p.key(fmt.Sprintf("%s run %d", stepRoute, p.made)))
	return err
}

// follow reads the run's log until the step is released or the run has ended.
func (p *pull) follow(ctx context.Context, i int, run mapping.Run) error {
	p.engine.Pulled(run.ID)
	_, _, after, _ := p.ses.current()
	for e, err := range p.log.Follow(ctx, run, after) {
		if err != nil {
			return err
		}
		p.ses.feed(i, e)
		if _, ok := p.ses.step(p.n); ok {
			return nil
		}
	}
	return nil
}

// lockstep does one upstream step.
func (p *pull) lockstep(ctx context.Context, run mapping.Run) error {
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
	say := p.req.Input
	p.said = true
	if err := p.engine.Continue(ctx, fresh, say); err != nil && mapping.Classify(err).Class != mapping.Conflict {
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
	if found, err := p.others(ctx, p.ses); found || err != nil {
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
	return p.run(ctx, p.request(ctx, words), &taskRun{task: p.ses.ofTask(), stepping: p.ses.mode}, say)
}

// answer resumes the run with the client's words, or with the default answer
// of a client that never says anything.
func (p *pull) answer(ctx context.Context, question []mapping.Interrupt) error {
	text, given := p.text()
	tr := &taskRun{task: p.ses.ofTask(), stepping: p.ses.mode, asked: question}
	if !given {
		text = p.ses.agent.Config.Stepping.DefaultAnswer
		if p.req.Input != nil && strings.TrimSpace(*p.req.Input) != "" {
			text = *p.req.Input
		} else {
			tr.guessed = mapping.QuestionText(question[0].Value)
		}
	}
	p.said = true
	n := adapter.NewRun{
		ThreadID: p.ses.task.ThreadID, Flavour: mapping.FlavourTaskStep, Multitask: mapping.StrategyEnqueue,
		Command: &adapter.Command{HasResume: true, Resume: p.resume(question, text)},
	}
	n.Kwargs = p.kwargs(nil, nil)
	return p.run(ctx, n, tr, nil)
}

// resume is the resume value: what the client spelled out, or its words in the
// form of the question.
func (p *pull) resume(question []mapping.Interrupt, text string) json.RawMessage {
	var extra struct {
		Resume json.RawMessage `json:"resume"`
	}
	if json.Unmarshal(p.req.AdditionalInput, &extra) == nil && len(extra.Resume) > 0 {
		return extra.Resume
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

// handOut completes the step and moves the cursor once it was written.
func (p *pull) handOut(ctx context.Context, step mapping.Step, leave func()) (adapter.Handout, error) {
	req := store.StepRequest{Input: p.req.Input, AdditionalInput: p.req.AdditionalInput}
	again := step.N < p.n
	if again {
		step = withRequest(step, p.ses.request(step.N))
	} else {
		step = withRequest(step, req)
	}
	list := []mapping.Step{step}
	if err := p.withArtifacts(ctx, p.ses.task.ThreadID, list); err != nil {
		leave()
		return adapter.Handout{}, err
	}
	detached := context.WithoutCancel(ctx)
	return adapter.Handout{Step: list[0], Losses: p.ses.lossesOf(step.RunID), Confirm: func() {
		defer leave()
		if !again && ctx.Err() == nil { // else it may be another POST's by now
			p.confirm(detached, step, req)
		}
	}}, nil
}

// confirm moves the task's cursor past a step that was written.
func (p *pull) confirm(ctx context.Context, step mapping.Step, req store.StepRequest) {
	req.Key = p.key(stepRoute)
	if err := p.st.Confirm(ctx, p.ses.task.ID, step.N, req); err != nil {
		p.zap.Warn("a handed-out step could not be confirmed; it will be handed out again", zap.Error(err), zap.String("task", p.ses.task.ID))
		return
	}
	p.ses.moved(step.N, req)
}

func withRequest(step mapping.Step, r store.StepRequest) mapping.Step {
	step.Input, step.AdditionalInput = r.Input, r.AdditionalInput
	return step
}
