package protocol

import (
	"context"
	"math"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// follow emits past and future events of a thread after since, until ctx ends or emit fails. It waits for a thread that
// does not exist yet, because clients listen before they create it. idle, which may be nil, is called before each wait.
// follow returns NotFound when the thread is deleted.
func (s *Server) follow(ctx context.Context, thread string, since int64, idle func(), emit func(ev *event, at position) error) error {
	if idle != nil {
		idle()
	}
	if err := s.Service.AwaitThread(ctx, thread); err != nil {
		return err
	}
	return s.emitSince(ctx, thread, since, idle, emit)
}

// emitSince is like follow for an existing thread.
//
// The events of an entry depend on earlier entries of its run. So emitSince starts with the runs that were active at
// since and also emits some events before since.
func (s *Server) emitSince(ctx context.Context, thread string, since int64, idle func(), emit func(ev *event, at position) error) error {
	from, err := s.Service.ThreadReplayStart(ctx, thread, cursorOf(since))
	if err != nil {
		return err
	}
	var failed error
	t := newTranslator(func(ev *event, at position) {
		if failed == nil {
			failed = emit(ev, at)
		}
	})
	t.checkpoints.noteAll(from.Checkpoints)
	for e, err := range s.Service.ThreadEvents(ctx, thread, from.At, idle) {
		if err == nil {
			err = s.emitEntry(ctx, t, thread, e)
		}
		if err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// count returns the current number of events after f.since that match the filter.
func (s *Server) count(ctx context.Context, thread string, f *filter) (n int64, err error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err = s.emitSince(reading, thread, f.since, stop, func(ev *event, at position) error {
		if f.wants(ev, at) {
			n++
		}
		return nil
	})
	if reading.Err() != nil { // the whole log was read
		err = ctx.Err()
	}
	return n, err
}

// emitEntry emits the events of an entry. It skips remaining entries of a deleted run.
func (s *Server) emitEntry(ctx context.Context, t *translator, thread string, e *state.Entry) error {
	if !t.knows(e.RunID) {
		run, err := s.Service.GetRun(ctx, adapter.RunRef{ThreadID: thread, RunID: e.RunID})
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		t.beginRun(run)
	}
	t.entry(e)
	return nil
}

// beginningOf returns the last entry of the log before the run began.
func (s *Server) beginningOf(ctx context.Context, run *mapping.Run) (int64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ref := adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}
	for e, err := range s.Service.RunEvents(ctx, ref, adapter.Cursor{K: -1, Start: true}, stop) {
		switch {
		case isNotFound(err) || ctx.Err() != nil:
			return math.MaxInt64, nil // it was deleted
		case err != nil:
			return 0, err
		case e.Kind == mapping.KindStarted:
			return e.Seq - 1, nil
		}
	}
	return math.MaxInt64, nil
}

// treeOf returns the current tree of a run's graphs and the run's status.
func (s *Server) treeOf(ctx context.Context, run *mapping.Run) (*tree, string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	status := statusRunning
	t := newTranslator(func(ev *event, _ position) {})
	t.beginRun(run)
	v := t.runs[run.ID]
	ref := adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}
	for e, err := range s.Service.RunEvents(ctx, ref, adapter.Cursor{K: -1, Start: true}, stop) {
		if ctx.Err() != nil {
			break // the whole log was read
		}
		if err != nil {
			return nil, "", err
		}
		if e.Kind == mapping.KindEnd && e.Head.Outcome != nil {
			status, _ = endOf(e.Head.Outcome)
		}
		t.entry(e)
	}
	return &v.tree, status, nil
}
