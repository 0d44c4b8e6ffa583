package stepping

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"go.uber.org/zap"
)

// reservedFor is how long other processes hand out nothing of a task while one of them writes an answer, which it may
// have to take back. Should that process die, or take longer, they go on with the next step.
const reservedFor = 5 * time.Second

// handOuts hands out the steps that POSTs ask for. A step counts before it leaves: see the package's documentation.
type handOuts struct {
	progress  *progress
	tasks     *store.Tasks
	artifacts *artifact.Table
	engine    idleTimers
	now       func() time.Time // store.Store.Now
	shared    bool             // other processes may hand out steps of the same tasks
	zap       *zap.Logger
}

// idleTimers give up runs that no client asks for; engine.Engine implements it.
type idleTimers interface{ StartIdleTimer(r mapping.Run) }

// next hands out the step that is due, once there is one. The turn is given back with the hand-out, or at once where
// there is none.
func (s *handOuts) next(ctx context.Context, turn *StepLock, req adapter.StepRequest) (adapter.Handout, error) {
	p := turn.request(req)
	step, err := s.claimNextStep(ctx, p)
	if err != nil {
		s.conclude(turn)
		return adapter.Handout{}, err
	}
	return s.deliver(ctx, turn, p, step)
}

// conclude gives the turn back. It begins the idle clock of a run that goes on by itself, with any outcome of the POST:
// a client has to ask for the run's steps.
func (s *handOuts) conclude(turn *StepLock) {
	if _, r, _, active := turn.ses.current(); active && turn.ses.Mode() != mapping.SteppingLockstep {
		s.engine.StartIdleTimer(r)
	}
	turn.Release()
}

// claimNextStep is the step that is due and that no other process is handing out. When it returns, the step counts as
// handed out.
func (s *handOuts) claimNextStep(ctx context.Context, p *stepRequest) (mapping.Step, error) {
	for {
		if err := s.progress.loader.refresh(ctx, p.ses); err != nil {
			return mapping.Step{}, err
		}
		p.n = p.ses.Task().HandOuts + 1
		step, err := s.progress.due(ctx, p)
		if err != nil || step.N < p.n { // it was handed out before
			return step, err
		}
		if ok, err := s.reserve(ctx, p, step); ok || err != nil {
			return step, err
		}
		if err := pause.For(ctx, turnPoll); err != nil {
			return step, err
		}
	}
}

// reserve notes that a step is handed out, before a byte of it leaves: a process that dies afterwards must not hand it
// out again. false: another process is about to, or has made a run that more steps come of than this last one.
func (s *handOuts) reserve(ctx context.Context, p *stepRequest, step mapping.Step) (ok bool, err error) {
	var by store.Reservation
	if s.shared {
		by.Until = s.now().Add(reservedFor)
		if step.IsLast {
			by.Newest = p.ses.newestRun().ID
		}
	}
	if ok, err = s.tasks.HandOut(ctx, p.ses.key.task, step.N, p.asked(), by); ok {
		p.ses.noteHandOut(step.N)
	}
	return ok, err
}

// deliver completes a step whose hand-out is noted.
func (s *handOuts) deliver(ctx context.Context, turn *StepLock, p *stepRequest, step mapping.Step) (adapter.Handout, error) {
	ses, again := p.ses, step.N < p.n
	detached, over := context.WithoutCancel(ctx), sync.Once{}
	settle := func(do func(context.Context, *session, int)) func() {
		return func() {
			over.Do(func() {
				defer s.conclude(turn)
				if !again {
					do(detached, ses, step.N)
				}
			})
		}
	}
	release := settle(s.takeBack)
	list := []mapping.Step{withRequest(step, ses.noteFetched(step.N, p.asked(), again))}
	if err := withArtifacts(ctx, s.artifacts, ses.task.ThreadID, list); err != nil {
		release()
		return adapter.Handout{}, err
	}
	return adapter.Handout{Step: list[0], Losses: ses.losses(step.RunID), Release: release, Confirm: settle(s.handedOut)}, nil
}

// handedOut tells other processes that the step was written.
func (s *handOuts) handedOut(ctx context.Context, ses *session, n int) {
	if s.shared {
		_ = s.tasks.HandedOut(ctx, ses.key.task, n) // else they wait until reservedFor is over
	}
}

// takeBack is done when the step could not be written: the next POST gets it.
func (s *handOuts) takeBack(ctx context.Context, ses *session, n int) {
	if err := s.tasks.TakeBack(ctx, ses.key.task, n); err != nil {
		s.zap.Warn("a step that was not written could not be taken back; it is in the list of steps", zap.Error(err))
		return
	}
	ses.undoHandOut(n)
}

func withRequest(step mapping.Step, r store.StepRequest) mapping.Step {
	step.Input, step.AdditionalInput = r.Input, r.AdditionalInput
	return step
}
