package service

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// askers bounds how many ended runs are looked at for an open question.
const askers = 32

// asker is the run that an answer belongs to: the newest one of the agent on
// the thread. Where runs are beside each other, it is the newest that has asked
// what is still open, and what the answer names, if it names a question.
func (b *runBuilder) asker(ctx context.Context) (mapping.Run, error) {
	q := store.RunQuery{ThreadID: b.out.Run.ThreadID, Agent: b.out.Run.Agent, Limit: 1}
	if b.agent.Config.AllowConcurrent && len(b.thread.Interrupts) > 0 {
		q.Limit, q.Status = askers, []mapping.RunStatus{mapping.RunInterrupted}
	}
	last, err := b.st.Runs(ctx, q)
	if err != nil || len(last) == 0 {
		return mapping.Run{}, err
	}
	if q.Limit == 1 {
		return last[0], nil
	}
	wanted := named(b.out.Run.Options.Resume, b.thread.Interrupts)
	for _, r := range last {
		if asked, err := b.asked(ctx, r, wanted); err != nil || asked {
			return r, err
		}
	}
	return last[0], nil
}

// asked tells whether one of the questions is the run's.
func (b *runBuilder) asked(ctx context.Context, r mapping.Run, wanted []mapping.Interrupt) (bool, error) {
	events, err := b.st.Events(ctx, r.ThreadID, r.ID, 0, 0)
	return slices.ContainsFunc(events, func(ev mapping.Event) bool {
		own := ev.Head.Interrupts
		if ev.Head.Outcome != nil {
			own = append(own[:len(own):len(own)], ev.Head.Outcome.Interrupts...)
		}
		return slices.ContainsFunc(own, func(q mapping.Interrupt) bool { return has(wanted, q.ID) })
	}), err
}

// named are the open questions that an answer names by their ids; all of them
// where it names none.
func named(answer []byte, open []mapping.Interrupt) []mapping.Interrupt {
	var by map[string]any
	if json.Unmarshal(answer, &by) != nil {
		return open
	}
	chosen := slices.DeleteFunc(slices.Clone(open), func(q mapping.Interrupt) bool { _, ok := by[q.ID]; return !ok })
	if len(chosen) == 0 {
		return open
	}
	return chosen
}

func has(list []mapping.Interrupt, id string) bool {
	return slices.ContainsFunc(list, func(q mapping.Interrupt) bool { return q.ID == id })
}
