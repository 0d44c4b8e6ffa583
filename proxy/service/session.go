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
	agent    *engine.Agent
	taskID   string
	threadID string
	tenant   string
	turn     chan struct{} // one POST at a time, first come first served

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
	asking   bool // the newest run has asked and not ended yet
	requests map[int]store.StepRequest
	pending  int // cursors on their way to the store; guarded by core.mu
}

// session finds a task's session, making it from the store where there is none.
func (c *core) session(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	if s, ok := c.known(task.ID, task.Tenant); ok {
		return s, nil
	}
	fresh, err := c.newSession(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.sessions.Get(task.ID); ok && s.task.Tenant == task.Tenant {
		return s, nil
	}
	c.sessions.Add(task.ID, fresh)
	return fresh, nil
}

// known finds a session in memory. One that the cache has dropped is still
// there while the store is behind it.
func (c *core) known(taskID, tenant string) (*session, bool) {
	s, ok := c.sessions.Get(taskID)
	if !ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s, ok = c.held[taskID]; ok {
			c.sessions.Add(taskID, s)
		}
	}
	return s, ok && s.tenant == tenant
}

// hold keeps a session whose cursor is on its way to the store; letGo is called
// when it is there.
func (c *core) hold(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.pending++
	c.held[s.taskID] = s
}

func (c *core) letGo(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.pending--; s.pending == 0 {
		delete(c.held, s.taskID)
	}
}

// forget drops the sessions of a thread that is gone.
func (c *core) forget(tenant, threadID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions.Values() {
		if s.threadID == threadID && s.tenant == tenant {
			c.sessions.Remove(s.taskID)
			delete(c.held, s.taskID)
		}
	}
}

// moved notes that step n was written to its client; unmoved, that this could
// not be stored.
func (s *session) moved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Cursor = n
}

func (s *session) unmoved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Cursor = min(s.task.Cursor, n-1)
}

// expect makes the session of a task that was just made: there is nothing to
// be read. It is left for later where the agent would have to be asked.
func (c *core) expect(task mapping.Task, agent *engine.Agent) {
	traits, known := agent.Known()
	if !known {
		return
	}
	s := emptySession(task, agent)
	s.mode = agent.Stepping(traits)
	s.folder = mapping.NewStepFolder(task.ID, s.mode)
	c.sessions.Add(task.ID, s)
}

func emptySession(task mapping.Task, agent *engine.Agent) *session {
	return &session{agent: agent, task: task, taskID: task.ID, threadID: task.ThreadID, tenant: task.Tenant, turn: make(chan struct{}, 1), requests: map[int]store.StepRequest{}}
}

func (c *core) newSession(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	s := emptySession(task, agent)
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

// enter waits for the POSTs that came before. The place is given back by leave.
func (s *session) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var once sync.Once
	return func() { once.Do(func() { <-s.turn }) }, nil
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
		s.steps = append(s.steps, s.settle(i, e, s.folder.Add(e))...)
		s.note(i, e)
	}
}

// settle takes is_last back from a step that another run of the task follows:
// one that was asked for before this one had ended. A task/step agent says with
// the step itself that it is the last, others by ending.
func (s *session) settle(i int, e *mapping.Entry, steps []mapping.Step) []mapping.Step {
	follows := i+1 < len(s.runs) && s.runs[i+1].CreatedAt.Before(e.At)
	for k := range steps {
		if follows {
			steps[k].IsLast = false
		}
	}
	return steps
}

// note keeps how the newest run stands.
func (s *session) note(i int, e *mapping.Entry) {
	switch e.Kind {
	case mapping.KindStarted:
		s.ended, s.question, s.asking = nil, nil, false
	case mapping.KindInterrupt, mapping.KindUpdate:
		s.asking = s.asking || len(e.Head.Interrupts) > 0
	case mapping.KindEnd:
		s.ended, s.asking = e.Head.Outcome, false
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

// fetched is what a step is told to have been asked for with: what fetched it
// first, where it was handed out before, else this request. It shows in reads
// from now on: a client may read the step before its hand-out is confirmed.
func (s *session) fetched(n int, r store.StepRequest, again bool) store.StepRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !again {
		s.requests[n] = r
	}
	return s.requests[n]
}

// its is the session's task as it stands.
func (s *session) its() mapping.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

// asks tells whether a question is open, whose answer the client's next words
// are, even while the run that asks is still being wound up.
func (s *session) asks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking
}

// begun tells whether the task has had a run.
func (s *session) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) > 0
}

// winding tells that the newest step asks a question and the run that asks is
// still being ended. Before that is done its answer could not be taken through
// another face.
func (s *session) winding(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking && n == len(s.steps)
}

// release lets go of the held step: the run is parked, so there is more to come.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.folder.Release(); st != nil {
		s.steps = append(s.steps, *st)
	}
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

// others looks for a run of the task that was made elsewhere, a resume through
// another face, and adds the oldest one.
func (c *core) others(ctx context.Context, s *session) (bool, error) {
	runs, err := c.st.Runs(ctx, store.RunQuery{ThreadID: s.task.ThreadID, TaskID: s.task.ID, OldestFirst: true})
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	known := len(s.runs)
	s.mu.Unlock()
	if len(runs) <= known {
		return false, nil
	}
	s.joined(runs[known])
	return true, nil
}

// asked tells whether the task's newest run has ended with a question.
func (s *session) asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil && len(s.question) > 0
}

// upToDate folds everything there is of the task, also what came of an answer
// that was given through another face.
func (c *core) upToDate(ctx context.Context, s *session) error {
	err := c.catchUp(ctx, s)
	for found := true; err == nil && found && s.asked(); {
		if found, err = c.others(ctx, s); err == nil && found {
			err = c.catchUp(ctx, s)
		}
	}
	return err
}
