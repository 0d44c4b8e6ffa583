package engine

import (
	"context"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// Cancel ends an active run as interrupted and returns when it has ended; with
// rollback it is then removed with all it did. A run that has ended already is
// Conflict, unless rollback removes it.
func (e *Engine) Cancel(ctx context.Context, r mapping.Run, rollback bool) error {
	err := e.end(ctx, r)
	if !rollback {
		return err
	}
	if err != nil && mapping.Classify(err).Class != mapping.Conflict {
		return err
	}
	if err := e.st.DeleteRun(ctx, r.ThreadID, r.ID); err != nil {
		return err
	}
	e.log.Removed(r.ID)
	return nil
}

// end stops the run wherever it is: executing here, pending or parked, or
// executing elsewhere. It may move between these while we look.
func (e *Engine) end(ctx context.Context, r mapping.Run) error {
	for {
		if x := e.executing(r.ID); x != nil {
			return x.cancelled(ctx)
		}
		fresh, err := e.st.Run(ctx, r.ThreadID, r.ID)
		if err != nil {
			return err
		}
		if !fresh.Status.Active() {
			return mapping.Errorf(mapping.Conflict, "run_ended", "Run %s has already ended with status %s.", r.ID, fresh.Status)
		}
		err = e.endInactive(ctx, fresh)
		if !errors.Is(err, store.ErrFenced) {
			return err
		}
		if x := e.executing(r.ID); x == nil {
			return e.endElsewhere(ctx, fresh)
		}
	}
}

// endInactive ends a run that nobody executes.
func (e *Engine) endInactive(ctx context.Context, r mapping.Run) error {
	out := mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}
	now := time.Now()
	ev := mapping.Event{RunID: r.ID, Kind: mapping.KindEnd, At: now, Head: mapping.Head{Outcome: &out}}
	_, err := e.st.EndInactive(ctx, r.ThreadID, r.ID, ev, *e.endOf(r, out, now, nil))
	if err != nil {
		return err
	}
	if r.Status == mapping.RunPending {
		e.waiting.Add(-1)
	}
	e.unpark(r.ID)
	e.meter.RunEnded(r.Agent, out.Status)
	e.log.Ring(r.ID)
	e.ring()
	e.tellAgent(r)
	return nil
}

// endElsewhere asks the owner in another process and waits until it has ended
// the run.
func (e *Engine) endElsewhere(ctx context.Context, r mapping.Run) error {
	if err := e.st.RequestStop(ctx, r.ID, "cancel"); err != nil {
		return err
	}
	for en, err := range e.log.Follow(ctx, r, 0) {
		if err != nil {
			return err
		}
		if en.Kind == mapping.KindEnd {
			break
		}
	}
	return nil
}

func (e *Engine) executing(runID string) *execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[runID]
}

// cancelled stops the execution and waits for the end event to be durable.
func (x *execution) cancelled(ctx context.Context) error {
	x.cancel(errCancelled)
	select {
	case <-x.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if out := x.outcome; !out.Cancelled {
		return mapping.Errorf(mapping.Conflict, "run_ended", "Run %s ended with status %s before it could be cancelled.", x.run.ID, out.Status)
	}
	return nil
}

// CancelSoon asks for the end of an active run without waiting for it.
func (e *Engine) CancelSoon(ctx context.Context, r mapping.Run, rollback bool) error {
	if x := e.executing(r.ID); x != nil && !rollback {
		x.cancel(errCancelled)
		return nil
	}
	if r.Status == mapping.RunPending || r.Parked {
		return e.Cancel(ctx, r, rollback)
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		if err := e.Cancel(ctx, r, rollback); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			e.zap.Warn("a run could not be cancelled", errField(err), runField(r.ID))
		}
	}()
	return nil
}
