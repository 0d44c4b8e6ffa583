package service

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// threadLog reads what happens on threads.
type threadLog struct{ *core }

func (s *threadLog) Position(ctx context.Context, threadID string, c adapter.Cursor) (adapter.Cursor, error) {
	last, err := s.st.LastSeq(ctx, threadID)
	switch {
	case err != nil, c.Start:
		return c, err
	case c.Live:
		return adapter.Cursor{Seq: last, K: -1}, nil
	case c.Seq > last:
		return c, mapping.Errorf(mapping.Malformed, mapping.CodeBadCursor,
			"Position %d lies beyond what thread %s has logged. Send -1 to read the thread from its start.", c.Seq, threadID)
	case c.K < 0:
		return c, nil
	}
	evs, err := s.st.Events(ctx, threadID, "", c.Seq-1, 1)
	if err == nil && (len(evs) == 0 || evs[0].Seq != c.Seq) {
		err = mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Position %d of thread %s is not kept any more. Send -1 to read the thread from its start.", c.Seq, threadID)
	}
	return c, err
}

func (s *threadLog) Events(ctx context.Context, threadID string, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	seq := after.Seq
	if after.K >= 0 {
		seq-- // the event may hold further frames
	}
	return s.log.FollowThread(ctx, threadID, max(seq, 0), idle)
}

var _ adapter.ThreadLog = (*threadLog)(nil)
