package engine

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// A run that may overlap with others has the thread's state at the time it began, with its own changes. A stateful
// agent keeps that state on a separate upstream thread. A new state of the agent is compared with its previous one,
// never with the thread's current state.

// agentState is the state that a stateful agent has, if the run may overlap with others or answers a question from
// before others worked on the thread.
type agentState struct {
	start *state.Fold // at the beginning of the run
	now   *state.Fold
}

// difference returns the change from the current to the full state. If other runs may have changed the thread's state
// in the meantime, the change can be merged.
func (r *recorder) difference(full []byte) (diff []byte, err error) {
	if !r.x.Run.Options.MayOverlap && r.agentState.start == nil {
		diff, _, err = r.fold.DiffTo(full)
		return diff, err
	}
	from := r.agentState.now
	if from == nil {
		from = r.fold
	}
	if diff, err = from.JoinTo(full); err == nil {
		r.agentState.now, err = state.NewFold(full)
	}
	return diff, err
}

// retryState returns the state from which another attempt starts.
func (r *recorder) retryState(initial *state.Fold) *state.Fold {
	if r.agentState.start != nil {
		return r.agentState.start
	}
	return initial
}

// cacheState caches the state of a checkpoint, unless it may lack the changes of other runs.
func (r *recorder) cacheState(checkpoint string, f *state.Fold) {
	if !r.x.Run.Options.MayOverlap {
		r.x.e.log.Keep(checkpoint, f, r.distance)
	}
}

// answersOwnThread reports whether a run is an answer for an upstream thread whose state may differ from the thread's.
// That happens if other runs may overlap, or if another agent has worked on the thread since the question. Only the
// upstream thread that asked can use the answer.
func (x *execution) answersOwnThread(ctx context.Context, l mapping.Link) (bool, error) {
	switch {
	case !x.Run.Options.Resuming:
		return false, nil
	case x.Run.Options.MayOverlap:
		return true, nil
	case l.Remote == "" || l.LocalCheckpoint == x.Run.Base || x.Run.Base == "":
		return false, nil
	}
	at, err := x.store.States.Checkpoint(ctx, x.Run.ThreadID, x.Run.Base)
	if err != nil || at.RunID == "" { // a client changed the state
		return false, err
	}
	by, err := x.store.Runs.Get(ctx, x.Run.ThreadID, at.RunID)
	if err != nil {
		return false, unlessGone(err)
	}
	return by.Agent != x.Run.Agent, nil
}

// unlessGone returns err, or nil if the object was deleted in the meantime.
func unlessGone(err error) error {
	if mapping.Classify(err).Class == mapping.NotFound {
		return nil
	}
	return err
}

// readAgentState reads the state of the agent that answersOwnThread describes.
func (x *execution) readAgentState(ctx context.Context) error {
	if x.rec.agentState.start != nil {
		return nil
	}
	first, err := x.store.Runs.List(ctx, mapping.RunQuery{TaskID: x.Run.TaskID, OldestFirst: true, Limit: 1})
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
	x.rec.agentState = agentState{start: fold, now: fold}
	return err
}
