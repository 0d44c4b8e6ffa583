package protocol

import (
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// asker returns the run that asked the questions, or nil if it is not found. One run cannot answer questions from
// several agents.
func (c *command) asker(questions []mapping.Interrupt) (*mapping.Run, error) {
	runs, err := c.askers(questions)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if severalAgents(runs) {
		return nil, invalid("%s are questions from several agents. Answer those of each agent separately.", strings.Join(idsOf(questions), ", "))
	}
	return &runs[0], nil
}

// askedBy reports whether the agent may have asked one of the questions. If the run of a question is gone, any agent
// may have asked it.
func (c *command) askedBy(agent string, questions []mapping.Interrupt) (bool, error) {
	runs, err := c.askers(questions)
	return len(runs) == 0 || slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.Agent == agent }), err
}

// askers returns the runs that asked the questions, except deleted ones.
func (c *command) askers(questions []mapping.Interrupt) (found []mapping.Run, err error) {
	for _, q := range questions {
		run, err := c.s.Service.GetRun(c.ctx, adapter.RunRef{ThreadID: c.thread, RunID: q.Run})
		if isNotFound(err) { // it was deleted
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, *run)
	}
	return found, nil
}

// severalAgents reports whether the runs belong to several agents, or to one agent with different settings.
func severalAgents(runs []mapping.Run) bool {
	return slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.AssistantID != runs[0].AssistantID })
}

// questions returns the thread's open questions. There are none if the thread does not exist.
func (c *command) questions() ([]mapping.Interrupt, error) {
	found, _, err := c.s.Service.SearchThreads(c.ctx, adapter.ThreadSearch{ThreadQuery: mapping.ThreadQuery{IDs: []string{c.thread}, Limit: 1}, NoValues: true})
	if err != nil {
		return nil, err
	}
	for t, err := range found {
		if err != nil || t.Status != mapping.ThreadInterrupted {
			return nil, err
		}
		return t.Interrupts, nil
	}
	return nil, nil
}

// newest returns the thread's newest run, or NotFound if there is none.
func (c *command) newest() (*mapping.Run, error) {
	list, err := adapter.All(c.s.Service.ListRuns(c.ctx, mapping.RunQuery{ThreadID: c.thread, Limit: 1}))
	if err == nil && len(list) == 0 {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "The thread has no run yet; send run.start first.")
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// runOr returns the run with the id, or the thread's newest run if id is "".
func (c *command) runOr(id string) (*mapping.Run, error) {
	if id == "" {
		return c.newest()
	}
	if !mapping.IsUUID(id) {
		return nil, mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "The thread has no run %q.", id)
	}
	return c.s.Service.GetRun(c.ctx, adapter.RunRef{ThreadID: c.thread, RunID: id})
}
