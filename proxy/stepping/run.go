package stepping

import (
	"context"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// start starts the task's first run.
func (s *Stepper) start(ctx context.Context, p *stepRequest) error {
	lockstep := p.ses.Mode() == mapping.SteppingLockstep
	var texts []string
	if p.ses.task.HasInput {
		texts = append(texts, p.ses.task.Input)
	}
	if text, ok := p.text(); ok && !lockstep {
		texts = append(texts, text)
	}
	p.used = true
	if len(texts) == 0 && p.req.Input != nil && *p.req.Input != "" {
		texts = []string{*p.req.Input}
	}
	var step *string
	if lockstep {
		step = p.req.Input
	}
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.Mode()}
	return s.makeRun(ctx, p, s.runOfTexts(ctx, p, texts, tr), tr, step)
}

// followUp starts a run from input that arrives after the task's last run.
func (s *Stepper) followUp(ctx context.Context, p *stepRequest, text string) error {
	p.used = true
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.Mode(), FollowUp: true, newest: p.ses.newestRun().ID}
	return s.makeRun(ctx, p, s.runOfTexts(ctx, p, []string{text}, tr), tr, nil)
}

// answer resumes the run with the client's input, or with the default answer if the client sent none.
func (s *Stepper) answer(ctx context.Context, p *stepRequest, question []mapping.Interrupt) error {
	if err := s.stillAsked(ctx, p); err != nil {
		return err
	}
	text, given := p.text()
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.Mode(), Asked: question, AskedBy: p.ses.newestRun()}
	silent := false // the client sent no input
	if !given && p.explicitAnswer() == nil {
		text = p.ses.config().AutoAnswer
		if p.req.Input != nil && strings.TrimSpace(*p.req.Input) != "" {
			text = *p.req.Input
		} else {
			silent = true
			tr.Guessed = rule.QuestionText(question[0].Value)
			tr.Exhausted = p.ses.exhaustedQuestions(tr.Guessed)
		}
	}
	p.used = true
	update, uploaded := s.uploadsAsUpdate(ctx, p.ses)
	tr.Uploaded = uploaded
	extra := rule.ReadTaskExtra(p.ses.task.AdditionalInput)
	n := adapter.RunRequest{
		ThreadID: p.ses.task.ThreadID, Flavour: p.flavour, Multitask: mapping.StrategyEnqueue, Config: extra.Config, Context: extra.Context,
		Command: &adapter.Command{HasResume: true, Resume: p.resume(question, text), Update: update},
		Kwargs:  rule.RequestOfStep(p.req.AdditionalInput, extra),
		Retries: p.req.Retries, RetriesSet: p.req.RetriesSet,
	}
	err := s.makeRun(ctx, p, n, tr, nil)
	if silent && mapping.Classify(err).Code == mapping.CodeNoPendingInterrupt {
		return nil // another client has answered, and its answer leads to the next steps
	}
	return err
}

// stillAsked refuses an answer if no run waits for it. If an agent has one state for the whole topic, it drops its
// question when another task of the topic begins.
func (s *Stepper) stillAsked(ctx context.Context, p *stepRequest) error {
	task := p.ses.Task()
	if traits, known := p.ses.agent.Known(); !known || !traits.Exposes.ReportsState() {
		return nil
	}
	last, err := s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, Limit: 1})
	if err != nil || len(last) == 0 || last[0].TaskID == task.ID {
		return err
	}
	e := mapping.Errorf(mapping.Conflict, "question_dropped",
		"The question of this task was dropped when task %s of its topic began. Continue in a new task.", last[0].TaskID)
	e.Detail = map[string]string{"task_id": last[0].TaskID}
	return e
}

// makeRun begins a run for a POST. A repeated POST with the same key does not begin a second run.
func (s *Stepper) makeRun(ctx context.Context, p *stepRequest, n adapter.RunRequest, tr *TaskRun, step *string) error {
	p.made++
	key := p.runKey
	if key.Text == "" {
		key = p.key(fmt.Sprintf("%s run %d", stepRoute, p.made))
	}
	_, err := s.begin(ctx, p.ses, n, tr, step, key)
	if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved { // nothing was created
		p.made, p.used = p.made-1, false
	}
	return err
}

// begin plans a run of the task and begins it. In lockstep, the agent gets step verbatim with the run's first step.
func (s *Stepper) begin(ctx context.Context, ses *session, n adapter.RunRequest, tr *TaskRun, step *string, key store.IdempotencyKey) (mapping.Run, error) {
	start, err := s.planner.PlanTaskRun(ctx, ses.agent, n, tr)
	if err != nil {
		return mapping.Run{}, err
	}
	start.Text = step
	start.New.IdempotencyKey, start.New.IdempotencyRoute, start.New.IdempotencySum = key.Text, key.Route, key.Sum
	if tr.Asked == nil {
		start.New.Newest = &tr.newest
	}
	created, err := s.engine.Begin(ctx, start)
	if err != nil {
		return mapping.Run{}, err
	}
	ses.joined(created.Run)
	return created.Run, nil
}
