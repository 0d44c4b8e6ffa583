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
	asking   bool             // the newest run has asked and not ended yet
	uploaded mapping.Uploaded // up to where uploads were given to a stateful agent with its steps
	requests map[int]store.StepRequest
}

// session finds a task's session, making it from the store where there is none.
func (c *core) session(ctx context.Context, task mapping.Task, agent *engine.Agent) (*session, error) {
	if s, ok := c.sessions.get(sessionKey{task.Tenant, task.ID}); ok {
		return s, c.glance(ctx, s)
	}
	fresh, err := c.newSession(ctx, task, agent)
	if err != nil {
		return nil, err
	}
	return c.sessions.add(fresh), nil
}

// enter waits for the POSTs that came before. ses is the session to be used: the
// task's one, until leave is called.
func (c *core) enter(ctx context.Context, s *session) (ses *session, leave func(), err error) {
	ses = c.sessions.hold(s)
	select {
	case ses.turn <- struct{}{}:
	case <-ctx.Done():
		c.sessions.letGo(ses)
		return nil, nil, context.Cause(ctx)
	}
	return ses, sync.OnceFunc(func() {
		<-ses.turn
		c.sessions.letGo(ses)
	}), nil
}

// moved notes that step n is being handed out; unmoved, that its answer was not
// written and that this is undone.
func (s *session) moved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Cursor = n
}

func (s *session) unmoved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Cursor = min(s.task.Cursor, n-1)
	delete(s.requests, n)
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
	c.sessions.add(s)
}

func emptySession(task mapping.Task, agent *engine.Agent) *session {
	return &session{key: sessionKey{task.Tenant, task.ID}, agent: agent, task: task, turn: make(chan struct{}, 1), requests: map[int]store.StepRequest{}}
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
	for _, r := range runs {
		s.runs = append(s.runs, withoutInput(r))
	}
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

// feed folds entries of the run at index i.
func (s *session) feed(i int, entries ...*mapping.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if i != s.feeding || e.Seq <= s.last || s.runs[i].ID != e.RunID {
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
	case mapping.KindLinked:
		s.uploaded = max(s.uploaded, e.Head.Uploaded)
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

// learn notes what other processes handed out.
func (s *session) learn(cursor int, requests map[int]store.StepRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.task.Cursor = requests, cursor
}

// knows reports whether the session has the runs that the task has.
func (s *session) knows(tip store.TaskTip) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) == tip.Runs && (tip.Runs == 0 || s.runs[tip.Runs-1].ID == tip.Newest)
}

// extend adds what a list of all the task's runs has beyond those that are known. It
// reports false when a known one is missing from the list, and changes nothing then.
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

// joined adds a run that was just made for the task, unless a reader has found it
// already.
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

// add must be called with the lock held.
func (s *session) add(r mapping.Run) {
	s.runs = append(s.runs, withoutInput(r))
	settle(s.steps, r)
	if s.ended != nil || len(s.runs) == 1 {
		s.feeding = len(s.runs) - 1
		s.ended, s.question = nil, nil
	}
}

// withoutInput is a run as a session keeps it. The input may be long, and is read from the
// store by whatever executes the run.
func withoutInput(r mapping.Run) mapping.Run {
	r.Options.Input = nil
	return r
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

// newest is the id of the task's newest run that this session knows.
func (s *session) newest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == 0 {
		return ""
	}
	return s.runs[len(s.runs)-1].ID
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
// from now on: a client may read the step before the POST is over.
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

// asked tells whether the task's newest run has ended with a question.
func (s *session) asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil && len(s.question) > 0
}

// upToDate folds everything there is of the task, also what came of an answer
// that was given through another face, and of words that another process was told.
func (c *core) upToDate(ctx context.Context, s *session) error {
	for {
		if err := c.catchUp(ctx, s); err != nil {
			return err
		}
		if found, err := c.more(ctx, s); !found || err != nil {
			return err
		}
	}
}

// more looks for runs behind the last one, once that has ended: before then, no step
// is told to be the last.
func (c *core) more(ctx context.Context, s *session) (found bool, err error) {
	if _, _, _, active := s.current(); active || !c.st.Shared() && !s.asked() {
		return false, nil
	}
	return c.newRuns(ctx, s)
}
