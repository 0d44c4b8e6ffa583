package service

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

// runs starts, follows and stops runs.
type runs struct{ *core }

func (s *runs) Start(ctx context.Context, n *adapter.NewRun) (*adapter.Started, error) {
	p, err := s.plan(ctx, n)
	if err != nil {
		return nil, err
	}
	return s.startPlanned(ctx, p)
}

func (s *runs) Again(ctx context.Context, n *adapter.NewRun) (*adapter.Started, error) {
	return s.again(ctx, n.IdempotencyKey, keyOfRun(ctx, n))
}

func (s *runs) StartAll(ctx context.Context, list []adapter.NewRun) ([]*adapter.Started, error) {
	planned := make([]*plannedRun, len(list))
	list = slices.Clone(list)
	for i := range list {
		var err error
		if planned[i], err = s.plan(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return s.startAllPlanned(ctx, planned)
}

// startAllPlanned begins those that are not there yet, all or none.
func (s *runs) startAllPlanned(ctx context.Context, list []*plannedRun) ([]*adapter.Started, error) {
	var starts []*engine.StartRequest
	for _, p := range list {
		if p.before == nil {
			starts = append(starts, p.start)
		}
	}
	begun, err := s.engine.BeginAll(ctx, starts)
	if err != nil {
		return nil, err
	}
	started := make([]*adapter.Started, len(list))
	for i, p := range list {
		if p.before != nil {
			started[i] = p.before
			continue
		}
		started[i], begun = p.started(begun[0]), begun[1:]
	}
	return started, nil
}

// plannedRun is a run that may begin, or one that the same request has made before.
type plannedRun struct {
	start  *engine.StartRequest
	losses []mapping.Loss
	before *adapter.Started // nil: it may begin
}

// plan takes n: see plan.Planner.
func (s *runs) plan(ctx context.Context, n *adapter.NewRun) (*plannedRun, error) {
	key, sent := keyOfRun(ctx, n), n.IdempotencyKey
	before, err := s.again(ctx, sent, key)
	if before != nil || err != nil {
		return &plannedRun{before: before}, err
	}
	start, losses, err := s.planner.Plan(ctx, n)
	if err != nil {
		// The same request may have been served meanwhile: what it was to answer, or to begin on, is gone then.
		if before, failed := s.again(ctx, sent, key); before != nil && failed == nil {
			return &plannedRun{before: before}, nil
		}
		return nil, err
	}
	start.New.IdempotencyKey, start.New.IdempotencyRoute, start.New.IdempotencySum = key.Text, key.Route, key.Sum
	return &plannedRun{start: start, losses: losses}, nil
}

func (s *runs) startPlanned(ctx context.Context, p *plannedRun) (*adapter.Started, error) {
	if p.before != nil {
		return p.before, nil
	}
	created, err := s.engine.Begin(ctx, p.start)
	if err != nil {
		return nil, err
	}
	return p.started(created), nil
}

func (p *plannedRun) started(b *store.Created) *adapter.Started {
	losses := p.losses
	if b.Replayed {
		losses = b.Run.Options.Losses
	}
	return &adapter.Started{Run: b.Run, Losses: losses}
}

// again finds the run that the same request has made before. It is asked for before anything is refused: by now the
// thread may be busy with that very run.
func (s *runs) again(ctx context.Context, sent string, key idempotency.Key) (*adapter.Started, error) {
	if err := checkKey(sent); err != nil {
		return nil, err
	}
	made, ok, err := s.st.Requests.Remembered(ctx, key)
	if err != nil || !ok {
		return nil, err
	}
	r, err := s.st.Runs.Get(ctx, "", made)
	if err != nil && mapping.Classify(err).Class == mapping.NotFound && mapping.PrincipalOf(ctx).Limited() {
		return nil, nil // maybe another agent's: the request is refused for what it asks for
	}
	if err != nil {
		return nil, err
	}
	mapping.NoteObject(ctx, "thread", r.ThreadID)
	mapping.NoteObject(ctx, "run", r.ID)
	return &adapter.Started{Run: *r, Losses: r.Options.Losses}, nil
}

func (s *runs) Get(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	return s.st.Runs.Get(ctx, ref.ThreadID, ref.RunID)
}

func (s *runs) Cancel(ctx context.Context, ref adapter.RunRef, opt adapter.CancelOptions) error {
	r, err := s.st.Runs.Get(ctx, ref.ThreadID, ref.RunID)
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

func (s *runs) Delete(ctx context.Context, ref adapter.RunRef) error {
	r, err := s.st.Runs.Get(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return err
	}
	return s.engine.Cancel(ctx, r, engine.Cancellation{Reason: mapping.CancelledByRequest, Rollback: true})
}

func (s *runs) Events(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) iter.Seq2[*state.Entry, error] {
	return func(yield func(*state.Entry, error) bool) {
		entries, err := s.entries(ctx, ref, after, idle)
		if err != nil {
			yield(nil, err)
			return
		}
		entries(yield)
	}
}

// entries finds what is to be read.
func (s *runs) entries(ctx context.Context, ref adapter.RunRef, after adapter.Cursor, idle func()) (iter.Seq2[*state.Entry, error], error) {
	r, err := s.follow(ctx, ref)
	if err != nil {
		return nil, err
	}
	if after.End {
		return func(yield func(*state.Entry, error) bool) { yield(s.log.End(ctx, r)) }, nil
	}
	seq, err := s.position(ctx, r, after)
	return s.log.Follow(ctx, r, seq, idle), err
}

// follow finds the run to be read; a run whose buffer is in memory costs no query.
func (s *runs) follow(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	r, ok := s.log.Known(ref.RunID)
	p := mapping.PrincipalOf(ctx)
	if ok && r.Tenant == p.Tenant && !p.Limited() && (ref.ThreadID == "" || ref.ThreadID == r.ThreadID) {
		return r, nil
	}
	return s.st.Runs.Get(ctx, ref.ThreadID, ref.RunID)
}

// position is the Seq after which the run is read.
func (s *runs) position(ctx context.Context, r *mapping.Run, c adapter.Cursor) (int64, error) {
	switch {
	case c.Checkpoint != "":
		return s.seqOfCheckpoint(ctx, r, c.Checkpoint)
	case c.Start:
		return 0, nil
	case c.Live:
		return s.st.Events.LastSeq(ctx, r.ThreadID)
	}
	if err := s.checkCursor(ctx, r, c); err != nil {
		return 0, err
	}
	if c.K < 0 {
		return c.Seq, nil
	}
	return c.Seq - 1, nil
}

// seqOfCheckpoint returns the Seq of the event that made a checkpoint; 0 where it is none of the run's.
func (s *runs) seqOfCheckpoint(ctx context.Context, r *mapping.Run, checkpoint string) (int64, error) {
	c, err := s.st.States.Checkpoint(ctx, r.ThreadID, checkpoint)
	switch {
	case notFound(err) || err == nil && c.RunID != r.ID:
		return 0, nil
	case err != nil:
		return 0, err
	}
	return c.Seq, nil
}

// checkCursor refuses a position that this run never had.
func (s *runs) checkCursor(ctx context.Context, r *mapping.Run, c adapter.Cursor) error {
	evs, err := s.st.Events.List(ctx, r.ThreadID, "", c.Seq-1, 1)
	switch {
	case err != nil:
		return err
	case len(evs) == 0:
		return mapping.Errorf(mapping.Malformed, mapping.CodeBadCursor,
			"Position %d lies beyond what thread %s has logged. Send -1 to read run %s from its start.", c.Seq, r.ThreadID, r.ID)
	case evs[0].Seq != c.Seq, evs[0].RunID != r.ID:
		return mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Position %d is not one of run %s, or is not kept any more. Send -1 to read the run from its start.", c.Seq, r.ID)
	}
	return nil
}

// runIndex lists runs.
type runIndex struct{ *core }

func (s *runIndex) List(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	if q.ThreadID != "" {
		if _, err := s.st.Threads.Get(ctx, q.ThreadID); err != nil {
			return adapter.NoList[mapping.Run](err)
		}
	}
	q.Agent, q.Assistant = s.Named(q.Agent)
	return s.st.Runs.Search(ctx, q)
}
