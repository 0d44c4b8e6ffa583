package protocol

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// How often it is asked whether a thread is there that a client listens to before it makes it.
const (
	askFirst = 50 * time.Millisecond
	askLast  = time.Second
)

// await returns when the thread is there, or ctx ends. Another tenant's thread never is.
func (s *Server) await(ctx context.Context, thread string) error {
	for pause := askFirst; ; pause = min(2*pause, askLast) {
		_, err := s.Service.ThreadLog.Position(ctx, thread, adapter.Cursor{K: -1, Start: true})
		if !isNotFound(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follow emits the events of a thread: all that have happened, then what happens, until ctx ends
// or emit fails. The thread is waited for. idle, which may be nil, is called before each wait. It
// returns NotFound when the thread is deleted.
//
// The log is read from its beginning: the events of an entry depend on those before it.
func (s *Server) follow(ctx context.Context, thread string, idle func(), emit func(ev *event, at place) error) error {
	if idle != nil {
		idle()
	}
	if err := s.await(ctx, thread); err != nil {
		return err
	}
	var failed error
	t := newTranslator(func(ev *event, at place) {
		if failed == nil {
			failed = emit(ev, at)
		}
	})
	for e, err := range s.Service.ThreadLog.Events(ctx, thread, adapter.Cursor{K: -1, Start: true}, idle) {
		if err == nil {
			err = s.tell(ctx, t, thread, e)
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

// tell has the events of an entry emitted. What is left of a run that was deleted is skipped.
func (s *Server) tell(ctx context.Context, t *translator, thread string, e *state.Entry) error {
	if !t.knows(e.RunID) {
		run, err := s.Service.Runs.Get(ctx, adapter.RunRef{ThreadID: thread, RunID: e.RunID})
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		t.begin(run)
	}
	t.entry(e)
	return nil
}

// treeOf is the tree of a run's graphs as its log tells it by now, and the run's status.
func (s *Server) treeOf(ctx context.Context, run mapping.Run) (*tree, string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	status := statusRunning
	t := newTranslator(func(ev *event, _ place) {})
	t.begin(run)
	v := t.runs[run.ID]
	ref := adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}
	for e, err := range s.Service.Runs.Events(ctx, ref, adapter.Cursor{K: -1, Start: true}, stop) {
		if ctx.Err() != nil {
			break // all that is logged was read
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
