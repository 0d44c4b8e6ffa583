package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// A run that others run beside knows the thread's state as it was when the run began, and what it did itself; a
// stateful agent keeps that state on an upstream thread of the run's own. What the agent tells is compared with what it
// told before, never with what the thread has become.

// told is the state as a stateful agent has it, of a run that others may run beside, or that answers what was asked
// before others worked on the thread.
type told struct {
	start *state.Fold // when the run began
	now   *state.Fold
}

// difference is how the state becomes the full one, said so that it can be merged where others may have changed the
// thread's state meanwhile.
func (r *recorder) difference(full []byte) (diff []byte, err error) {
	if !r.x.Run.Options.MayOverlap && r.told.start == nil {
		diff, _, err = r.fold.DiffTo(full)
		return diff, err
	}
	from := r.told.now
	if from == nil {
		from = r.fold
	}
	if diff, err = from.JoinTo(full); err == nil {
		r.told.now, err = state.NewFold(full)
	}
	return diff, err
}

// wayBack is the state that another attempt starts from.
func (r *recorder) wayBack(initial *state.Fold) *state.Fold {
	if r.told.start != nil {
		return r.told.start
	}
	return initial
}

// keep remembers the state of a checkpoint, unless others may have a part in it.
func (r *recorder) keep(checkpoint string, f *state.Fold) {
	if !r.x.Run.Options.MayOverlap {
		r.x.e.log.Keep(checkpoint, f, r.distance)
	}
}

// answersOwnThread reports whether a run is an answer that goes to an upstream thread which need not have the thread's
// state: others may run beside it, or another agent has worked on the thread since it was asked. Only the upstream
// thread that asked can use the answer.
func (x *execution) answersOwnThread(ctx context.Context, l mapping.Link) (bool, error) {
	switch {
	case !x.Run.Options.Resuming:
		return false, nil
	case x.Run.Options.MayOverlap:
		return true, nil
	case l.Remote == "" || l.LocalCheckpoint == x.Run.Base || x.Run.Base == "":
		return false, nil
	}
	at, err := x.e.store.States.Checkpoint(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil || at.RunID == "" { // a client changed the state
		return false, err
	}
	by, err := x.e.store.Runs.Get(ctx, x.Run.ThreadID, at.RunID)
	if err != nil {
		return false, unlessGone(err)
	}
	return by.Agent != x.Run.Agent, nil
}

// unlessGone is err, unless it says that what was read was deleted meanwhile.
func unlessGone(err error) error {
	if mapping.Classify(err).Class == mapping.NotFound {
		return nil
	}
	return err
}

// takeOwnState finds out what the agent of an answer has that goes to an upstream thread of its own.
func (x *execution) takeOwnState(ctx context.Context) error {
	if x.rec.told.start != nil {
		return nil
	}
	first, err := x.e.store.Runs.List(ctx, mapping.RunQuery{TaskID: x.Run.TaskID, OldestFirst: true, Limit: 1})
	if err != nil || len(first) == 0 {
		return err
	}
	fold, err := x.e.log.Base(ctx, x.Run.ThreadID, first[0].Base)
	if err != nil {
		return err
	}
	err = x.e.eachOfTask(ctx, x.Run.TaskID, func(ev mapping.Event) (err error) {
		fold, err = fold.Apply(&ev)
		return err
	})
	x.rec.told = told{start: fold, now: fold}
	return err
}
