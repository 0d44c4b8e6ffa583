package stepping

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// reservedFor is how long other processes wait to hand out steps of a task while one process writes a response that it
// may have to take back. If that process dies or takes longer, they continue with the next step.
const reservedFor = 5 * time.Second

// reserve records that a step is handed out before any of it is sent, so that a process that dies afterwards does not
// hand it out again. It returns false if another process is handing the step out, or has created a run that makes this
// step no longer the last.
func (s *Stepper) reserve(ctx context.Context, p *stepRequest, step mapping.Step) (ok bool, err error) {
	var by store.Reservation
	if s.shared {
		by.Until = s.store.Now().Add(reservedFor)
		if step.IsLast {
			by.Newest = p.ses.newestRun().ID
		}
	}
	if ok, err = s.store.Tasks.HandOut(ctx, p.ses.key.task, step.N, p.stored(), by); ok {
		p.ses.noteHandOut(step.N)
	}
	return ok, err
}

// deliver returns the hand-out of a reserved step. The lock is released by the hand-out's Confirm or Release, or by
// deliver itself if it fails.
func (s *Stepper) deliver(ctx context.Context, p *stepRequest, step mapping.Step) (adapter.Handout, error) {
	again := step.N < p.n
	detached, once := context.WithoutCancel(ctx), sync.Once{}
	settle := func(do func(context.Context, *session, int)) func() {
		return func() {
			once.Do(func() {
				defer s.finish(p)
				if !again {
					do(detached, p.ses, step.N)
				}
			})
		}
	}
	release := settle(s.takeBack)
	list := []mapping.Step{withRequest(step, p.ses.noteFetched(step.N, p.stored(), again))}
	if err := s.WithArtifacts(ctx, p.ses.task.ThreadID, list); err != nil {
		release()
		return adapter.Handout{}, err
	}
	return adapter.Handout{Step: list[0], Losses: p.ses.losses(step.RunID), Release: release, Confirm: settle(s.confirm)}, nil
}

// confirm ends the step's reservation after it was written.
func (s *Stepper) confirm(ctx context.Context, ses *session, n int) {
	if s.shared {
		_ = s.store.Tasks.HandedOut(ctx, ses.key.task, n) // on failure, others wait until reservedFor is over
	}
}

// takeBack undoes the hand-out of a step that could not be written. The next POST gets the step.
func (s *Stepper) takeBack(ctx context.Context, ses *session, n int) {
	if err := s.store.Tasks.TakeBack(ctx, ses.key.task, n); err != nil {
		s.logger.Warn("failed step could not be withdrawn; it stays in the step list", zap.Error(err))
		return
	}
	ses.undoHandOut(n)
}

func withRequest(step mapping.Step, r store.StepRequest) mapping.Step {
	step.Input, step.AdditionalInput = r.Input, r.AdditionalInput
	return step
}
