package protocol

import (
	"context"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// subject is the thread of a command in its current state.
type subject struct {
	s      *Server
	ctx    context.Context
	thread string
}

// asker returns the run that asked the questions, or nil. Questions of several agents cannot be answered by one run.
func (c *subject) asker(questions []mapping.Interrupt) (*mapping.Run, error) {
	runs, err := c.askers(questions)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if severalAgents(runs) {
		return nil, invalid("%s are questions of several agents. Answer those of each agent by themselves.", strings.Join(idsOf(questions), ", "))
	}
	return &runs[0], nil
}

// askedBy reports whether the agent asked one of the questions. A question whose run was deleted may be of any agent.
func (c *subject) askedBy(agent string, questions []mapping.Interrupt) (bool, error) {
	runs, err := c.askers(questions)
	return len(runs) == 0 || slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.Agent == agent }), err
}

// askers returns the runs that asked the questions, if they exist. A question of an older version does not name its
// run. Then it is the newest run that ended with a question.
func (c *subject) askers(questions []mapping.Interrupt) (found []mapping.Run, err error) {
	for _, q := range questions {
		if q.Run == "" {
			return adapter.All(c.s.Service.ListRuns(c.ctx, mapping.RunQuery{ThreadID: c.thread, Status: []mapping.RunStatus{mapping.RunInterrupted}, Limit: 1}))
		}
		run, err := c.s.Service.GetRun(c.ctx, adapter.RunRef{ThreadID: c.thread, RunID: q.Run})
		if isNotFound(err) { // deleted in the meantime
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, *run)
	}
	return found, nil
}

// severalAgents reports whether the runs have different agents or settings.
func severalAgents(runs []mapping.Run) bool {
	return slices.ContainsFunc(runs, func(r mapping.Run) bool { return r.AssistantID != runs[0].AssistantID })
}

// questions returns the open questions of the thread, or none if it does not exist.
func (c *subject) questions() ([]mapping.Interrupt, error) {
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

// newest returns the thread's newest run, or no_such_run.
func (c *subject) newest() (*mapping.Run, error) {
	list, err := adapter.All(c.s.Service.ListRuns(c.ctx, mapping.RunQuery{ThreadID: c.thread, Limit: 1}))
	if err == nil && len(list) == 0 {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "The thread has had no run; send run.start first.")
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// runOr returns the run with an id, or the thread's newest one.
func (c *subject) runOr(id string) (*mapping.Run, error) {
	if id == "" {
		return c.newest()
	}
	if !mapping.IsUUID(id) {
		return nil, mapping.Errorf(mapping.NotFound, mapping.CodeRunNotFound, "The thread has no run %q.", id)
	}
	return c.s.Service.GetRun(c.ctx, adapter.RunRef{ThreadID: c.thread, RunID: id})
}
