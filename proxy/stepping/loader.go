package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// loader makes sessions of what is stored, and brings them up to date. Safe for concurrent use.
type loader struct {
	sessions *sessions
	runs     *store.Runs
	tasks    *store.Tasks
	log      runReader
	shared   bool // other processes may work on the same tasks
}

// runReader reads what a run has logged; eventlog.Log implements it.
type runReader interface {
	Read(ctx context.Context, run *mapping.Run, after int64) ([]*state.Entry, error)
}

// session finds a task's session, making it from the store where there is none.
func (l *loader) session(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	if ses, ok := l.sessions.get(sessionKey{task.Tenant, task.ID}); ok {
		return ses, l.refreshForRead(ctx, ses)
	}
	fresh, err := l.newSession(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return l.sessions.add(fresh), nil
}

func (l *loader) newSession(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	runs, err := l.runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, OldestFirst: true})
	if err != nil {
		return nil, err
	}
	ses := emptySession(task, agent, modeOf(ctx, agent, runs))
	if len(runs) > 0 {
		for _, r := range runs {
			ses.runs = append(ses.runs, withoutInput(r))
		}
		ses.state = ses.state.after(runFound)
		if ses.requests, err = l.tasks.Requests(ctx, task.ID); err != nil {
			return nil, err
		}
	}
	return ses, nil
}

// modeOf is the mode the task's runs were made with, or that a new one will be.
func modeOf(ctx context.Context, agent *engine.Agent, runs []mapping.Run) mapping.Stepping {
	if len(runs) > 0 {
		return modeOfRun(runs[0])
	}
	traits, known := agent.Known()
	if !known {
		var err error
		if _, traits, err = agent.Backend(ctx); err != nil {
			return mapping.SteppingFree // the run itself will say that the agent is away
		}
	}
	return agent.Stepping(traits)
}

// modeOfRun is the mode a run was made with. One that came through the other face is read as free.
func modeOfRun(r mapping.Run) mapping.Stepping {
	if m := r.Options.Stepping; m != "" {
		return m
	}
	return mapping.SteppingFree
}
