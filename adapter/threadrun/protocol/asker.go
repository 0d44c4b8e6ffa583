package protocol

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// mostAskers bounds how many runs are looked at for an open question.
const mostAskers = 32

// asker is the run that asked the questions; zero where none is found. Questions that agents have
// asked each for itself cannot be answered by one run.
func (c *command) asker(questions []mapping.Interrupt) (asker mapping.Run, err error) {
	runs, err := c.askers(questions)
	if err != nil || len(runs) == 0 {
		return asker, err
	}
	if severalAgents(runs) {
		return asker, invalid("%s are questions of several agents. Answer those of each agent by themselves.", strings.Join(idsOf(questions), ", "))
	}
	return runs[0], nil
}

// askedBy reports whether one of the questions is an agent's. A question whose run is gone may be
// any agent's.
func (c *command) askedBy(agent string, questions []mapping.Interrupt) (bool, error) {
	runs, err := c.askers(questions)
	return len(runs) == 0 || slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.Agent == agent }), err
}

// askers are the runs that asked the questions, as far as they are found. The newest run need not
// be among them: it may be of another agent, that worked beside the one which asked.
func (c *command) askers(questions []mapping.Interrupt) (found []mapping.Run, err error) {
	runs, err := adapter.All(c.s.Service.RunIndex.List(c.ctx, adapter.RunQuery{ThreadID: c.thread, Status: []mapping.RunStatus{mapping.RunInterrupted}, Limit: mostAskers}))
	if err != nil || !severalAgents(runs) {
		return runs[:min(len(runs), 1)], err
	}
	for _, q := range questions {
		i := slices.IndexFunc(runs, func(r mapping.Run) (asked bool) {
			if err == nil {
				asked, err = c.hasAsked(r, q)
			}
			return asked
		})
		if i >= 0 {
			found = append(found, runs[i])
		}
	}
	return found, err
}

func (c *command) hasAsked(run mapping.Run, q mapping.Interrupt) (bool, error) {
	ref := adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}
	is := func(other mapping.Interrupt) bool { return other.ID == q.ID }
	for e, err := range c.s.Service.Runs.Events(c.ctx, ref, adapter.Cursor{K: -1, Start: true}, nil) {
		if err != nil {
			return false, unlessGone(err)
		}
		if slices.ContainsFunc(e.Head.Interrupts, is) || e.Head.Outcome != nil && slices.ContainsFunc(e.Head.Outcome.Interrupts, is) {
			return true, nil
		}
	}
	return false, nil
}

// unlessGone is err, unless it says that what was read was deleted meanwhile.
func unlessGone(err error) error {
	if isNotFound(err) {
		return nil
	}
	return err
}

// severalAgents reports whether the runs are not all of one agent, with the same settings.
func severalAgents(runs []mapping.Run) bool {
	return slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.AssistantID != runs[0].AssistantID })
}
