package stepping

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// refreshHandOuts notes what other processes handed out.
func (s *session) refreshHandOuts(steps int, requests map[int]store.StepRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.task.HandOuts = requests, steps
}

// hasRuns reports whether the session has the runs that the task has.
func (s *session) hasRuns(tip store.TaskHead) bool {
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
