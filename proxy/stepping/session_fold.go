package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// feed folds entries of the run at index i.
func (s *session) feed(i int, entries ...*state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		s.fold(i, e)
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
	s.taskFold = fresh.taskFold
}
