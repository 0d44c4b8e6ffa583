package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// waitForThread waits until a queued run of the task begins, as long as those before it go on by themselves. A parked
// run of another task does not: its client has to ask for its steps, and may be the very one that waits here. The
// queued run is then taken back, and the answer names the task to be finished first.
//
// Of other processes it hears that the run begins, by the run's log, and that one before it is parked or ends: that
// rings the thread's bell as long as a run waits there.
func (p *stepRequest) waitForThread(ctx context.Context, i int, run mapping.Run) error {
	if run.Status != mapping.RunPending {
		return nil
	}
	defer p.log.Pin(&run)()
	watch := p.log.Watch(run.ThreadID)
	defer watch.Leave()
	for {
		changed := watch.Next()
		fresh, err := p.st.Runs.Get(ctx, run.ThreadID, run.ID)
		if err != nil {
			return err
		}
		if fresh.Status != mapping.RunPending {
			p.ses.renew(i, fresh)
			return nil
		}
		parked, alone, err := p.othersOnThread(ctx, run)
		switch {
		case err != nil || alone:
			return err
		case parked != "" && run.Multitask == mapping.StrategyEnqueue:
			if taken, err := p.engine.Unqueue(ctx, &run); err != nil || !taken {
				return err
			}
			return p.refuseWait(ctx, parked)
		}
		if err := watch.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// othersOnThread looks at what other tasks do on the thread: alone, it is nothing.
func (p *stepRequest) othersOnThread(ctx context.Context, run mapping.Run) (parked string, alone bool, err error) {
	active, err := p.st.Runs.List(ctx, mapping.RunQuery{
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

// refuseWait forgets the run that was taken back and says why.
func (p *stepRequest) refuseWait(ctx context.Context, parked string) error {
	fresh, err := p.newSession(ctx, p.ses.Task(), p.ses.agent)
	if err != nil {
		return err
	}
	p.ses.restart(fresh)
	other := mapping.Advice{Meaning: mapping.MeansStrategy, With: ", cancel it, or give this task %s interrupt", Else: " or cancel it"}
	e := mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy,
		"Task %s of this topic waits for its next step to be asked for. Finish it first%s.", parked, other)
	e.Detail = map[string]string{"task_id": parked}
	return e
}

// stillAsked refuses an answer that no run waits for any more: an agent that keeps one state for the whole topic has
// forgotten its question as soon as another task of it began.
func (p *stepRequest) stillAsked(ctx context.Context) error {
	task := p.ses.Task()
	if traits, known := p.ses.agent.Known(); !known || traits.Opaque {
		return nil
	}
	last, err := p.st.Runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, Limit: 1})
	if err != nil || len(last) == 0 || last[0].TaskID == task.ID {
		return err
	}
	e := mapping.Errorf(mapping.Conflict, "question_dropped",
		"The question of this task was dropped when task %s of its topic began. Say what is to be done in a new task.", last[0].TaskID)
	e.Detail = map[string]string{"task_id": last[0].TaskID}
	return e
}
