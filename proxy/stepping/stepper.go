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

// Planner plans the runs of tasks. It is implemented by package service, which this package cannot import.
type Planner interface {
	// PlanTaskRun checks a request for a run of a task and returns the run to create. It writes nothing.
	PlanTaskRun(ctx context.Context, agent *engine.Agent, n adapter.RunRequest, t *TaskRun) (*engine.StartRequest, error)
}

// TaskRun contains what a task adds to a request for a run.
type TaskRun struct {
	Task      mapping.Task
	Stepping  mapping.Stepping
	FollowUp  bool
	AskedBy   mapping.Run          // the run whose question is answered
	Asked     []mapping.Interrupt  // the answered questions
	Guessed   string               // the question that is answered by default
	Exhausted []string             // the questions that may not be answered by default again
	Uploaded  mapping.UploadCursor // the uploads included in the run
	Words     string               // the text of the input's only message; "" if the input is anything else

	newest string // the newest known run of the task; "" if there is none
}

// Stepper hands out the steps of tasks and reads them. Safe for concurrent use.
type Stepper struct {
	store    *store.Store
	log      *eventlog.Log
	engine   *engine.Engine
	planner  Planner
	logger   *zap.Logger
	shared   bool // other processes may work on the same tasks
	sessions *sessions
}

// New returns a Stepper for the tasks of a store. The engine executes the runs that planner returns.
func New(st *store.Store, log *eventlog.Log, e *engine.Engine, planner Planner, logger *zap.Logger) (*Stepper, error) {
	sessions, err := newSessions()
	if err != nil {
		return nil, err
	}
	return &Stepper{
		store:    st,
		log:      log,
		engine:   e,
		planner:  planner,
		logger:   logger.Named("stepping"),
		shared:   st.Shared(),
		sessions: sessions,
	}, nil
}

// Expect prepares the session of a task that was just created, so that the first request for a step needs no query. It
// does nothing if the agent would have to be called for that.
func (s *Stepper) Expect(task mapping.Task, agent *engine.Agent) {
	traits, known := agent.Known()
	if !known {
		return
	}
	s.sessions.add(emptySession(task, agent, agent.Stepping(traits)))
}

// Known returns a task whose session is in memory. If several processes share the database, others may have handed out
// more of its steps.
func (s *Stepper) Known(tenant, taskID string) (mapping.Task, bool) {
	if ses, ok := s.sessions.get(sessionKey{tenant, taskID}); ok {
		return ses.Task(), true
	}
	return mapping.Task{}, false
}

// NoteRun must be called after a run of a task was created elsewhere. Readers that follow the task then find the run.
func (s *Stepper) NoteRun(r *mapping.Run) {
	if ses, ok := s.sessions.get(sessionKey{r.Tenant, r.TaskID}); ok {
		ses.noted.Add(1)
	}
}

// Forget drops the session of a task after one of its runs was removed.
func (s *Stepper) Forget(tenant, taskID string) { s.sessions.forget(sessionKey{tenant, taskID}) }
