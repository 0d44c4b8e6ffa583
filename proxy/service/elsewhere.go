package service

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// reservedFor is how long other processes hand out nothing of a task while one of
// them writes an answer, which it may have to take back. Should that process die,
// or take longer, they go on with the next step.
const reservedFor = 5 * time.Second

// refresh learns what other processes did with a task: what they handed out,
// and a run they made first. Called by who has the session's turn.
func (c *core) refresh(ctx context.Context, s *session) error {
	if !c.st.Shared() {
		return nil
	}
	if err := c.learn(ctx, s); err != nil {
		return err
	}
	if s.begun() {
		return nil
	}
	_, err := c.others(ctx, s)
	return err
}

// learn reads how far the task's steps are handed out.
func (c *core) learn(ctx context.Context, s *session) error {
	task, err := c.st.Task(ctx, s.key.task)
	if err != nil {
		return err
	}
	if task.Cursor != s.its().Cursor {
		requests, err := c.st.Requests(ctx, task.ID)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.requests, s.task.Cursor = requests, task.Cursor
		s.mu.Unlock()
	}
	return nil
}

// glance is refresh for readers: while a POST has the turn, that keeps the
// session as it is.
func (c *core) glance(ctx context.Context, s *session) error {
	if !c.st.Shared() {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return c.refresh(ctx, s)
	default:
		return nil
	}
}

// mine is the step that is due and that no other process is handing out. When it
// returns, the cursor stands behind the step.
func (p *pull) mine(ctx context.Context) (mapping.Step, error) {
	for {
		if err := p.refresh(ctx, p.ses); err != nil {
			return mapping.Step{}, err
		}
		p.n = p.ses.its().Cursor + 1
		step, err := p.due(ctx)
		if err != nil || step.N < p.n { // it was handed out before
			return step, err
		}
		if ok, err := p.take(ctx, step.N); ok || err != nil {
			return step, err
		}
		if err := wait(ctx, turnPoll); err != nil {
			return step, err
		}
		if err := p.learn(ctx, p.ses); err != nil {
			return step, err
		}
	}
}

// take notes that step n is handed out, before a byte of it leaves: a process that
// dies afterwards must not hand it out again. false: another process is about to.
func (p *pull) take(ctx context.Context, n int) (ok bool, err error) {
	var until time.Time
	if p.st.Shared() {
		until = p.now().Add(reservedFor)
	}
	if ok, err = p.st.HandOut(ctx, p.ses.key.task, n, p.asked(), until); ok {
		p.ses.moved(n)
	}
	return ok, err
}

// handedOut tells other processes that the step was written.
func (p *pull) handedOut(ctx context.Context, n int) {
	if p.st.Shared() {
		_ = p.st.HandedOut(ctx, p.ses.key.task, n) // else they wait until reservedFor is over
	}
}

// takeBack is done when the step could not be written: the next POST gets it.
func (p *pull) takeBack(ctx context.Context, n int) {
	if err := p.st.TakeBack(ctx, p.ses.key.task, n); err != nil {
		p.zap.Warn("a step that was not written could not be taken back; it is in the list of steps", zap.Error(err))
		return
	}
	p.ses.unmoved(n)
}
