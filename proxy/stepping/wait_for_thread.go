package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// waitForThread waits until a queued run of the task begins, as long as the runs before it continue by themselves. A
// parked run of another task does not continue by itself. Its client must request its steps, and that may be the client
// that waits here. In that case the queued run is removed, and the error names the task to finish first.
//
// If other processes execute these runs, the run's log shows when it begins. While a run waits on the thread, the
// thread's waiter also reports when an earlier run is parked or ends.
func (s *Stepper) waitForThread(ctx context.Context, ses *session, i int, run mapping.Run) error {
	if run.Status != mapping.RunPending {
		return nil
	}
	defer s.log.Retain(&run)()
	watch := s.log.Watch(run.ThreadID)
	defer watch.Leave()
	for {
		changed := watch.Next()
		fresh, err := s.store.Runs.Get(ctx, run.ThreadID, run.ID)
		if err != nil {
			return err
		}
		if fresh.Status != mapping.RunPending {
			ses.renew(i, fresh)
			return nil
		}
		parked, alone, err := s.othersOnThread(ctx, run)
		switch {
		case err != nil || alone:
			return err
		case parked != "" && run.Multitask == mapping.StrategyEnqueue:
			if taken, err := s.engine.Unqueue(ctx, &run); err != nil || !taken {
				return err
			}
			return s.blockedBy(ctx, ses, parked)
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// othersOnThread returns a task with a parked run on the thread. alone reports whether no other task has an active run
// there.
func (s *Stepper) othersOnThread(ctx context.Context, run mapping.Run) (parked string, alone bool, err error) {
	active, err := s.store.Runs.List(ctx, mapping.RunQuery{
		ThreadID: run.ThreadID, Status: []mapping.RunStatus{mapping.RunPending, mapping.RunRunning},
	})
	alone = true
	for _, r := range active {
		if r.TaskID == run.TaskID {
			continue
		}
		alone = false
		if r.Parked {
			parked = r.TaskID
		}
	}
	return parked, alone, err
}

// blockedBy drops the removed run from the session and returns the error that names the task with the parked run.
func (s *Stepper) blockedBy(ctx context.Context, ses *session, parked string) error {
	fresh, err := s.readSession(ctx, ses.Task(), ses.agent)
	if err != nil {
		return err
	}
	ses.restart(fresh)
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"Task %s of this topic is waiting for a client to request its next step. Finish it first, cancel it, or give this task additional_input.multitask_strategy interrupt.",
		parked)
	e.Detail = map[string]string{"task_id": parked}
	return e
}
