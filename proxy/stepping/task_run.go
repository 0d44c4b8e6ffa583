package stepping

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// runMaker makes runs of tasks.
type runMaker struct {
	planner Planner
	engine  beginner
}

// beginner begins runs that were planned; engine.Engine implements it.
type beginner interface {
	Begin(ctx context.Context, o *engine.StartRequest) (*store.Created, error)
}

// start makes a run of the task. say is what its first upstream step is told verbatim, where each is asked for.
func (m runMaker) start(ctx context.Context, ses *session, n adapter.NewRun, tr *TaskRun, say *string, key idempotency.Key) (mapping.Run, error) {
	o, err := m.planner.PlanTaskRun(ctx, ses.agent, n, tr)
	if err != nil {
		return mapping.Run{}, err
	}
	o.Text = say
	o.New.IdempotencyKey, o.New.IdempotencyRoute, o.New.IdempotencySum = key.Text, key.Route, key.Sum
	if tr.Asked == nil {
		o.New.Newest = &tr.newest
	}
	created, err := m.engine.Begin(ctx, o)
	if err != nil {
		return mapping.Run{}, err
	}
	ses.joined(created.Run)
	return created.Run, nil
}

// taskRuns makes the runs that POSTs for steps, and answers, ask for.
type taskRuns struct {
	maker   runMaker
	uploads uploads
	runs    *store.Runs
}

// first starts the task's run.
func (s *taskRuns) first(ctx context.Context, p *stepRequest) error {
	var words []string
	if p.ses.task.HasInput {
		words = append(words, p.ses.task.Input)
	}
	say := p.req.Input
	if text, ok := p.text(); ok && p.ses.Mode() != mapping.SteppingLockstep {
		words, say = append(words, text), nil
	}
	p.used = true
	if len(words) == 0 && p.req.Input != nil && *p.req.Input != "" {
		words = []string{*p.req.Input}
	}
	if p.ses.Mode() != mapping.SteppingLockstep {
		say = nil
	}
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.Mode()}
	return s.run(ctx, p, s.request(ctx, p, words, tr), tr, say)
}

func (s *taskRuns) followUp(ctx context.Context, p *stepRequest, text string) error {
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.Mode(), FollowUp: true, newest: p.ses.newestRun().ID}
	return s.run(ctx, p, s.request(ctx, p, []string{text}, tr), tr, nil)
}

// answer resumes the run with the client's words, or with the default answer of a client that never says anything.
func (s *taskRuns) answer(ctx context.Context, p *stepRequest, question []mapping.Interrupt) error {
	if err := s.stillAsked(ctx, p); err != nil {
		return err
	}
	text, given := p.text()
	silent := false // the client said nothing
	tr := &TaskRun{Task: p.ses.Task(), Stepping: p.ses.Mode(), Asked: question, AskedBy: p.ses.newestRun()}
	if !given && p.explicitAnswer() == nil {
		text = p.ses.agent.Config.Stepping.AutoAnswer
		if p.req.Input != nil && strings.TrimSpace(*p.req.Input) != "" {
			text = *p.req.Input
		} else {
			silent = true
			tr.Guessed = rule.QuestionText(question[0].Value)
			tr.Exhausted = p.ses.exhaustedQuestions(tr.Guessed)
		}
	}
	p.used = true
	update, upTo := s.uploads.asUpdate(ctx, p.ses)
	tr.Uploaded = upTo
	extra := rule.ReadTaskExtra(p.ses.task.AdditionalInput)
	n := adapter.NewRun{
		ThreadID: p.ses.task.ThreadID, Flavour: p.flavour, Multitask: mapping.StrategyEnqueue, Config: extra.Config, Context: extra.Context,
		Command: &adapter.Command{HasResume: true, Resume: p.resume(question, text), Update: update},
		Kwargs:  rule.RequestOfStep(p.req.AdditionalInput, extra),
		Retries: p.req.Retries, RetriesSaid: p.req.RetriesSaid,
	}
	err := s.run(ctx, p, n, tr, nil)
	if silent && mapping.Classify(err).Code == mapping.CodeNothingToResume {
		return nil // another client answered meanwhile, and the steps follow from that
	}
	return err
}

// resume is the resume value: what the client spelled out, or its words in the form of the question.
func (p *stepRequest) resume(question []mapping.Interrupt, text string) json.RawMessage {
	if spelled := p.explicitAnswer(); spelled != nil {
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

// run makes a run of the task. A POST that is sent again with its key makes none.
func (s *taskRuns) run(ctx context.Context, p *stepRequest, n adapter.NewRun, tr *TaskRun, say *string) error {
	p.made++
	key := p.runKey
	if key.Text == "" {
		key = p.key(fmt.Sprintf("%s run %d", stepRoute, p.made))
	}
	_, err := s.maker.start(ctx, p.ses, n, tr, say, key)
	if err != nil && mapping.Classify(err).Code == store.CodeTaskMoved { // nothing was made or told
		p.made, p.used = p.made-1, false
	}
	return err
}

// stillAsked refuses an answer that no run waits for any more: an agent that keeps one state for the whole topic has
// forgotten its question as soon as another task of it began.
func (s *taskRuns) stillAsked(ctx context.Context, p *stepRequest) error {
	task := p.ses.Task()
	if traits, known := p.ses.agent.Known(); !known || traits.Opaque {
		return nil
	}
	last, err := s.runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, Limit: 1})
	if err != nil || len(last) == 0 || last[0].TaskID == task.ID {
		return err
	}
	e := mapping.Errorf(mapping.Conflict, "question_dropped",
		"The question of this task was dropped when task %s of its topic began. Say what is to be done in a new task.", last[0].TaskID)
	e.Detail = map[string]string{"task_id": last[0].TaskID}
	return e
}
