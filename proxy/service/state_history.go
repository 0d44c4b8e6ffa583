package service

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	// firstStates are read together before it is known how large they are.
	firstStates = 4
	// heldStates is about how many bytes of states a history holds at a time. To read some costs up to two states
	// besides, so that a few should be read together.
	heldStates = 2 << 20
	mostStates = 64
)

// StateHistory reads some states at a time, as many as are about heldStates long.
func (s *Service) StateHistory(ctx context.Context, threadID string, q adapter.HistoryQuery) iter.Seq2[adapter.ThreadState, error] {
	return func(yield func(adapter.ThreadState, error) bool) {
		t, err := s.store.Threads.Get(ctx, threadID)
		if err != nil {
			yield(adapter.ThreadState{}, err)
			return
		}
		h := &history{s: s, thread: t, query: q, some: firstStates}
		if q.Tasks {
			h.tasks = &agentTasks{s: s, thread: t, before: q.Before}
		}
		for st, err := range h.all(ctx) {
			if !yield(st, err) || err != nil {
				return
			}
		}
	}
}

// history is a reading of a thread's checkpoints, newest first.
type history struct {
	s      *Service
	thread mapping.Thread
	query  adapter.HistoryQuery
	left   []mapping.Checkpoint // to be read
	read   int
	last   int64 // the number of the last one read; 0: none was
	some   int   // how many to read at a time
	tries  int
	tasks  *agentTasks // nil: they are not asked for
}

func (h *history) all(ctx context.Context) iter.Seq2[adapter.ThreadState, error] {
	return func(yield func(adapter.ThreadState, error) bool) {
		for err := h.list(ctx); len(h.left) > 0 || err != nil; {
			var page []mapping.Checkpoint
			var folds []*state.Fold
			if err == nil {
				page, folds, err = h.next(ctx)
			}
			var theirs map[string]json.RawMessage
			if h.tasks != nil {
				theirs = h.tasks.of(ctx, page)
			}
			for i := 0; i < len(page) && err == nil; i++ {
				var st adapter.ThreadState
				if st, err = h.s.threadState(ctx, h.thread, page[i], folds[i]); err != nil {
					break
				}
				st.Tasks = rule.AgentTasks(st.Tasks, theirs[page[i].ID], page[i].ID == h.thread.Head)
				if !yield(st, nil) {
					return
				}
			}
			if err != nil {
				yield(adapter.ThreadState{}, err)
				return
			}
		}
	}
}

// list finds the checkpoints that are still to be read.
func (h *history) list(ctx context.Context) error {
	q := h.query
	list, err := h.s.store.States.Checkpoints(ctx, h.thread.ID, store.CheckpointQuery{Before: q.Before, At: q.At, Metadata: q.Metadata, Limit: q.Limit})
	h.left = nil
	for _, c := range list {
		if (h.last == 0 || c.Seq < h.last) && (q.Limit == 0 || h.read+len(h.left) < q.Limit) {
			h.left = append(h.left, c)
		}
	}
	return err
}

// next reads some states. If a checkpoint is gone because its run was rolled back or deleted, the rest is
// listed again.
func (h *history) next(ctx context.Context) ([]mapping.Checkpoint, []*state.Fold, error) {
	page := h.left[:min(h.some, len(h.left))]
	folds, err := h.s.readFolds(ctx, h.thread.ID, page)
	if err != nil && h.tries < headRetries && mapping.Classify(err).Code == mapping.CodeCheckpointNotFound {
		h.tries++
		return nil, nil, h.list(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	size := 1
	for _, f := range folds {
		size = max(size, f.Size())
	}
	h.left, h.read, h.last = h.left[len(page):], h.read+len(page), page[len(page)-1].Seq
	h.some = min(max(heldStates/size, 1), mostStates)
	return page, folds, nil
}

// readFolds reads the states of a page of checkpoints, newest first, sharing what they share.
func (s *Service) readFolds(ctx context.Context, threadID string, list []mapping.Checkpoint) ([]*state.Fold, error) {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[len(list)-1-i] = c.ID // oldest first
	}
	read, err := s.store.States.List(ctx, threadID, ids)
	if err != nil {
		return nil, err
	}
	folds := make([]*state.Fold, len(list))
	var f *state.Fold
	for i, st := range read {
		if f, err = foldOn(f, st); err != nil {
			return nil, err
		}
		folds[len(list)-1-i] = f
	}
	return folds, nil
}
