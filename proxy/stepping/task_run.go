package stepping

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// first starts the task's run.
func (p *stepRequest) first(ctx context.Context) error {
	var words []string
	if p.ses.task.HasInput {
		words = append(words, p.ses.task.Input)
	}
	say := p.req.Input
	if text, ok := p.text(); ok && p.ses.mode != mapping.SteppingLockstep {
		words, say = append(words, text), nil
	}
	p.used = true
	if len(words) == 0 && p.req.Input != nil && *p.req.Input != "" {
		words = []string{*p.req.Input}
	}
	if p.ses.mode != mapping.SteppingLockstep {
		say = nil
	}
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.mode}
	return p.run(ctx, p.request(ctx, words, tr), tr, say)
}

func (p *stepRequest) followUp(ctx context.Context, text string) error {
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.mode, FollowUp: true, newest: p.ses.newestRun().ID}
	return p.run(ctx, p.request(ctx, []string{text}, tr), tr, nil)
}

// answer resumes the run with the client's words, or with the default answer of a client that never says anything.
func (p *stepRequest) answer(ctx context.Context, question []mapping.Interrupt) error {
	if err := p.stillAsked(ctx); err != nil {
		return err
	}
	text, given := p.text()
	silent := false // the client said nothing
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.mode, Asked: question, AskedBy: p.ses.newestRun()}
	if !given && p.spelled() == nil {
		text = p.ses.agent.Config.Stepping.DefaultAnswer
		if p.req.Input != nil && strings.TrimSpace(*p.req.Input) != "" {
			text = *p.req.Input
		} else {
			silent = true
			tr.Guessed = rule.QuestionText(question[0].Value)
			tr.Exhausted = p.ses.exhaustedQuestions(tr.Guessed)
		}
	}
	p.used = true
	update, upTo := p.uploads.asUpdate(ctx)
	tr.Uploaded = upTo
	n := adapter.NewRun{
		ThreadID: p.ses.task.ThreadID, Flavour: p.flavour, Multitask: mapping.StrategyEnqueue,
		Command: &adapter.Command{HasResume: true, Resume: p.resume(question, text), Update: update},
		Kwargs:  rule.RequestOfStep(p.req.AdditionalInput),
		Retries: p.req.Retries, RetriesSaid: p.req.RetriesSaid,
	}
	err := p.run(ctx, n, tr, nil)
	if silent && mapping.Classify(err).Code == mapping.CodeNothingToResume {
		return nil // another client answered meanwhile, and the steps follow from that
	}
	return err
}

// resume is the resume value: what the client spelled out, or its words in the form of the question.
func (p *stepRequest) resume(question []mapping.Interrupt, text string) json.RawMessage {
	if spelled := p.spelled(); spelled != nil {
		return spelled
	}
	if len(question) == 1 || question[0].Nameless { // the agent asks the next one again
		return rule.ResumeFor(question[0], text)
	}
	answers := make(map[string]json.RawMessage, len(question))
	for _, q := range question { // one answer for all that were asked at once
		answers[q.ID] = rule.ResumeFor(q, text)
	}
	raw, _ := json.Marshal(answers)
	return raw
}

// spelled is an answer in the question's own form, nil for none.
func (p *stepRequest) spelled() json.RawMessage {
	return rule.ReadTaskExtra(p.req.AdditionalInput).Resume
}

// run makes a run of the task. A POST that is sent again with its key makes none.
func (p *stepRequest) run(ctx context.Context, n adapter.NewRun, tr *TaskRun, say *string) error {
	p.made++
	key := p.runKey
	if key.Text == "" {
		key = p.key(fmt.Sprintf("%s run %d", stepRoute, p.made))
	}
	_, err := p.startRun(ctx, p.ses, n, tr, say, key)
	if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved { // nothing was made or told
		p.made, p.used = p.made-1, false
	}
	return err
}

// startRun makes a run of the task. say is what its first upstream step is told verbatim, where each is asked for.
func (s *Stepper) startRun(ctx context.Context, ses *session, n adapter.NewRun, tr *TaskRun, say *string, key idempotency.Key) (mapping.Run, error) {
	o, err := s.planner.PlanTaskRun(ctx, ses.agent, n, tr)
	if err != nil {
		return mapping.Run{}, err
	}
	o.Say = say
	o.New.IdempotencyKey, o.New.IdempotencyRoute, o.New.IdempotencySum = key.Text, key.Route, key.Sum
	if tr.Asked == nil {
		o.New.Newest = &tr.newest
	}
	created, err := s.engine.Begin(ctx, o)
	if err != nil {
		return mapping.Run{}, err
	}
	ses.joined(created.Run)
	return created.Run, nil
}
