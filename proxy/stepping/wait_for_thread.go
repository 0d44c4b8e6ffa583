package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
)

// threadWait waits for the threads of queued runs.
type threadWait struct {
	loader *loader
	runs   *store.Runs
	log    threadLog
	engine unqueuer
}

// threadLog holds the log of a run, and tells of a thread; eventlog.Log implements it.
type threadLog interface {
	Retain(run *mapping.Run) (release func())
	Watch(threadID string) eventlog.Waiter
}

// unqueuer takes queued runs back; engine.Engine implements it.
type unqueuer interface {
	Unqueue(ctx context.Context, r *mapping.Run) (bool, error)
}

// wait waits until a queued run of the task begins, as long as those before it go on by themselves. A parked run of
// another task does not: its client has to ask for its steps, and may be the very one that waits here. The queued run
// is then taken back, and the answer names the task to be finished first.
//
// Of other processes it hears that the run begins, by the run's log, and that one before it is parked or ends: that
// rings the thread's bell as long as a run waits there.
func (w threadWait) wait(ctx context.Context, ses *session, i int, run mapping.Run) error {
	if run.Status != mapping.RunPending {
		return nil
	}
	defer w.log.Retain(&run)()
	watch := w.log.Watch(run.ThreadID)
	defer watch.Leave()
	for {
		changed := watch.Next()
		fresh, err := w.runs.Get(ctx, run.ThreadID, run.ID)
		if err != nil {
			return err
		}
		if fresh.Status != mapping.RunPending {
			ses.renew(i, fresh)
			return nil
		}
		parked, alone, err := w.othersOnThread(ctx, run)
		switch {
		case err != nil || alone:
			return err
		case parked != "" && run.Multitask == mapping.StrategyEnqueue:
			if taken, err := w.engine.Unqueue(ctx, &run); err != nil || !taken {
				return err
			}
			return w.refuse(ctx, ses, parked)
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// othersOnThread looks at what other tasks do on the thread: alone, it is nothing.
func (w threadWait) othersOnThread(ctx context.Context, run mapping.Run) (parked string, alone bool, err error) {
	active, err := w.runs.List(ctx, mapping.RunQuery{
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

// refuse forgets the run that was taken back and says why.
func (w threadWait) refuse(ctx context.Context, ses *session, parked string) error {
	fresh, err := w.loader.newSession(ctx, ses.Task(), ses.agent)
	if err != nil {
		return err
	}
	ses.restart(fresh)
	other := mapping.Advice{Meaning: mapping.MeansStrategy, With: ", cancel it, or give this task %s interrupt", Else: " or cancel it"}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"Task %s of this topic waits for its next step to be asked for. Finish it first%s.", parked, other)
	e.Detail = map[string]string{"task_id": parked}
	return e
}
