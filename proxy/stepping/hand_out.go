package stepping

import (
	"context"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// reservedFor is how long other processes hand out nothing of a task while one of them writes an answer, which it may
// have to take back. Should that process die, or take longer, they go on with the next step.
const reservedFor = 5 * time.Second

// claimNextStep is the step that is due and that no other process is handing out. When it returns, the step counts as
// handed out.
func (p *stepRequest) claimNextStep(ctx context.Context) (mapping.Step, error) {
	for {
		if err := p.refresh(ctx, p.ses); err != nil {
			return mapping.Step{}, err
		}
		p.n = p.ses.Task().HandOuts + 1
		step, err := p.due(ctx)
		if err != nil || step.N < p.n { // it was handed out before
			return step, err
		}
		if ok, err := p.reserve(ctx, step); ok || err != nil {
			return step, err
		}
		if err := pause.For(ctx, turnPoll); err != nil {
			return step, err
		}
	}
}

// reserve notes that a step is handed out, before a byte of it leaves: a process that dies afterwards must not hand it
// out again. false: another process is about to, or has made a run that more steps come of than this last one.
func (p *stepRequest) reserve(ctx context.Context, step mapping.Step) (ok bool, err error) {
	var by store.Reservation
	if p.st.Shared() {
		by.Until = now().Add(reservedFor)
		if step.IsLast {
			by.Newest = p.ses.newestRun().ID
		}
	}
	if ok, err = p.st.Tasks.HandOut(ctx, p.ses.key.task, step.N, p.asked(), by); ok {
		p.ses.noteHandOut(step.N)
	}
	return ok, err
}

// handOut completes a step whose hand-out is noted.
func (p *stepRequest) handOut(ctx context.Context, step mapping.Step) (adapter.Handout, error) {
	ses, again := p.ses, step.N < p.n
	detached, over := context.WithoutCancel(ctx), sync.Once{}
	settle := func(do func(context.Context, int)) func() {
		return func() {
			over.Do(func() {
				defer p.leave()
				if !again {
					do(detached, step.N)
				}
			})
		}
	}
	release := settle(p.takeBack)
	list := []mapping.Step{withRequest(step, ses.noteFetched(step.N, p.asked(), again))}
	if err := p.WithArtifacts(ctx, ses.task.ThreadID, list); err != nil {
		release()
		return adapter.Handout{}, err
	}
	return adapter.Handout{Step: list[0], Losses: ses.losses(step.RunID), Release: release, Confirm: settle(p.handedOut)}, nil
}

// handedOut tells other processes that the step was written.
func (p *stepRequest) handedOut(ctx context.Context, n int) {
	if p.st.Shared() {
		_ = p.st.Tasks.HandedOut(ctx, p.ses.key.task, n) // else they wait until reservedFor is over
	}
}

// takeBack is done when the step could not be written: the next POST gets it.
func (p *stepRequest) takeBack(ctx context.Context, n int) {
	if err := p.st.Tasks.TakeBack(ctx, p.ses.key.task, n); err != nil {
		p.zap.Warn("a step that was not written could not be taken back; it is in the list of steps", zap.Error(err))
		return
	}
	p.ses.undoHandOut(n)
}

// asked is what the step is fetched with.
func (p *stepRequest) asked() store.StepRequest {
	return store.StepRequest{Input: p.req.Input, AdditionalInput: p.req.AdditionalInput, Key: p.key(stepRoute)}
}

func withRequest(step mapping.Step, r store.StepRequest) mapping.Step {
	step.Input, step.AdditionalInput = r.Input, r.AdditionalInput
	return step
}
