package service

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

// headRetries bounds how often a read in several looks is tried that others overtake.
const headRetries = 8

// stateReader reads the state of a checkpoint: of one thread, or of many in turn.
type stateReader interface {
	Base(ctx context.Context, threadID, checkpointID string) (*state.Fold, error)
}

// heads reads threads at their heads.
type heads struct {
	threads *store.Threads
	states  stateReader
}

// At reads the state at a thread's head. When that head was rolled back since the thread was read, the thread is read
// again; NotFound says that the thread is gone.
func (h heads) At(ctx context.Context, t *mapping.Thread) (*mapping.Thread, *state.Fold, error) {
	return h.readBy(ctx, t, h.states)
}

// readBy is At as a list does it, with one reader for all of its threads.
func (h heads) readBy(ctx context.Context, t *mapping.Thread, states stateReader) (*mapping.Thread, *state.Fold, error) {
	for try := 1; ; try++ {
		fold, err := states.Base(ctx, t.ID, t.Head)
		if err == nil || try == headRetries || mapping.Classify(err).Code != mapping.CodeCheckpointNotFound {
			return t, fold, err
		}
		newer, err := h.threads.Get(ctx, t.ID)
		if err != nil {
			return t, nil, err
		}
		t = &newer
	}
}

// WithValues fills in the state at the thread's head. The thread may be newer than the one that was given: see At.
func (h heads) WithValues(ctx context.Context, t mapping.Thread) (mapping.Thread, error) {
	now, fold, err := h.At(ctx, &t)
	if err != nil {
		return *now, err
	}
	now.Values = fold.JSON()
	return *now, nil
}

// newest is the newest state of a thread, which may be newer than one that was read before.
func (h heads) newest(ctx context.Context, threadID string) (*state.Fold, error) {
	t, err := h.threads.Get(ctx, threadID)
	if err != nil {
		return nil, err
	}
	_, fold, err := h.At(ctx, &t)
	return fold, err
}
