package service

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// reservedFor is how long a step that another process hands out is left to it
// while its answer is being written. Should that process die, or take longer, the
// step is handed out again.
const reservedFor = 5 * time.Second

// refresh learns what other processes did with a task: what they handed out,
// and a run they made first. Called by who has the session's turn.
func (c *core) refresh(ctx context.Context, s *session) error {
	if !c.st.Shared() {
		return nil
	}
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
	if !s.begun() {
		_, err = c.others(ctx, s)
	}
	return err
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

// mine is the step that is due and that no other process is handing out.
func (p *pull) mine(ctx context.Context) (mapping.Step, error) {
	for {
		if err := p.refresh(ctx, p.ses); err != nil {
			return mapping.Step{}, err
		}
		p.n = p.ses.its().Cursor + 1
		step, err := p.due(ctx)
		if err != nil {
			return step, err
		}
		if ok, err := p.reserve(ctx, step); ok || err != nil {
			return step, err
		}
		if err := wait(ctx, turnPoll); err != nil {
			return step, err
		}
	}
}

// reserve keeps other processes from handing out the same step. false: one of
// them is about to.
func (p *pull) reserve(ctx context.Context, step mapping.Step) (bool, error) {
	if !p.st.Shared() || step.N < p.n {
		return true, nil
	}
	return p.st.Reserve(ctx, p.ses.key.task, step.N, p.now().Add(reservedFor))
}

func (p *pull) unreserve(ctx context.Context, step mapping.Step) {
	if p.st.Shared() {
		_ = p.st.Unreserve(ctx, p.ses.key.task, step.N) // else it ends by itself
	}
}
