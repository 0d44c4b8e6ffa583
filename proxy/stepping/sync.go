package stepping

import (
	"context"
)

// catchUp folds all logged events of the known runs.
func (s *Stepper) catchUp(ctx context.Context, ses *session) error {
	for {
		i, r, after, ok := ses.current()
		if !ok {
			return nil
		}
		entries, err := s.log.Read(ctx, &r, after)
		if err != nil || len(entries) == 0 {
			return err
		}
		ses.feed(i, entries...)
	}
}

// upToDate folds all logged events of the task, including those of runs created by an answer through another face or by
// a POST to another process.
func (s *Stepper) upToDate(ctx context.Context, ses *session) error {
	for {
		if err := s.catchUp(ctx, ses); err != nil {
			return err
		}
		if found, err := s.findMore(ctx, ses); !found || err != nil {
			return err
		}
	}
}

// findMore looks for later runs once the last known one has ended. Until then no step is reported as the last.
func (s *Stepper) findMore(ctx context.Context, ses *session) (found bool, err error) {
	state := ses.State()
	noted := ses.noted.Load()
	if state.active() || !s.shared && state != taskAsked && noted == ses.read.Load() {
		return false, nil
	}
	if found, err = s.loadNewRuns(ctx, ses); err == nil {
		ses.read.Store(noted)
	}
	return found, err
}

// refreshForRead reads the changes by other processes for a reader. While a caller holds the task's lock, the session's
// count of steps is not changed.
func (s *Stepper) refreshForRead(ctx context.Context, ses *session) error {
	if !s.shared {
		return nil
	}
	select {
	case ses.lock <- struct{}{}:
		defer func() { <-ses.lock }()
		_, err := s.sync(ctx, ses)
		return err
	default:
		_, err := s.loadNewRuns(ctx, ses)
		return err
	}
}

// sync reads changes to a task that were not made through this session: steps that other processes handed out, and runs
// that they or another face created or removed. It reports whether the task's runs have changed. The caller must hold
// the task's lock.
func (s *Stepper) sync(ctx context.Context, ses *session) (moved bool, err error) {
	tip, err := s.store.Tasks.Head(ctx, ses.key.task)
	if err != nil {
		return false, err
	}
	if tip.HandOuts != ses.Task().HandOuts {
		requests, err := s.store.Tasks.Requests(ctx, ses.key.task)
		if err != nil {
			return false, err
		}
		ses.refreshHandOuts(tip.HandOuts, requests)
	}
	if ses.hasRuns(tip) {
		return false, nil
	}
	fresh, err := s.readSession(ctx, ses.Task(), ses.agent)
	if err == nil && !ses.extend(fresh.runs) {
		ses.restart(fresh)
	}
	return true, err
}

// loadNewRuns adds runs that were created elsewhere. It is for readers, which do not hold the task's lock. It changes
// neither the count of steps nor the known runs: a reader's view may be older than the session, so only a POST drops
// removed runs.
func (s *Stepper) loadNewRuns(ctx context.Context, ses *session) (found bool, err error) {
	tip, err := s.store.Tasks.Head(ctx, ses.key.task)
	if err != nil || ses.hasRuns(tip) {
		return false, err
	}
	runs, err := s.runsOf(ctx, ses.Task())
	return err == nil && ses.extend(runs), err
}
