package service

import (
	"context"
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
)

// session is a task as it is pulled step by step: its runs, folded into
// numbered steps. It is a fold of what is stored, and can be dropped at any
// time when nobody uses it.
type session struct {
	key   sessionKey
	users int // POSTs that hold it; guarded by sessions.mu
	agent *engine.Agent
	turn  chan struct{} // one POST at a time, first come first served

	mu       sync.Mutex
	task     mapping.Task
	mode     mapping.Stepping
	folder   *mapping.StepFolder
	runs     []mapping.Run // oldest first
	feeding  int           // index of the run whose events are folded next
	last     int64         // Seq of the newest event folded
	steps    []mapping.Step
	ended    *mapping.Outcome // of the newest run; nil while it is active
	question []mapping.Interrupt
	asking   bool // the newest run has asked and not been answered
	requests map[int]store.StepRequest
}

// session finds a task's session, making it from the store where there is none.
func (c *core) session(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	if s, ok := c.sessions.get(sessionKey{task.Tenant, task.ID}); ok {
		return s, nil
	}
	fresh, err := c.newSession(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return c.sessions.add(fresh), nil
}

func (c *core) newSession(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	s := &session{key: sessionKey{task.Tenant, task.ID}, agent: agent, task: task, turn: make(chan struct{}, 1), requests: map[int]store.StepRequest{}}
	runs, err := c.st.Runs(ctx, store.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, OldestFirst: true})
	if err != nil {
		return nil, err
	}
	if s.mode, err = c.stepping(ctx, agent, runs); err != nil {
		return nil, err
	}
	s.folder = mapping.NewStepFolder(task.ID, s.mode)
	s.runs = runs
	if len(runs) > 0 {
		if s.requests, err = c.st.Requests(ctx, task.ID); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// stepping is the mode the task's runs were made with, or that a new one will
// be. A task whose runs came through the other face is read as free.
func (c *core) stepping(ctx context.Context, agent *engine.Agent, runs []mapping.Run) (mapping.Stepping, error) {
	if len(runs) > 0 {
		if m := runs[0].Options.Stepping; m != "" {
			return m, nil
		}
		return mapping.SteppingFree, nil
	}
	traits, known := agent.Known()
	if !known {
		var err error
		if _, traits, err = agent.Backend(ctx); err != nil {
			return mapping.SteppingFree, nil //nolint:nilerr // the run itself will say that the agent is away
		}
	}
	return agent.Stepping(traits), nil
}

// enter waits for the POSTs that came before.
func (s *session) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ofTask is the task as it stands.
func (s *session) ofTask() mapping.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

// moved notes that a step was handed out.
func (s *session) moved(n int, r store.StepRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Cursor = n
	s.requests[n] = r
}

// request is what a step was fetched with.
func (s *session) request(n int) store.StepRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[n]
}

// lossesOf are those of one of the task's runs.
func (s *session) lossesOf(runID string) []mapping.Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.runs {
		if s.runs[i].ID == runID {
			return s.runs[i].Options.Losses
		}
	}
	return nil
}

// cancelled tells whether the task's newest run was.
func (s *session) cancelled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil && s.ended.Cancelled
}

// known is how many runs of the task are; ended tells that all of them have.
func (s *session) known() (runs int, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs), s.ended != nil
}

// feed folds entries of the run at index i.
func (s *session) feed(i int, entries ...*mapping.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if i != s.feeding || e.Seq <= s.last {
			continue
		}
		s.last = e.Seq
		released := s.folder.Add(e)
		if i+1 < len(s.runs) {
			settle(released, s.runs[i+1])
		}
		s.steps = append(s.steps, released...)
		s.note(i, e)
	}
}

// settle takes is_last back from steps that a follow-up run comes after. It was
// asked for before they were handed out, so nobody has seen them as the last.
func settle(steps []mapping.Step, next mapping.Run) {
	if !next.Options.FollowUp {
		return
	}
	for k := range steps {
		if steps[k].N >= next.Options.Due {
			steps[k].IsLast = false
		}
	}
}

// note keeps how the newest run stands.
func (s *session) note(i int, e *mapping.Entry) {
	switch e.Kind {
	case mapping.KindStarted:
		s.ended, s.question, s.asking = nil, nil, false
	case mapping.KindInterrupt, mapping.KindUpdate:
		s.asking = s.asking || len(e.Head.Interrupts) > 0
	case mapping.KindEnd:
		s.ended = e.Head.Outcome
		s.question = e.Head.Outcome.Interrupts
		if len(s.question) == 0 && e.After != nil && e.Head.Outcome.Status == mapping.RunInterrupted && !e.Head.Outcome.Cancelled {
			s.question = e.After.Interrupts()
		}
		if i+1 < len(s.runs) {
			s.feeding, s.ended, s.question = i+1, nil, nil
		}
	}
}

// joined adds a run that was just made for the task.
func (s *session) joined(r mapping.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.runs {
		if old.ID == r.ID {
			return
		}
	}
	s.runs = append(s.runs, r)
	settle(s.steps, r)
	if s.ended != nil || len(s.runs) == 1 {
		s.feeding = len(s.runs) - 1
		s.ended, s.question = nil, nil
	}
}

// current is the run to be folded next; ok is false when there is none.
func (s *session) current() (i int, r mapping.Run, after int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feeding >= len(s.runs) || s.ended != nil {
		return 0, mapping.Run{}, 0, false
	}
	return s.feeding, s.runs[s.feeding], s.last, true
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

// asks tells whether a question is open, whose answer the client's next words
// are, even while the run that asks is still being wound up.
func (s *session) asks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking
}

// release lets go of the held step: the run is parked, so there is more to come.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.folder.Release(); st != nil {
		s.steps = append(s.steps, *st)
	}
}

// others looks for a run of the task that was made elsewhere once all known
// ones have ended: an answer that came through another face.
func (c *core) others(ctx context.Context, s *session) (bool, error) {
	known, ended := s.known()
	if !ended {
		return false, nil
	}
	runs, err := c.st.Runs(ctx, store.RunQuery{ThreadID: s.task.ThreadID, TaskID: s.task.ID, OldestFirst: true, Limit: 1, Offset: known})
	if err != nil || len(runs) == 0 {
		return false, err
	}
	s.joined(runs[0])
	return true, nil
}

// catchUp folds everything that is logged by now.
func (c *core) catchUp(ctx context.Context, s *session) error {
	for {
		i, r, after, ok := s.current()
		if !ok {
			return nil
		}
		entries, err := c.log.Read(ctx, r, after)
		if err != nil || len(entries) == 0 {
			return err
		}
		s.feed(i, entries...)
	}
}
