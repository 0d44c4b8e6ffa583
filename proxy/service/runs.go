package service

import (
	"cmp"
	"context"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/store"
)

// runs starts, follows and stops runs.
type runs struct {
	runStarts
	runReads
	table  *store.Runs
	engine stopper
}

// stopper ends runs; engine.Engine implements it.
type stopper interface {
	canceller
	CancelSoon(ctx context.Context, r *mapping.Run, how engine.Cancellation) error
}

func (s *runs) GetRun(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	return s.table.Get(ctx, ref.ThreadID, ref.RunID)
}

func (s *runs) CancelRun(ctx context.Context, ref adapter.RunRef, opt adapter.CancelOptions) error {
	r, err := s.table.Get(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return err
	}
	mapping.NoteObject(ctx, "run", r.ID)
	if !r.Status.Active() && !opt.Rollback {
		return mapping.Errorf(mapping.Conflict, "run_ended", "Run %s has already ended with status %s.", r.ID, r.Status)
	}
	how := engine.Cancellation{Reason: cmp.Or(opt.Reason, mapping.CancelledByRequest), Rollback: opt.Rollback}
	if opt.Wait {
		return s.engine.Cancel(ctx, r, how)
	}
	return s.engine.CancelSoon(ctx, r, how)
}

func (s *runs) DeleteRun(ctx context.Context, ref adapter.RunRef) error {
	r, err := s.table.Get(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return err
	}
	return s.engine.Cancel(ctx, r, engine.Cancellation{Reason: mapping.CancelledByRequest, Rollback: true})
}

// runIndex lists runs.
type runIndex struct {
	directory *directory.Directory
	threads   *store.Threads
	runs      *store.Runs
}

func (s *runIndex) ListRuns(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	if q.ThreadID != "" {
		if _, err := s.threads.Get(ctx, q.ThreadID); err != nil {
			return adapter.NoList[mapping.Run](err)
		}
	}
	q.Agent, q.Assistant = s.directory.Named(q.Agent)
	return s.runs.Search(ctx, q)
}
