package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// readTries limits how often a task is read again because some of its runs were removed during the read.
const readTries = 8

// session returns a task's session, and reads it from the store if it is not in memory.
func (s *Stepper) session(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	if ses, ok := s.sessions.get(sessionKey{task.Tenant, task.ID}); ok {
		return ses, s.refreshForRead(ctx, ses)
	}
	fresh, err := s.readSession(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return s.sessions.add(fresh), nil
}

// currentSession returns a task's session with all logged events.
func (s *Stepper) currentSession(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	for try := 1; ; try++ {
		ses, err := s.session(ctx, task, agent)
		if err == nil {
			err = s.upToDate(ctx, ses)
		}
		if err == nil || try == readTries || mapping.Classify(err).Code != mapping.CodeRunNotFound {
			return ses, err
		}
		s.sessions.forget(ses.key) // one of its runs was rolled back or deleted
	}
}

// readSession reads a new session from the store, without folding its log.
func (s *Stepper) readSession(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	runs, err := s.runsOf(ctx, task)
	if err != nil {
		return nil, err
	}
	ses := emptySession(task, agent, modeOf(ctx, agent, runs))
	if len(runs) > 0 {
		for _, r := range runs {
			ses.runs = append(ses.runs, withoutInput(r))
		}
		ses.state = ses.state.after(runFound)
		if ses.requests, err = s.store.Tasks.Requests(ctx, task.ID); err != nil {
			return nil, err
		}
	}
	return ses, nil
}

func (s *Stepper) runsOf(ctx context.Context, task mapping.Task) ([]mapping.Run, error) {
	return s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, OldestFirst: true})
}

// modeOf returns the mode of the task's runs, or of the first one to be created.
func modeOf(ctx context.Context, agent *engine.Agent, runs []mapping.Run) mapping.Stepping {
	if len(runs) > 0 {
		return modeOfRun(runs[0])
	}
	traits, known := agent.Known()
	if !known {
		var err error
		if _, traits, err = agent.Backend(ctx); err != nil {
			return mapping.SteppingFree // the run itself will report that the agent cannot be reached
		}
	}
	return agent.Stepping(traits)
}

// modeOfRun returns the mode a run was created with. A run created through the other face counts as free.
func modeOfRun(r mapping.Run) mapping.Stepping {
	if m := r.Options.Stepping; m != "" {
		return m
	}
	return mapping.SteppingFree
}
