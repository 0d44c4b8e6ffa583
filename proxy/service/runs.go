package service

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/apbridge/apbridge/proxy/store"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
)

func (s *Service) StartRun(ctx context.Context, n *adapter.RunRequest) (*adapter.Started, error) {
	again := n // for a second attempt
	if n.ThreadName != "" {
		again = new(*n)
	}
	start, earlier, err := s.planUnlessRepeated(ctx, n)
	if earlier != nil || err != nil {
		return earlier, err
	}
	created, err := s.engine.Begin(ctx, start)
	if err != nil && mapping.Classify(err).Code == store.CodeNameTaken { // another request has just created the thread
		return s.StartRun(ctx, again)
	}
	if err != nil {
		return nil, err
	}
	s.stepper.NoteRun(&created.Run)
	for i := range created.Cancelled {
		s.stepper.NoteRun(&created.Cancelled[i])
	}
	return startedRun(&created.Run, created.Replayed), nil
}

func (s *Service) StartRuns(ctx context.Context, list []adapter.RunRequest) ([]*adapter.Started, error) {
	started, list := make([]*adapter.Started, len(list)), slices.Clone(list)
	var starts []*engine.StartRequest
	for i := range list {
		start, earlier, err := s.planUnlessRepeated(ctx, &list[i])
		if err != nil {
			return nil, err
		}
		if started[i] = earlier; earlier == nil {
			starts = append(starts, start)
		}
	}
	begun, err := s.engine.BeginAll(ctx, starts)
	if err != nil {
		return nil, err
	}
	for i := range started {
		if started[i] == nil {
			s.stepper.NoteRun(&begun[0].Run)
			started[i], begun = startedRun(&begun[0].Run, begun[0].Replayed), begun[1:]
		}
	}
	return started, nil
}

func (s *Service) FindRepeatedRun(ctx context.Context, n *adapter.RunRequest) (*adapter.Started, error) {
	return s.repeatedRun(ctx, n.IdempotencyKey, keyOfRun(ctx, n))
}

// planUnlessRepeated plans a run, or returns the run that an identical request created earlier. It takes over the
// contents of n: see planRun.
func (s *Service) planUnlessRepeated(ctx context.Context, n *adapter.RunRequest) (_ *engine.StartRequest, earlier *adapter.Started, err error) {
	key, sent := keyOfRun(ctx, n), n.IdempotencyKey
	if earlier, err = s.repeatedRun(ctx, sent, key); earlier != nil || err != nil {
		return nil, earlier, err
	}
	start, err := s.planRun(ctx, n)
	if err != nil {
		// An identical request may have been served in between. Its question or its thread may then be gone.
		if earlier, failed := s.repeatedRun(ctx, sent, key); earlier != nil && failed == nil {
			return nil, earlier, nil
		}
		return nil, nil, err
	}
	start.New.IdempotencyKey, start.New.IdempotencyRoute, start.New.IdempotencySum = key.Text, key.Route, key.Sum
	return start, nil, nil
}

// repeatedRun returns the run that an identical request created earlier, or nil. It is called before any check, since
// that run may be the one that keeps the thread busy.
func (s *Service) repeatedRun(ctx context.Context, sent string, key store.IdempotencyKey) (*adapter.Started, error) {
	if err := store.CheckIdempotencyKey(sent); err != nil {
		return nil, err
	}
	made, ok, err := s.store.Requests.Remembered(ctx, key)
	if err != nil || !ok {
		return nil, err
	}
	r, err := s.store.Runs.Get(ctx, "", made)
	if notFound(err) && mapping.PrincipalOf(ctx).Limited() {
		return nil, nil // it may belong to another agent; the request is then checked as usual
	}
	if err != nil {
		return nil, err
	}
	mapping.AddAuditObject(ctx, "thread", r.ThreadID)
	mapping.AddAuditObject(ctx, "run", r.ID)
	return startedRun(r, true), nil
}

func startedRun(r *mapping.Run, repeated bool) *adapter.Started {
	return &adapter.Started{Run: *r, Losses: r.Options.Losses, Repeated: repeated}
}

func (s *Service) GetRun(ctx context.Context, ref adapter.RunRef) (*mapping.Run, error) {
	return s.store.Runs.Get(ctx, ref.ThreadID, ref.RunID)
}

func (s *Service) CancelRun(ctx context.Context, ref adapter.RunRef, opt adapter.CancelOptions) error {
	r, err := s.store.Runs.Get(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return err
	}
	mapping.AddAuditObject(ctx, "run", r.ID)
	if !r.Status.Active() && !opt.Rollback {
		return mapping.Errorf(mapping.Conflict, "run_ended", "Run %s has already ended with status %s.", r.ID, r.Status)
	}
	how := engine.Cancellation{Reason: cmp.Or(opt.Reason, mapping.CancelledByRequest), Rollback: opt.Rollback}
	if opt.Wait {
		return s.engine.Cancel(ctx, r, how)
	}
	return s.engine.CancelSoon(ctx, r, how)
}

func (s *Service) DeleteRun(ctx context.Context, ref adapter.RunRef) error {
	r, err := s.store.Runs.Get(ctx, ref.ThreadID, ref.RunID)
	if err != nil {
		return err
	}
	return s.engine.Cancel(ctx, r, engine.Cancellation{Reason: mapping.CancelledByRequest, Rollback: true})
}

func (s *Service) RunActivity(ctx context.Context, since time.Time) (mapping.Activity, error) {
	return s.store.Runs.Activity(ctx, since)
}

func (s *Service) ListRuns(ctx context.Context, q mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	if q.ThreadID != "" {
		if _, err := s.store.Threads.Get(ctx, q.ThreadID); err != nil {
			return adapter.NoList[mapping.Run](err)
		}
	}
	q.Agent, q.Assistant = s.agentFilter(q.Agent)
	return s.store.Runs.Search(ctx, q)
}
