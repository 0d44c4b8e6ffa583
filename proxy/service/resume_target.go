package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// mostAskers bounds how many ended runs are looked at for an open question.
const mostAskers = 32

// resumeTarget is the run that an answer belongs to: the newest one of the agent on
// the thread. Where runs are beside each other, it is the newest that has asked
// what is still open, and what the answer names, if it names a question.
func (b *runBuilder) resumeTarget(ctx context.Context) (mapping.Run, error) {
	q := store.RunQuery{ThreadID: b.out.Run.ThreadID, Agent: b.out.Run.Agent, Limit: 1}
	if b.agent.Config.AllowConcurrent && len(b.thread.Interrupts) > 0 {
		q.Limit, q.Status = mostAskers, []mapping.RunStatus{mapping.RunInterrupted}
	}
	last, err := b.st.Runs(ctx, q)
	if err != nil || len(last) == 0 {
		return mapping.Run{}, err
	}
	if q.Limit == 1 {
		return last[0], nil
	}
	wanted := answeredBy(b.out.Run.Options.Resume, b.thread.Interrupts)
	for _, r := range last {
		if asked, err := b.asked(ctx, r, wanted); err != nil || asked {
			return r, err
		}
	}
	return last[0], nil
}

// asked reports whether one of the questions is the run's.
func (b *runBuilder) asked(ctx context.Context, r mapping.Run, wanted []mapping.Interrupt) (bool, error) {
	events, err := b.st.Events(ctx, r.ThreadID, r.ID, 0, 0)
	if notFound(err) { // it was rolled back meanwhile
		return false, nil
	}
	return slices.ContainsFunc(events, func(ev mapping.Event) bool {
		own := ev.Head.Interrupts
		if ev.Head.Outcome != nil {
			own = append(own[:len(own):len(own)], ev.Head.Outcome.Interrupts...)
		}
		return anyOf(wanted, own)
	}), err
}

// awaited refuses an answer that the thread does not wait for. A run that was
// stopped before or after a node waits, though it has asked nothing; one that was
// cancelled does not.
func (b *runBuilder) awaited(ctx context.Context, last mapping.Run) error {
	open := b.thread.Interrupts
	switch {
	case last.ID == "":
	case last.Options.Resuming && (last.Status == mapping.RunRunning || last.Status == mapping.RunPending && !b.displaces()):
		open = without(open, answeredBy(last.Options.Resume, open))
	case len(open) > 0:
		// The question may be another agent's, which has worked on the thread since.
		if asked, err := b.endQuestions(ctx, last); err != nil || len(asked) == 0 || anyOf(open, asked) {
			return err
		}
	case last.Status == mapping.RunInterrupted:
		st, err := b.st.Standing(ctx, last.ThreadID, last.ID)
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
func (b *runBuilder) endQuestions(ctx context.Context, r mapping.Run) ([]mapping.Interrupt, error) {
	st, err := b.st.Standing(ctx, r.ThreadID, r.ID)
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
func (b *runBuilder) displaces() bool {
	s := b.strategy()
	return s == mapping.StrategyInterrupt || s == mapping.StrategyRollback
}

func (b *runBuilder) checkAnswer() error {
	o := b.out.Run.Options
	if !b.traits.Opaque {
		if err := rule.CheckAnswer(o.Resume, o.Asked); err != nil {
			return err
		}
		return rule.CheckSchemas(o)
	}
	return rule.CheckStepAnswer(o)
}

// answeredBy are the open questions that an answer names by their ids; all of
// them where it names none.
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
