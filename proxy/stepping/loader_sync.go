package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

// readTries bounds how often a task is read anew of which runs are removed meanwhile.
const readTries = 8

// catchUp folds everything that is logged by now.
func (l *loader) catchUp(ctx context.Context, ses *session) error {
	for {
		i, r, after, ok := ses.current()
		if !ok {
			return nil
		}
		entries, err := l.log.Read(ctx, &r, after)
		if err != nil || len(entries) == 0 {
			return err
		}
		ses.feed(i, entries...)
	}
}

// upToDate folds everything there is of the task, also what came of an answer that was given through another face, and
// of words that another process was told.
func (l *loader) upToDate(ctx context.Context, ses *session) error {
	for {
		if err := l.catchUp(ctx, ses); err != nil {
			return err
		}
		if found, err := l.findMore(ctx, ses); !found || err != nil {
			return err
		}
	}
}

// findMore looks for runs after the last one, once that has ended: before then, no step is told to be the last.
func (l *loader) findMore(ctx context.Context, ses *session) (found bool, err error) {
	state := ses.State()
	if state.active() || !l.shared && state != taskAsked {
		return false, nil
	}
	return l.loadNewRuns(ctx, ses)
}

// refresh learns what other processes did with a task, where there are any. The caller has the session's turn.
func (l *loader) refresh(ctx context.Context, ses *session) error {
	if !l.shared {
		return nil
	}
	_, err := l.sync(ctx, ses)
	return err
}

// refreshForRead is refresh for readers: while a caller has the turn, that keeps the session's count of steps as it is.
func (l *loader) refreshForRead(ctx context.Context, ses *session) error {
	if !l.shared {
		return nil
	}
	select {
	case ses.turn <- struct{}{}:
		defer func() { <-ses.turn }()
		return l.refresh(ctx, ses)
	default:
		_, err := l.loadNewRuns(ctx, ses)
		return err
	}
}

// sync learns what was done with a task without this session: steps that other processes handed out, and runs that were
// made there or through another face. It reports whether the task's runs are others than before. The caller has the
// session's turn.
func (l *loader) sync(ctx context.Context, ses *session) (moved bool, err error) {
	tip, err := l.tasks.Head(ctx, ses.key.task)
	if err != nil {
		return false, err
	}
	if tip.HandOuts != ses.Task().HandOuts {
		requests, err := l.tasks.Requests(ctx, ses.key.task)
		if err != nil {
			return false, err
		}
		ses.refreshHandOuts(tip.HandOuts, requests)
	}
	if ses.hasRuns(tip) {
		return false, nil
	}
	fresh, err := l.newSession(ctx, ses.Task(), ses.agent)
	if err == nil && !ses.extend(fresh.runs) {
		ses.restart(fresh)
	}
	return true, err
}

// loadNewRuns adds the runs that were made without this session. It is for readers, which do not have the session's
// turn: they leave its count of steps alone, and runs that are gone to a POST, since what they have read may be older
// than what the session knows.
func (l *loader) loadNewRuns(ctx context.Context, ses *session) (found bool, err error) {
	tip, err := l.tasks.Head(ctx, ses.key.task)
	if err != nil || ses.hasRuns(tip) {
		return false, err
	}
	task := ses.Task()
	runs, err := l.runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, OldestFirst: true})
	return err == nil && ses.extend(runs), err
}

func (l *loader) open(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	for try := 1; ; try++ {
		ses, err := l.session(ctx, task, agent)
		if err == nil {
			err = l.upToDate(ctx, ses)
		}
		if err == nil || try == readTries || mapping.Classify(err).Code != mapping.CodeRunNotFound {
			return ses, err
		}
		l.sessions.forget(ses.key) // a run of it was rolled back or deleted
	}
}
