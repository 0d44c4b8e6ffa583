package service

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// remover removes threads, and drops what is held in memory of runs and tasks that are gone.
type remover struct {
	runs    *store.Runs
	tasks   *store.Tasks
	engine  canceller
	log     *eventlog.Log
	stepper *stepping.Stepper
}

// canceller ends runs; engine.Engine implements it.
type canceller interface {
	Cancel(ctx context.Context, r *mapping.Run, how engine.Cancellation) error
}

// Remove deletes a thread without active runs, and what is held of it here.
func (s *remover) Remove(ctx context.Context, id string, runs []mapping.Run, remove func(context.Context, string) error) error {
	tasks, _, err := s.tasks.List(ctx, store.TaskQuery{ThreadID: id})
	if err != nil {
		return err
	}
	if err := remove(ctx, id); err != nil {
		return err
	}
	s.log.WakeThread(id)
	for _, r := range runs {
		s.ForgetRun(r)
	}
	for _, t := range tasks { // those without runs
		s.ForgetTask(t.Tenant, t.ID)
	}
	return nil
}

// Clear cancels what is active on the thread and returns all its runs. They are listed newest first, so that none that
// waits gets its turn.
func (s *remover) Clear(ctx context.Context, id string) ([]mapping.Run, error) {
	runs, err := s.runs.List(ctx, mapping.RunQuery{ThreadID: id})
	for _, r := range runs {
		if !r.Status.Active() {
			continue
		}
		if err := s.engine.Cancel(ctx, &r, engine.Cancellation{Reason: mapping.CancelledByRequest}); err != nil && mapping.Classify(err).Class != mapping.Conflict && !notFound(err) {
			return nil, err
		}
	}
	return runs, err
}

// ForgetRun drops what is held of a run that was removed.
func (s *remover) ForgetRun(r mapping.Run) {
	s.log.Evict(r.ID)
	s.log.WakeThread(r.ThreadID)
	s.ForgetTask(r.Tenant, r.TaskID)
}

// ForgetTask drops what is held of a task that was removed, or of which a run was.
func (s *remover) ForgetTask(tenant, taskID string) { s.stepper.Forget(tenant, taskID) }
