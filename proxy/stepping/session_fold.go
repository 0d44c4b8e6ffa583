package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// feed folds entries of the run at index i.
func (s *session) feed(i int, entries ...*state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if i != s.feeding || e.Seq <= s.last || s.runs[i].ID != e.RunID {
			continue
		}
		s.last = e.Seq
		released := s.folder.Add(e)
		if i+1 < len(s.runs) {
			takeBackLast(released, s.runs[i+1])
		}
		s.steps = append(s.steps, released...)
		s.note(i, e)
	}
}

// takeBackLast takes is_last back from steps that a follow-up run comes after. The follow-up was asked for before they
// were handed out, so no client has seen them as the last.
func takeBackLast(steps []mapping.Step, next mapping.Run) {
	if !next.Options.FollowUp {
		return
	}
	for k := range steps {
		if steps[k].N >= next.Options.Due {
			steps[k].IsLast = false
		}
	}
}

// note keeps how the task stands after an event of the run at index i.
func (s *session) note(i int, e *state.Entry) {
	switch e.Kind {
	case mapping.KindLinked:
		s.uploaded = max(s.uploaded, e.Head.Uploaded)
	case mapping.KindStarted:
		s.state = s.state.after(attemptStarted)
	case mapping.KindInterrupt, mapping.KindUpdate:
		if len(e.Head.Interrupts) > 0 {
			s.state = s.state.after(questionLogged)
		}
	case mapping.KindEnd:
		how, question := endOf(e)
		s.state, s.question = s.state.after(how), question
		if i+1 < len(s.runs) {
			s.goOnWith(i + 1)
		}
	}
}

// goOnWith has the run at index i folded next. It must be called with the lock held.
func (s *session) goOnWith(i int) {
	s.feeding, s.state, s.question = i, s.state.after(runFound), nil
}

// foldAs has the task's events folded in a mode, from the first on. It must be called with the lock held.
func (s *session) foldAs(mode mapping.Stepping) {
	s.mode, s.folder = mode, rule.NewStepFolder(s.task.ID, mode)
}

// add must be called with the lock held. The first run decides on the mode: another process may have made it, which
// knew the agent when this one did not, or is configured otherwise for the time of an update.
func (s *session) add(r mapping.Run) {
	if mode := modeOfRun(r); len(s.runs) == 0 && mode != s.mode {
		s.foldAs(mode)
	}
	s.runs = append(s.runs, withoutInput(r))
	takeBackLast(s.steps, r)
	if !s.state.active() {
		s.goOnWith(len(s.runs) - 1)
	}
}

// joined adds a run that was just made for the task, unless a reader has found it already.
func (s *session) joined(r mapping.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.runs {
		if s.runs[i].ID == r.ID {
			return
		}
	}
	s.add(r)
}

// renew notes that a queued run has begun.
func (s *session) renew(i int, r *mapping.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < len(s.runs) && s.runs[i].ID == r.ID {
		s.runs[i] = withoutInput(*r)
	}
}

// withoutInput is a run as a session keeps it. The input may be long, and is read from the store by whatever executes
// the run.
func withoutInput(r mapping.Run) mapping.Run {
	r.Options.Input = nil
	return r
}

// release lets go of the held step: the run is parked, so there is more to come.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.folder.Release(); st != nil {
		s.steps = append(s.steps, *st)
	}
}

// restart folds the task anew, from what is stored. What steps were fetched with stays: the store may not have all of
// it yet.
func (s *session) restart(fresh *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode, s.folder, s.runs, s.state = fresh.mode, fresh.folder, fresh.runs, fresh.state
	s.feeding, s.last, s.steps, s.question = 0, 0, nil, nil
}
