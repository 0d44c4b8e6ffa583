package plan

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// runLineage decides what a run goes on with: a task of its own, or the one whose question it answers.
type runLineage struct {
	*draft
	runs *store.Runs
}

// resumeTarget is the run that an answer belongs to: the newest of the agent's that asked what the answer names, or, if
// it names nothing, what is open. Else it is the agent's newest.
func (b runLineage) resumeTarget(ctx context.Context) (*mapping.Run, error) {
	askers, err := b.askers(ctx, answeredBy(b.out.Run.Options.Resume, b.thread.Interrupts))
	if err != nil || len(askers) > 0 {
		return first(askers), err
	}
	last, err := b.runs.List(ctx, mapping.RunQuery{ThreadID: b.out.Run.ThreadID, Agent: b.out.Run.Agent, Limit: 1})
	return first(last), err
}

// first is the zero run where there is none.
func first(list []mapping.Run) *mapping.Run {
	if len(list) > 0 {
		return &list[0]
	}
	return &mapping.Run{}
}

// askers are the runs of the agent that asked some of the questions, the last to ask first.
func (b runLineage) askers(ctx context.Context, questions []mapping.Interrupt) (list []mapping.Run, err error) {
	for _, q := range slices.Backward(questions) {
		known := func(r mapping.Run) bool { return r.ID == q.Run }
		if q.Run == "" || slices.ContainsFunc(list, known) {
			continue
		}
		r, err := b.runs.Get(ctx, b.thread.ID, q.Run)
		if err != nil && !notFound(err) { // not found: it was rolled back meanwhile
			return nil, err
		}
		if err == nil && r.Agent == b.out.Run.Agent {
			list = append(list, *r)
		}
	}
	return list, nil
}

// questionsOf are the open questions that a run asked, and those of older versions, of which that is not known.
func (b runLineage) questionsOf(r *mapping.Run) []mapping.Interrupt {
	return slices.DeleteFunc(slices.Clone(b.thread.Interrupts), func(q mapping.Interrupt) bool { return q.Run != "" && q.Run != r.ID })
}

// oneAsker refuses an answer to questions of several runs, which none of them could be given, and one that names no
// question while several runs of the agent wait.
func (b runLineage) oneAsker(ctx context.Context, own []mapping.Interrupt) error {
	open, answer := b.thread.Interrupts, b.out.Run.Options.Resume
	named := rule.Named(answer, open)
	if len(named) == 0 {
		askers, err := b.askers(ctx, open)
		if err == nil && len(askers) > 1 {
			err = rule.WhichQuestion(open)
		}
		return err
	}
	others := without(named, own)
	if len(own) == 0 || len(others) == 0 {
		return nil
	}
	return rule.OtherAskers(others, open)
}

// awaited refuses an answer that the thread does not wait for. A run that was stopped before or after a node waits,
// though it has asked nothing; one that was cancelled does not.
func (b runLineage) awaited(ctx context.Context, last *mapping.Run, own []mapping.Interrupt) error {
	open := b.thread.Interrupts
	switch {
	case last.ID == "":
	case last.Options.Resuming && (last.Status == mapping.RunRunning || last.Status == mapping.RunPending && !b.displaces()):
		open = without(open, answeredBy(last.Options.Resume, open))
	case slices.ContainsFunc(own, func(q mapping.Interrupt) bool { return q.Run == last.ID }):
		return nil
	case len(own) > 0:
		// It is not noted whose the question is: another agent's, maybe, which has worked on the thread since.
		if asked, err := b.endQuestions(ctx, last); err != nil || len(asked) == 0 || anyOf(own, asked) {
			return err
		}
	case last.Status == mapping.RunInterrupted:
		st, err := b.runs.Standing(ctx, last.ThreadID, last.ID)
		if notFound(err) {
			break // it was rolled back meanwhile
		}
		if o := st.Last.Head.Outcome; err != nil || o == nil || !o.Cancelled {
			return err
		}
	}
	return rule.NothingToResume(b.out.Run.ThreadID, open)
}

// endQuestions are those that a run ended with, as far as its end names them.
func (b runLineage) endQuestions(ctx context.Context, r *mapping.Run) ([]mapping.Interrupt, error) {
	st, err := b.runs.Standing(ctx, r.ThreadID, r.ID)
	if notFound(err) { // it was rolled back meanwhile
		return nil, nil
	}
	if o := st.Last.Head.Outcome; err == nil && o != nil {
		return o.Interrupts, nil
	}
	return nil, err
}

// anyOf reports whether one of the questions is in the list.
func anyOf(list, some []mapping.Interrupt) bool {
	return slices.ContainsFunc(some, func(q mapping.Interrupt) bool { return has(list, q.ID) })
}

// displaces: what holds the thread is stopped first.
func (b runLineage) displaces() bool {
	s := b.out.Run.Multitask
	return s == mapping.StrategyInterrupt || s == mapping.StrategyRollback
}

func (b runLineage) checkAnswer() error {
	o := &b.out.Run.Options
	if !b.traits.Opaque {
		if err := rule.CheckAnswer(o.Resume, o.Asked); err != nil {
			return err
		}
		return rule.CheckSchemas(o)
	}
	return rule.CheckStepAnswer(o)
}

// answeredBy are the open questions that an answer names by their ids; all of them where it names none.
func answeredBy(answer json.RawMessage, open []mapping.Interrupt) []mapping.Interrupt {
	if named := rule.Named(answer, open); len(named) > 0 {
		return named
	}
	return open
}

func without(list, some []mapping.Interrupt) []mapping.Interrupt {
	return slices.DeleteFunc(slices.Clone(list), func(q mapping.Interrupt) bool { return has(some, q.ID) })
}

func has(list []mapping.Interrupt, id string) bool {
	return slices.ContainsFunc(list, func(q mapping.Interrupt) bool { return q.ID == id })
}

// decide says which task the run belongs to: a resume keeps the task of the question, any other run begins one.
func (b runLineage) decide(ctx context.Context) error {
	o := &b.out.Run.Options
	switch {
	case b.task != nil && o.Resuming:
		return b.answerTask()
	case b.task != nil:
		return nil
	case b.traits.Opaque && o.Goto != nil:
		return b.drop(ctx)
	case o.Resuming:
		return b.answer(ctx)
	}
	b.ownTask()
	return nil
}

// answerTask has the run answer the question of the task that it belongs to.
func (b runLineage) answerTask() error {
	b.out.Answers.Run = b.task.AskedBy.ID
	b.resumes(&b.task.AskedBy)
	return b.checkAnswer()
}

// answer has the run answer an open question of the thread, in the task that asked it.
func (b runLineage) answer(ctx context.Context) error {
	o := &b.out.Run.Options
	o.Resume = rule.AnswerAsAsked(o.Resume, b.thread.Interrupts)
	last, err := b.resumeTarget(ctx)
	if err != nil {
		return err
	}
	own := b.questionsOf(last)
	if err := b.oneAsker(ctx, own); err != nil {
		return err
	}
	if err := b.awaited(ctx, last, own); err != nil {
		return err
	}
	b.out.Run.TaskID, o.Asked = last.TaskID, own
	b.resumes(last)
	b.out.Answers = store.Answers{Run: last.ID, Open: answeredBy(o.Resume, o.Asked)}
	if b.n.StrictResume {
		if err := rule.CheckStrictly(o.Resume, o.Asked); err != nil {
			return err
		}
	}
	return b.checkAnswer()
}

// resumes notes the trace of the run that is answered: the answer's own is that of its request.
func (b runLineage) resumes(asked *mapping.Run) {
	if at := asked.Place(); at.Parent != "" {
		b.out.Run.Options.Resumes = &at
	}
}

// drop makes a run that drops the open question: it is the last of the task that asked. Without a question it is a run
// of nothing. The agent is told nothing in either, so no input may come along.
func (b runLineage) drop(ctx context.Context) error {
	if len(b.in.Messages)+len(b.in.Files) > 0 {
		return refuse("input is not supported beside %s %q, which ends the task without a step. Send the input in a run of its own.",
			mapping.MeansGoto, rule.EndNode)
	}
	last, err := b.resumeTarget(ctx)
	open := b.questionsOf(last)
	if err != nil || len(open) == 0 || last.Status != mapping.RunInterrupted {
		b.ownTask()
		return err
	}
	b.out.Run.TaskID = last.TaskID
	b.out.Answers = store.Answers{Run: last.ID, Open: open}
	return nil
}

// ownTask has the run begin a task of its own.
func (b runLineage) ownTask() {
	r := &b.out.Run
	b.out.Task = &mapping.Task{
		Tenant: r.Tenant, Owner: r.Owner, ID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Input: b.in.Text, HasInput: b.in.HasText,
		AdditionalInput: json.RawMessage("{}"), CreatedAt: b.now, UpdatedAt: b.now,
	}
}
