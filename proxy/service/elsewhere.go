package service

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// reservedFor is how long other processes hand out nothing of a task while one of
// them writes an answer, which it may have to take back. Should that process die,
// or take longer, they go on with the next step.
const reservedFor = 5 * time.Second

// refresh learns what other processes did with a task, where there are any. The
// caller has the session's turn.
func (c *core) refresh(ctx context.Context, s *session) error {
	if !c.st.Shared() {
		return nil
	}
	_, err := c.sync(ctx, s)
	return err
}

// sync learns what was done with a task without this session: steps that other
// processes handed out, and runs that were made there or through another face. It
// reports whether the task's runs are others than before. The caller has the
// session's turn.
func (c *core) sync(ctx context.Context, s *session) (moved bool, err error) {
	tip, err := c.st.TaskTip(ctx, s.key.task)
	if err != nil {
		return false, err
	}
	if tip.Cursor != s.its().Cursor {
		requests, err := c.st.Requests(ctx, s.key.task)
		if err != nil {
			return false, err
		}
		s.learn(tip.Cursor, requests)
	}
	if s.knows(tip) {
		return false, nil
	}
	fresh, err := c.newSession(ctx, s.its(), s.agent)
	if err == nil && !s.extend(fresh.runs) {
		s.restart(fresh)
	}
	return true, err
}

// newRuns adds the runs that were made without this session. It is for readers, who
// do not have the session's turn: they leave its cursor alone, and runs that are gone
// to a POST, since what they have read may be older than what the session knows.
func (c *core) newRuns(ctx context.Context, s *session) (found bool, err error) {
	tip, err := c.st.TaskTip(ctx, s.key.task)
	if err != nil || s.knows(tip) {
		return false, err
	}
	task := s.its()
	runs, err := c.st.Runs(ctx, store.RunQuery{ThreadID: task.ThreadID, TaskID: task.ID, OldestFirst: true})
	return err == nil && s.extend(runs), err
}

// glance is refresh for readers: while a POST has the turn, that keeps the
// session's cursor as it is.
func (c *core) glance(ctx context.Context, s *session) error {
	if !c.st.Shared() {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return c.refresh(ctx, s)
	default:
		_, err := c.newRuns(ctx, s)
		return err
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
		if ok, err := p.take(ctx, step); ok || err != nil {
			return step, err
		}
		if err := wait(ctx, turnPoll); err != nil {
			return step, err
		}
	}
}

// take notes that a step is handed out, before a byte of it leaves: a process that
// dies afterwards must not hand it out again. false: another process is about to, or
// has made a run that more steps come of than this last one.
func (p *pull) take(ctx context.Context, step mapping.Step) (ok bool, err error) {
	var by store.Reservation
	if p.st.Shared() {
		by.Until = p.now().Add(reservedFor)
		if step.IsLast {
			by.Newest = p.ses.newest()
		}
	}
	if ok, err = p.st.HandOut(ctx, p.ses.key.task, step.N, p.asked(), by); ok {
		p.ses.moved(step.N)
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
