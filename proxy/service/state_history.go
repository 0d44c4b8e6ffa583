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
	// firstStates is the size of the first batch, read before the size of states is known.
	firstStates = 4
	// heldStates is the approximate size of the states that a history holds at a time, in bytes. Each batch costs up to
	// two additional states, so reading several together is cheaper.
	heldStates = 2 << 20
	mostStates = 64
)

// StateHistory reads states in batches of about heldStates bytes.
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

// history reads a thread's checkpoints, newest first.
type history struct {
	s      *Service
	thread mapping.Thread
	query  adapter.HistoryQuery
	left   []mapping.Checkpoint // still to be read
	read   int
	last   int64 // number of the last one read; 0 if there is none
	some   int   // batch size
	tries  int
	tasks  *agentTasks // nil if not requested
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

// list finds the checkpoints still to be read.
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

// next reads a batch of states. If a checkpoint is missing because its run was rolled back or deleted, it lists the
// rest again.
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

// readFolds reads the states of a page of checkpoints, newest first. They share common parts.
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
