package service

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/service/plan"
	"github.com/apbridge/apbridge/proxy/store"
)

// runStarts starts runs.
type runStarts struct {
	planner  *plan.Planner
	requests *store.Requests
	runs     *store.Runs
	engine   batchBeginner
}

// beginner begins a run that was planned; engine.Engine implements it.
type beginner interface {
	Begin(ctx context.Context, o *engine.StartRequest) (*store.CreateRunResult, error)
}

// batchBeginner begins runs, several of them all or none.
type batchBeginner interface {
	beginner
	BeginAll(ctx context.Context, list []*engine.StartRequest) ([]*store.CreateRunResult, error)
}

func (s runStarts) Start(ctx context.Context, n *adapter.NewRun) (*adapter.Started, error) {
	p, err := s.plan(ctx, n)
	if err != nil {
		return nil, err
	}
	return s.startPlanned(ctx, p)
}

func (s runStarts) Again(ctx context.Context, n *adapter.NewRun) (*adapter.Started, error) {
	return s.again(ctx, n.IdempotencyKey, keyOfRun(ctx, n))
}

func (s runStarts) StartAll(ctx context.Context, list []adapter.NewRun) ([]*adapter.Started, error) {
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
func (s runStarts) startAllPlanned(ctx context.Context, list []*plannedRun) ([]*adapter.Started, error) {
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
func (s runStarts) plan(ctx context.Context, n *adapter.NewRun) (*plannedRun, error) {
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

func (s runStarts) startPlanned(ctx context.Context, p *plannedRun) (*adapter.Started, error) {
	if p.before != nil {
		return p.before, nil
	}
	created, err := s.engine.Begin(ctx, p.start)
	if err != nil {
		return nil, err
	}
	return p.started(created), nil
}

func (p *plannedRun) started(b *store.CreateRunResult) *adapter.Started {
	losses := p.losses
	if b.Replayed {
		losses = b.Run.Options.Losses
	}
	return &adapter.Started{Run: b.Run, Losses: losses}
}

// again finds the run that the same request has made before. It is asked for before anything is refused: by now the
// thread may be busy with that very run.
func (s runStarts) again(ctx context.Context, sent string, key store.IdempotencyKey) (*adapter.Started, error) {
	if err := store.CheckIdempotencyKey(sent); err != nil {
		return nil, err
	}
	made, ok, err := s.requests.Remembered(ctx, key)
	if err != nil || !ok {
		return nil, err
	}
	r, err := s.runs.Get(ctx, "", made)
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
