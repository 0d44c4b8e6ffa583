package stepping

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// Planner lays out the runs of tasks.
type Planner interface {
	// PlanTaskRun turns a request for a run of a task into a run to be made, or says what is wrong with it. Nothing is
	// written.
	PlanTaskRun(ctx context.Context, agent *engine.Agent, n adapter.NewRun, t *TaskRun) (*engine.StartRequest, error)
}

// TaskRun is what a task adds to a run of it.
type TaskRun struct {
	Task      mapping.Task
	Stepping  mapping.Stepping
	FollowUp  bool
	AskedBy   mapping.Run         // the run whose question is answered
	Asked     []mapping.Interrupt // the questions that are answered
	Guessed   string              // the question that is answered by default
	Exhausted []string            // the questions that were answered by default as often as may be
	Uploaded  mapping.Uploaded    // up to where the run brings the uploads along
	Words     string              // that the run's input is one message of and nothing else; "": it is more, or none

	newest string // the newest run of the task that is known, "" for none
}

// Stepper hands out the steps of tasks and reads them. Safe for concurrent use.
type Stepper struct {
	reader
	canceller
	sessions *sessions
	loader   *loader
	runs     *taskRuns
	handOuts *handOuts
}

// New returns a Stepper over a store, its log and the engine that runs what planner lays out.
func New(st *store.Store, log *eventlog.Log, e *engine.Engine, planner Planner, logger *zap.Logger) (*Stepper, error) {
	sessions, err := newSessions()
	if err != nil {
		return nil, err
	}
	named := logger.Named("stepping")
	loader := &loader{sessions, st.Runs, st.Tasks, log, st.Shared()}
	maker, uploads := runMaker{planner, e}, uploads{st.Artifacts, e, named}
	runs := &taskRuns{maker, uploads, st.Runs}
	progress := &progress{loader, runs, threadWait{loader, st.Runs, log, e}, uploads, st.Requests, log, e}
	return &Stepper{
		reader:    reader{loader, log, st.Artifacts},
		canceller: canceller{loader, maker, st.Runs, st.Tasks, e},
		sessions:  sessions,
		loader:    loader,
		runs:      runs,
		handOuts:  &handOuts{progress, st.Tasks, st.Artifacts, e, st.Now, st.Shared(), named},
	}, nil
}

// Step hands out the next step of a task, doing whatever makes there be one: starting the run, letting it go on,
// answering its question, or waiting. Confirm or Release of the answer must be called; the next POST of the task waits
// for that.
//
// A step that the agent failed at is a step. An error says that there is none: Conflict where another task of the
// thread has to be finished first, and what ends ctx.
func (s *Stepper) Step(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour, req adapter.StepRequest) (adapter.Handout, error) {
	turn, err := s.Acquire(ctx, task, agent, flavour)
	if err != nil {
		return adapter.Handout{}, err
	}
	return s.handOuts.next(ctx, turn, req)
}

// Expect makes ready for a task that was just made: there is nothing to be read of it. It is left for later where the
// agent would have to be asked.
func (s *Stepper) Expect(task mapping.Task, agent *engine.Agent) {
	traits, known := agent.Known()
	if !known {
		return
	}
	s.sessions.add(emptySession(task, agent, agent.Stepping(traits)))
}

// Known returns a task whose session is in memory. Where several processes share the database, others may have handed
// out more of its steps.
func (s *Stepper) Known(tenant, taskID string) (mapping.Task, bool) {
	if ses, ok := s.sessions.get(sessionKey{tenant, taskID}); ok {
		return ses.Task(), true
	}
	return mapping.Task{}, false
}

// Forget drops what is held of a task of which a run was removed.
func (s *Stepper) Forget(tenant, taskID string) { s.sessions.forget(sessionKey{tenant, taskID}) }
