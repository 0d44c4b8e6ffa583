package stepping

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// canceller ends tasks.
type canceller struct {
	loader *loader
	maker  runMaker
	runs   *store.Runs
	tasks  *store.Tasks
	engine runCanceller
}

// runCanceller ends runs; engine.Engine implements it.
type runCanceller interface {
	Cancel(ctx context.Context, r *mapping.Run, how engine.Cancellation) error
}

// Cancel ends the task: its runs, or where none is active and it has not ended, a run that never starts, of the
// flavour. A task that has ended stays as it is.
func (s *canceller) Cancel(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) error {
	for {
		active, err := s.toCancel(ctx, task, agent, flavour)
		if err == nil {
			return s.cancelAll(ctx, active)
		}
		if mapping.Classify(err).Code != store.CodeTaskMoved {
			return err
		}
		if err := pause.For(ctx, turnPoll); err != nil { // a run was made meanwhile: that one is cancelled
			return err
		}
		if task, err = s.tasks.Get(ctx, task.ID); err != nil {
			return err
		}
	}
}

// toCancel are the runs whose end is the task's, newest first.
func (s *canceller) toCancel(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) ([]mapping.Run, error) {
	ses, err := s.loader.session(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	if err := s.loader.upToDate(ctx, ses); err != nil {
		return nil, err
	}
	newest := ses.newestRun().ID
	active, err := s.runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, Status: []mapping.RunStatus{mapping.RunPending, mapping.RunRunning}})
	if err != nil || len(active) > 0 {
		return active, err
	}
	if state := ses.State(); state != taskUnstarted && state != taskAsked {
		return nil, nil
	}
	r, err := s.neverStarting(ctx, ses, newest, flavour)
	return []mapping.Run{r}, err
}

// neverStarting makes a run that does not start, for a task that is cancelled before its first step or while it waits
// for an answer: its end is what later steps answer.
func (s *canceller) neverStarting(ctx context.Context, ses *session, newest string, flavour mapping.Flavour) (mapping.Run, error) {
	n := adapter.RunRequest{ThreadID: ses.Task().ThreadID, Flavour: flavour, Multitask: mapping.StrategyEnqueue, RunAfter: time.Hour}
	return s.maker.start(ctx, ses, n, &TaskRun{Task: ses.Task(), Stepping: ses.Mode(), newest: newest}, nil, store.IdempotencyKey{})
}

func (s *canceller) cancelAll(ctx context.Context, active []mapping.Run) error {
	for _, r := range active { // newest first: none that waits gets its turn
		err := s.engine.Cancel(ctx, &r, engine.Cancellation{Reason: mapping.CancelledByRequest})
		if class := mapping.Classify(err).Class; err != nil && class != mapping.Conflict && class != mapping.NotFound {
			return err
		}
	}
	return nil
}
