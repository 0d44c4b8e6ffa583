package stepping

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// refresh learns what other processes did with a task, where there are any. The caller has the session's turn.
func (s *Stepper) refresh(ctx context.Context, ses *session) error {
	if !s.st.Shared() {
		return nil
	}
	_, err := s.sync(ctx, ses)
	return err
}

// refreshForRead is refresh for readers: while a caller has the turn, that keeps the session's count of steps as it is.
func (s *Stepper) refreshForRead(ctx context.Context, ses *session) error {
	if !s.st.Shared() {
		return nil
	}
	select {
	case ses.turn <- struct{}{}:
		defer func() { <-ses.turn }()
		return s.refresh(ctx, ses)
	default:
		_, err := s.loadNewRuns(ctx, ses)
		return err
	}
}

// sync learns what was done with a task without this session: steps that other processes handed out, and runs that were
// made there or through another face. It reports whether the task's runs are others than before. The caller has the
// session's turn.
func (s *Stepper) sync(ctx context.Context, ses *session) (moved bool, err error) {
	tip, err := s.st.Tasks.Tip(ctx, ses.key.task)
	if err != nil {
		return false, err
	}
	if tip.HandOuts != ses.Task().HandOuts {
		requests, err := s.st.Tasks.Requests(ctx, ses.key.task)
		if err != nil {
			return false, err
		}
		ses.refreshHandOuts(tip.HandOuts, requests)
	}
	if ses.hasRuns(tip) {
		return false, nil
	}
	fresh, err := s.newSession(ctx, ses.Task(), ses.agent)
	if err == nil && !ses.extend(fresh.runs) {
		ses.restart(fresh)
	}
	return true, err
}

// loadNewRuns adds the runs that were made without this session. It is for readers, which do not have the session's
// turn: they leave its count of steps alone, and runs that are gone to a POST, since what they have read may be older
// than what the session knows.
func (s *Stepper) loadNewRuns(ctx context.Context, ses *session) (found bool, err error) {
	tip, err := s.st.Tasks.Tip(ctx, ses.key.task)
	if err != nil || ses.hasRuns(tip) {
		return false, err
	}
	task := ses.Task()
	runs, err := s.st.Runs.List(ctx, mapping.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, OldestFirst: true})
	return err == nil && ses.extend(runs), err
}

// refreshHandOuts notes what other processes handed out.
func (s *session) refreshHandOuts(steps int, requests map[int]store.StepRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.task.HandOuts = requests, steps
}

// hasRuns reports whether the session has the runs that the task has.
func (s *session) hasRuns(tip store.TaskTip) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) == tip.Runs && (tip.Runs == 0 || s.runs[tip.Runs-1].ID == tip.Newest)
}

// extend adds what a list of all the task's runs has beyond those that are known. It reports false when a known one is
// missing from the list, and changes nothing then.
func (s *session) extend(all []mapping.Run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(all) < len(s.runs) {
		return false
	}
	for i := range s.runs {
		if s.runs[i].ID != all[i].ID {
			return false
		}
	}
	for _, r := range all[len(s.runs):] {
		s.add(r)
	}
	return true
}
