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

// Cancel cancels the runs of a task. If none is active and the task has not ended, it creates a run of the flavour and
// cancels it before it starts. It does nothing to a task that has ended.
func (s *Stepper) Cancel(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) error {
	for {
		active, err := s.runsToCancel(ctx, task, agent, flavour)
		if err == nil {
			return s.cancelAll(ctx, active)
		}
		if mapping.Classify(err).Code != store.CodeTaskMoved {
			return err
		}
		if err := pause.For(ctx, sharedPoll); err != nil { // a run was created in the meantime and is cancelled instead
			return err
		}
		if task, err = s.store.Tasks.Get(ctx, task.ID); err != nil {
			return err
		}
	}
}

// runsToCancel returns the runs to cancel, newest first.
func (s *Stepper) runsToCancel(ctx context.Context, task mapping.Task, agent *engine.Agent, flavour mapping.Flavour) ([]mapping.Run, error) {
	ses, err := s.session(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	if err := s.upToDate(ctx, ses); err != nil {
		return nil, err
	}
	newest := ses.newestRun().ID
	active, err := s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, Status: []mapping.RunStatus{mapping.RunPending, mapping.RunRunning}})
	if err != nil || len(active) > 0 {
		return active, err
	}
	if state := ses.State(); state != taskUnstarted && state != taskAsked {
		return nil, nil
	}
	// The task has no step yet or waits for an answer. Later POSTs get the end of a run that never starts.
	n := adapter.RunRequest{ThreadID: ses.Task().ThreadID, Flavour: flavour, Multitask: mapping.StrategyEnqueue, RunAfter: time.Hour}
	tr := &TaskRun{Task: ses.Task(), Stepping: ses.Mode(), newest: newest}
	r, err := s.begin(ctx, ses, n, tr, nil, store.IdempotencyKey{})
	return []mapping.Run{r}, err
}

// cancelAll cancels the newest run first, so that no waiting one starts.
func (s *Stepper) cancelAll(ctx context.Context, active []mapping.Run) error {
	for _, r := range active {
		err := s.engine.Cancel(ctx, &r, engine.Cancellation{Reason: mapping.CancelledByRequest})
		if class := mapping.Classify(err).Class; err != nil && class != mapping.Conflict && class != mapping.NotFound {
			return err
		}
	}
	return nil
}
