package service

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// headRetries limits how often a read with several queries is repeated because of concurrent writes.
const headRetries = 8

// stateReader reads the state at a checkpoint: eventlog.Log for one thread, eventlog.Listing for several, one at a
// time.
type stateReader interface {
	Base(ctx context.Context, threadID, checkpointID string) (*state.Fold, error)
}

// readHead returns the state at a thread's head and the thread at that time. If the head was rolled back after the
// thread was read, it reads the thread again. It returns NotFound if the thread was deleted.
func (s *Service) readHead(ctx context.Context, t *mapping.Thread) (*mapping.Thread, *state.Fold, error) {
	return s.readHeadWith(ctx, t, s.log)
}

// readHeadWith is readHead for a list, which shares one reader of states among its threads.
func (s *Service) readHeadWith(ctx context.Context, t *mapping.Thread, states stateReader) (*mapping.Thread, *state.Fold, error) {
	for try := 1; ; try++ {
		fold, err := states.Base(ctx, t.ID, t.Head)
		if err == nil || try == headRetries || mapping.Classify(err).Code != mapping.CodeCheckpointNotFound {
			return t, fold, err
		}
		newer, err := s.store.Threads.Get(ctx, t.ID)
		if err != nil {
			return t, nil, err
		}
		t = &newer
	}
}

// WithValues fills in the state at the thread's head. The result may be newer than t: see readHead.
func (s *Service) WithValues(ctx context.Context, t mapping.Thread) (mapping.Thread, error) {
	now, fold, err := s.readHead(ctx, &t)
	if err != nil {
		return *now, err
	}
	now.Values = fold.JSON()
	return *now, nil
}

// newestState returns the state at the head of a thread.
func (s *Service) newestState(ctx context.Context, threadID string) (*state.Fold, error) {
	t, err := s.store.Threads.Get(ctx, threadID)
	if err != nil {
		return nil, err
	}
	_, fold, err := s.readHead(ctx, &t)
	return fold, err
}
