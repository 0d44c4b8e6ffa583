package service

import (
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

func (s *Service) RunEvents(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		entries, err := s.runEntries(ctx, ref, after, idle)
		if err != nil {
			yield(nil, err)
			return
		}
		entries(yield)
	}
}

// runEntries returns the entries to read.
func (s *Service) runEntries(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) (iter.Seq2[*state.Entry, error], error) {
	r, err := s.loggedRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	if after.End {
		return func(yield func(*state.Entry, error) bool) { s.yieldEnd(ctx, r, after.Native, yield) }, nil
	}
	seq, err := s.runPosition(ctx, r, after)
	return s.log.Follow(ctx, r, seq, idle), err
}

// yieldEnd waits for the end of a run and yields it. If native is set, it first yields the updates that have a Head.Native.
func (s *Service) yieldEnd(ctx context.Context, r *mapping.Run, native bool, yield func(*state.Entry, error) bool) {
	end, err := s.log.End(ctx, r)
	if native && err == nil {
		var list []mapping.Event
		list, err = s.store.Events.ListNative(ctx, r.ThreadID, r.ID)
		for _, ev := range list {
			if !yield(&state.Entry{Event: ev}, nil) {
				return
			}
		}
	}
	yield(end, err)
}

// loggedRun returns the run to read. If its buffer is in memory, no query is needed.
func (s *Service) loggedRun(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	r, ok := s.log.Lookup(ref.RunID)
	p := mapping.PrincipalOf(ctx)
	if ok && r.Tenant == p.Tenant && !p.Limited() && (ref.ThreadID == "" || ref.ThreadID == r.ThreadID) {
		return r, nil
	}
	return s.store.Runs.Get(ctx, ref.ThreadID, ref.RunID)
}

// runPosition returns the Seq after which the run is read.
func (s *Service) runPosition(ctx context.Context, r *mapping.Run, c adapter.Cursor) (int64, error) {
	switch {
	case c.Checkpoint != "":
		return s.seqOfCheckpoint(ctx, r, c.Checkpoint)
	case c.Start:
		return 0, nil
	case c.Live:
		return s.store.Events.LastSeq(ctx, r.ThreadID)
	}
	if err := s.checkCursor(ctx, r, c); err != nil {
		return 0, err
	}
	if c.K < 0 {
		return c.Seq, nil
	}
	return c.Seq - 1, nil
}

// seqOfCheckpoint returns the Seq of the event that created a checkpoint, or 0 if it belongs to another run.
func (s *Service) seqOfCheckpoint(ctx context.Context, r *mapping.Run, checkpoint string) (int64, error) {
	c, err := s.store.States.Checkpoint(ctx, r.ThreadID, checkpoint)
	switch {
	case notFound(err) || err == nil && c.RunID != r.ID:
		return 0, nil
	case err != nil:
		return 0, err
	}
	return c.Seq, nil
}

// checkCursor refuses a position that this run never had.
func (s *Service) checkCursor(ctx context.Context, r *mapping.Run, c adapter.Cursor) error {
	evs, err := s.store.Events.List(ctx, r.ThreadID, "", c.Seq-1, 1)
	switch {
	case err != nil:
		return err
	case len(evs) == 0:
		return mapping.Errorf(mapping.Malformed, mapping.CodeInvalidCursor,
			"Position %d is beyond the end of the log of thread %s. Send -1 to read run %s from its start.", c.Seq, r.ThreadID, r.ID)
	case evs[0].Seq != c.Seq, evs[0].RunID != r.ID:
		return mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Position %d does not belong to run %s or is no longer kept. Send -1 to read the run from its start.", c.Seq, r.ID)
	}
	return nil
}
