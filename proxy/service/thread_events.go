package service

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) ThreadPosition(ctx context.Context, threadID string, c adapter.Cursor) (adapter.Cursor, error) {
	last, err := s.store.Events.LastSeq(ctx, threadID)
	switch {
	case err != nil:
		return c, err
	case c.Live:
		return adapter.Cursor{Seq: last, K: -1}, nil
	case !c.Start && c.Seq > last:
		return c, mapping.Errorf(mapping.Malformed, mapping.CodeInvalidCursor,
			"Position %d is beyond the end of the log of thread %s. Send -1 to read the thread from its start.", c.Seq, threadID)
	}
	r, err := s.store.Events.Replay(ctx, threadID, c.Seq)
	if err == nil && misses(r, c) {
		err = mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Thread %s cannot be read from this position: the states from which its runs up to position %d began are no longer kept (retention.checkpoints). Send position %[2]d to read from there.",
			threadID, r.Floor)
	}
	if err != nil || c.Start || c.K < 0 {
		return c, err
	}
	if r.Orphaned { // its frames differ now, as for history without a run
		return c, notKept(threadID, c.Seq)
	}
	return c, s.checkKept(ctx, threadID, c.Seq)
}

// misses reports whether a reader that starts at a position would miss events of runs that are no longer kept.
func misses(r store.Replay, c adapter.Cursor) bool {
	if c.Start {
		return r.Floor > 0
	}
	return c.Seq < r.Floor || c.Seq == r.Floor && c.K >= 0 && r.Floor > 0
}

// checkKept refuses a position whose event was removed.
func (s *Service) checkKept(ctx context.Context, threadID string, seq int64) error {
	evs, err := s.store.Events.List(ctx, threadID, "", seq-1, 1)
	if err == nil && (len(evs) == 0 || evs[0].Seq != seq) {
		err = notKept(threadID, seq)
	}
	return err
}

func notKept(threadID string, seq int64) error {
	return mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
		"Position %d of thread %s is no longer kept. Send -1 to read the thread from its start.", seq, threadID)
}

func (s *Service) ThreadReplayStart(ctx context.Context, threadID string, c adapter.Cursor) (adapter.ReplayStart, error) {
	r, err := s.store.Events.Replay(ctx, threadID, c.Seq)
	if err == nil && !c.Start && (r.Trimmed || misses(r, c)) {
		err = mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Not all runs after position %d of thread %s are still kept. Read the thread from its start.", c.Seq, threadID)
	}
	return adapter.ReplayStart{At: adapter.Cursor{Seq: r.From, K: -1}, Checkpoints: r.Checkpoints}, err
}

func (s *Service) AwaitThread(ctx context.Context, threadID string) error {
	return s.log.AwaitThread(ctx, threadID)
}

func (s *Service) ThreadEvents(ctx context.Context, threadID string, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	seq := after.Seq
	if after.K >= 0 {
		seq-- // the event may have further frames
	}
	return s.log.FollowThread(ctx, threadID, max(seq, 0), idle)
}
