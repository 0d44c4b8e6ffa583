package stepping

import (
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// session holds the runs of a task, folded into numbered steps. It is derived from stored data and can be dropped at
// any time while no caller uses it. Safe for concurrent use.
type session struct {
	key   sessionKey
	agent *engine.Agent
	lock  chan struct{} // full while a StepLock is held; first come, first served
	users int           // callers that hold or wait for the lock; guarded by sessions.mu

	// noted counts the runs of the task that were reported as created elsewhere (NoteRun). read is the number of them
	// that the session has read.
	noted, read atomic.Int64

	mu   sync.Mutex // guards the fields below
	task mapping.Task
	taskFold
	requests map[int]store.StepRequest // the POSTs that fetched the steps
}

func emptySession(task mapping.Task, agent *engine.Agent, mode mapping.Stepping) *session {
	ses := &session{key: sessionKey{task.Tenant, task.ID}, agent: agent, task: task, lock: make(chan struct{}, 1), requests: map[int]store.StepRequest{}}
	ses.taskFold = newTaskFold(task.ID, mode)
	return ses
}

// config returns the settings of the task's agent for its steps.
func (s *session) config() config.Stepping { return s.agent.Config.Stepping }

// State returns the state of the task.
func (s *session) State() taskState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Task returns the task with its current number of steps.
func (s *session) Task() mapping.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

// Mode returns the task's stepping mode.
func (s *session) Mode() mapping.Stepping {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// endingQuestion reports whether step n has a question whose run has not ended yet. Until then, the other face could
// not accept an answer.
func (s *session) endingQuestion(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == taskAsking && n == len(s.steps)
}

// current returns the run to fold next, its index and its last folded event. ok is false if there is none.
func (s *session) current() (i int, r mapping.Run, after int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.active() {
		return 0, mapping.Run{}, 0, false
	}
	return s.feeding, s.runs[s.feeding], s.last, true
}

// newestRun returns the newest run that this session knows, or the zero run.
func (s *session) newestRun() mapping.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == 0 {
		return mapping.Run{}
	}
	return s.runs[len(s.runs)-1]
}

// losses returns the recorded losses of one of the task's runs.
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

// standing returns the task's state, its open questions, and its newest released step, or the zero step.
func (s *session) standing() (state taskState, question []mapping.Interrupt, last mapping.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.steps); n > 0 {
		last = s.steps[n-1]
	}
	return s.state, s.question, last
}

// all returns the released steps and the held one, with the inputs of the POSTs that fetched them.
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

// noteFetched records the request that fetched a step, unless the step was handed out before, and returns the recorded
// one. Reads show it from then on, because a client may read the step before the POST ends.
func (s *session) noteFetched(n int, r store.StepRequest, again bool) store.StepRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !again {
		s.requests[n] = r
	}
	return s.requests[n]
}

// noteHandOut records that step n is being handed out.
func (s *session) noteHandOut(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.HandOuts = n
}

// undoHandOut records that the response with step n was not written.
func (s *session) undoHandOut(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.HandOuts = min(s.task.HandOuts, n-1)
	delete(s.requests, n)
}

// feed folds entries of the run at index i.
func (s *session) feed(i int, entries ...*state.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		s.fold(i, e)
	}
}

// joined adds a run that was just created for the task, unless a reader has found it already.
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

// renew records that a queued run has begun.
func (s *session) renew(i int, r *mapping.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < len(s.runs) && s.runs[i].ID == r.ID {
		s.runs[i] = withoutInput(*r)
	}
}

// release releases the held step. The run is parked, so more steps follow.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.folder.Release(); st != nil {
		s.steps = append(s.steps, *st)
	}
}

// restart replaces the fold with that of a newly read session. The requests of the steps remain, because the store may
// not have all of them yet.
func (s *session) restart(fresh *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taskFold = fresh.taskFold
}

// refreshHandOuts records the steps that other processes handed out.
func (s *session) refreshHandOuts(steps int, requests map[int]store.StepRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.task.HandOuts = requests, steps
}

// hasRuns reports whether the session has all runs of the task.
func (s *session) hasRuns(tip store.TaskHead) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) == tip.Runs && (tip.Runs == 0 || s.runs[tip.Runs-1].ID == tip.Newest)
}

// extend adds the unknown runs from a list of all the task's runs. If a known one is missing from the list, it changes
// nothing and returns false.
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
