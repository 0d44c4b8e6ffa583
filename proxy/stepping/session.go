package stepping

import (
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// session is a task as its steps are asked for: its runs, folded into numbered steps. It is a fold of what is stored,
// and can be dropped at any time when no caller uses it.
type session struct {
	key   sessionKey
	users int // callers that hold it; guarded by sessions.mu
	agent *engine.Agent
	turn  chan struct{} // full while a caller has its StepLock; first come, first served

	mu   sync.Mutex // held for all that follows
	task mapping.Task
	taskFold
	requests map[int]store.StepRequest // what the steps were fetched with
}

func emptySession(task mapping.Task, agent *engine.Agent, mode mapping.Stepping) *session {
	ses := &session{key: sessionKey{task.Tenant, task.ID}, agent: agent, task: task, turn: make(chan struct{}, 1), requests: map[int]store.StepRequest{}}
	ses.taskFold = newTaskFold(task.ID, mode)
	return ses
}

// State returns how the task stands.
func (s *session) State() taskState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Task returns the session's task as it stands.
func (s *session) Task() mapping.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

// Mode returns the mode in which the task's steps are asked for.
func (s *session) Mode() mapping.Stepping {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// endingQuestion reports whether step n asks a question and the run that asks is still being ended. Before that is done
// its answer could not be taken through another face.
func (s *session) endingQuestion(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == taskAsking && n == len(s.steps)
}

// current is the run to be folded next; ok is false when there is none.
func (s *session) current() (i int, r mapping.Run, after int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.active() {
		return 0, mapping.Run{}, 0, false
	}
	return s.feeding, s.runs[s.feeding], s.last, true
}

// newestRun is the task's newest run that this session knows; zero for none.
func (s *session) newestRun() mapping.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == 0 {
		return mapping.Run{}
	}
	return s.runs[len(s.runs)-1]
}

// losses are those of one of the task's runs.
func (s *session) losses(runID string) []mapping.Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.runs {
		if s.runs[i].ID == runID {
			return s.runs[i].Options.Losses
		}
	}
	return nil
}

// step returns step n if it is released.
func (s *session) step(n int) (mapping.Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n > len(s.steps) {
		return mapping.Step{}, false
	}
	return s.steps[n-1], true
}

// standing is how the task stands: its state, what it has asked, and its newest released step, zero for none.
func (s *session) standing() (state taskState, question []mapping.Interrupt, last mapping.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.steps); n > 0 {
		last = s.steps[n-1]
	}
	return s.state, s.question, last
}

// all are the released steps and the held one, with what fetched them.
func (s *session) all() []mapping.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]mapping.Step, 0, len(s.steps)+1)
	for _, st := range s.steps {
		if r, ok := s.requests[st.N]; ok {
			st = withRequest(st, r)
		}
		list = append(list, st)
	}
	if h := s.folder.Held(); h != nil {
		held := *h
		held.Status = mapping.StepRunning
		list = append(list, held)
	}
	return list
}

// noteFetched is what a step is told to have been asked for with: what fetched it first, where it was handed out
// before, else this request. It shows in reads from now on: a client may read the step before the POST is over.
func (s *session) noteFetched(n int, r store.StepRequest, again bool) store.StepRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !again {
		s.requests[n] = r
	}
	return s.requests[n]
}

// noteHandOut notes that step n is being handed out; undoHandOut, that its answer was not written and that this is
// undone.
func (s *session) noteHandOut(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.HandOuts = n
}

func (s *session) undoHandOut(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.HandOuts = min(s.task.HandOuts, n-1)
	delete(s.requests, n)
}
