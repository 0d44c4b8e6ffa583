package protocol

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

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

// askers are the runs that asked the questions, as far as they are there. A question of a thread
// of an older version does not say its run: then it is the newest that ended with one.
func (c *command) askers(questions []mapping.Interrupt) (found []mapping.Run, err error) {
	for _, q := range questions {
		if q.Run == "" {
			return adapter.All(c.s.Service.RunIndex.List(c.ctx, adapter.RunQuery{ThreadID: c.thread, Status: []mapping.RunStatus{mapping.RunInterrupted}, Limit: 1}))
		}
		run, err := c.s.Service.Runs.Get(c.ctx, adapter.RunRef{ThreadID: c.thread, RunID: q.Run})
		if isNotFound(err) { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, run)
	}
	return found, nil
}

// severalAgents reports whether the runs are not all of one agent, with the same settings.
func severalAgents(runs []mapping.Run) bool {
	return slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.AssistantID != runs[0].AssistantID })
}
