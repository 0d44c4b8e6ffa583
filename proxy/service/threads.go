package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/store"
)

func (s *Service) CreateThread(ctx context.Context, n adapter.ThreadRequest) (mapping.Thread, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
		return mapping.Thread{}, err
	}
	p, now := mapping.PrincipalOf(ctx), s.store.Now()
	t := mapping.Thread{
		Tenant: p.Tenant, Owner: p.ID, ID: n.ID, Metadata: rawjson.OrEmpty(n.Metadata), Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: now, UpdatedAt: now,
	}
	if t.ID == "" {
		t.ID = mapping.NewID()
	}
	if n.TTL > 0 {
		t.Expires, t.TTL, t.KeepLatest = now.Add(n.TTL), n.TTL, n.KeepLatest
	}
	agent, err := s.agentNamedBy(ctx, n.Metadata)
	if err != nil {
		return t, err
	}
	key := keyOfThread(ctx, n)
	if len(n.Supersteps) > 0 {
		// An agent does not create states for a repeated request or for a thread that exists.
		if id, ok, err := s.store.Requests.Remembered(ctx, key); err != nil {
			return t, err
		} else if ok {
			mapping.AddAuditObject(ctx, "thread", id)
			return s.GetThread(ctx, id)
		}
		if t, ok, err := s.existingThread(ctx, n); err != nil || ok {
			mapping.AddAuditObject(ctx, "thread", n.ID)
			return t, err
		}
	}
	made, err := s.updater.Supersteps(ctx, t, agent, n.Supersteps)
	if err != nil {
		return t, err
	}
	asked := t.ID
	t, existed, err := s.makeThread(ctx, store.ThreadCreation{
		Thread: t, OrGet: n.OrGet, Events: made.Events, Files: made.Files, Links: made.Links, Agent: agent, Key: key,
	})
	if existed || err != nil && !errors.Is(err, store.ErrUnknown) {
		for _, l := range made.Links {
			s.engine.DiscardUpstreamThread(ctx, l)
		}
	}
	mapping.AddAuditObject(ctx, "thread", cmp.Or(t.ID, asked)) // with an Idempotency-Key it may be an earlier one
	if err != nil {
		return t, err
	}
	return s.WithValues(ctx, t)
}

// existingThread returns the thread that a request names, if the caller can see it, or the error that creating it would
// return.
func (s *Service) existingThread(ctx context.Context, n adapter.ThreadRequest) (mapping.Thread, bool, error) {
	if n.ID == "" {
		return mapping.Thread{}, false, nil
	}
	t, err := s.GetThread(ctx, n.ID)
	if notFound(err) {
		return mapping.Thread{}, false, nil
	}
	if err == nil && !n.OrGet {
		err = store.ThreadExists(n.ID)
	}
	return t, err == nil, err
}

// agentNamedBy returns the configured agent named in the metadata of a new thread, or "".
func (s *Service) agentNamedBy(ctx context.Context, metadata json.RawMessage) (string, error) {
	name := rule.AgentNamed(metadata)
	if _, ok := s.engine.Agent(name); !ok {
		return "", nil
	}
	a, err := s.findAgent(ctx, name)
	if err != nil {
		return "", err
	}
	return a.Name, nil
}

func (s *Service) GetThread(ctx context.Context, id string) (mapping.Thread, error) {
	t, err := s.store.Threads.Get(ctx, id)
	if err != nil {
		return t, err
	}
	return s.WithValues(ctx, t)
}

func (s *Service) PatchThread(ctx context.Context, id string, p adapter.ThreadPatch) (mapping.Thread, error) {
	var expires *store.Expire
	if p.TTL != nil {
		expires = &store.Expire{At: s.store.Now().Add(*p.TTL), After: *p.TTL, KeepLatest: p.KeepLatest}
	}
	if p.Values != nil || p.Messages != nil {
		delta, err := patchDelta(p)
		if err != nil {
			return mapping.Thread{}, err
		}
		if _, err := s.updater.Update(ctx, id, adapter.StateUpdate{Values: delta, CheckpointID: p.Checkpoint}, stateupdate.Note{}); err != nil {
			return mapping.Thread{}, err
		}
	}
	t, err := s.store.Threads.Patch(ctx, id, p.Metadata, expires)
	if err != nil {
		return t, err
	}
	return s.WithValues(ctx, t)
}

// patchDelta combines values and messages of a PATCH into one update.
func patchDelta(p adapter.ThreadPatch) (json.RawMessage, error) {
	if p.Messages == nil {
		return p.Values, nil
	}
	fields := map[string]json.RawMessage{}
	if p.Values != nil {
		if err := json.Unmarshal(p.Values, &fields); err != nil {
			return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "values must be an object.")
		}
	}
	list, err := json.Marshal(p.Messages)
	if err != nil {
		return nil, err
	}
	fields["messages"] = list
	return json.Marshal(fields)
}

func (s *Service) DeleteThread(ctx context.Context, id string) error {
	mapping.AddAuditObject(ctx, "thread", id)
	if _, err := s.store.Threads.Get(ctx, id); err != nil {
		return err
	}
	links, err := s.store.Links.List(ctx, id)
	if err != nil {
		return err
	}
	runs, err := s.ClearThread(ctx, id)
	if err != nil {
		return err
	}
	if err := s.RemoveThread(ctx, id, runs, s.store.Threads.Delete); err != nil {
		return err
	}
	s.engine.DeleteUpstreamThreads(ctx, links)
	return nil
}

func (s *Service) CopyThread(ctx context.Context, id, idempotencyKey string) (mapping.Thread, error) {
	if err := store.CheckIdempotencyKey(idempotencyKey); err != nil {
		return mapping.Thread{}, err
	}
	copied := mapping.NewID()
	t, err := s.store.Threads.Copy(ctx, id, copied, keyOfCopy(ctx, idempotencyKey, id))
	if err == nil {
		s.log.WakeThread(t.ID)
	}
	mapping.AddAuditObject(ctx, "copy", cmp.Or(t.ID, copied)) // with an Idempotency-Key it may be an earlier one
	if err != nil {
		return t, err
	}
	return s.WithValues(ctx, t)
}

// makeThread creates a thread and wakes those that wait for it. existed reports whether the thread was there already.
func (s *Service) makeThread(ctx context.Context, n store.ThreadCreation) (t mapping.Thread, existed bool, err error) {
	t, existed, err = s.store.Threads.Create(ctx, n)
	if err == nil && !existed {
		s.log.WakeThread(t.ID)
	}
	return t, existed, err
}

// RemoveThread deletes a thread without active runs, and drops everything that this process has in memory about it.
func (s *Service) RemoveThread(ctx context.Context, id string, runs []mapping.Run, remove func(context.Context, string) error) error {
	tasks, _, err := s.store.Tasks.List(ctx, store.TaskQuery{ThreadID: id})
	if err != nil {
		return err
	}
	if err := remove(ctx, id); err != nil {
		return err
	}
	s.log.WakeThread(id)
	for _, r := range runs {
		s.ForgetRun(r)
	}
	for _, t := range tasks { // includes tasks without runs
		s.ForgetTask(t.Tenant, t.ID)
	}
	return nil
}

// ClearThread cancels the active runs of a thread and returns all its runs. They are cancelled newest first, so that no
// waiting run starts.
func (s *Service) ClearThread(ctx context.Context, id string) ([]mapping.Run, error) {
	runs, err := s.store.Runs.List(ctx, mapping.RunQuery{ThreadID: id})
	for _, r := range runs {
		if !r.Status.Active() {
			continue
		}
		if err := s.engine.Cancel(ctx, &r, engine.Cancellation{Reason: mapping.CancelledByRequest}); err != nil && mapping.Classify(err).Class != mapping.Conflict && !notFound(err) {
			return nil, err
		}
	}
	return runs, err
}

// ForgetRun drops everything that this process has in memory about a removed run.
func (s *Service) ForgetRun(r mapping.Run) {
	s.log.Evict(r.ID)
	s.log.WakeThread(r.ThreadID)
	s.ForgetTask(r.Tenant, r.TaskID)
}

// ForgetTask drops everything that this process has in memory about a task that was removed or lost a run.
func (s *Service) ForgetTask(tenant, taskID string) { s.stepper.Forget(tenant, taskID) }

func (s *Service) SearchThreads(ctx context.Context, q adapter.ThreadSearch) (iter.Seq2[mapping.Thread, error], int, error) {
	list, total, err := s.store.Threads.Search(ctx, q.ThreadQuery, s.statesContaining(ctx, q.Values))
	if err != nil {
		return nil, 0, err
	}
	if q.NoValues {
		return list, total, nil
	}
	states := s.log.Listing()
	return those(list, func(t mapping.Thread) (mapping.Thread, error) { return s.withListedValues(ctx, t, states) }), total, nil
}

// withListedValues is like WithValues, for a thread of a list.
func (s *Service) withListedValues(ctx context.Context, t mapping.Thread, states stateReader) (mapping.Thread, error) {
	now, fold, err := s.readHeadWith(ctx, &t, states)
	if err != nil {
		return *now, err
	}
	now.Values = fold.Once()
	return *now, nil
}

func (s *Service) CountThreads(ctx context.Context, q adapter.ThreadSearch) (int, error) {
	q.Limit, q.Offset = 1, 0
	_, total, err := s.store.Threads.Search(ctx, q.ThreadQuery, s.statesContaining(ctx, q.Values))
	return total, err
}

// statesContaining returns a filter for threads whose states contain values, or nil if values is empty.
func (s *Service) statesContaining(ctx context.Context, values json.RawMessage) store.ThreadFilter {
	if len(values) == 0 || string(values) == "{}" {
		return nil
	}
	states := s.log.Listing()
	return func(t mapping.Thread) (bool, error) {
		_, fold, err := s.readHeadWith(ctx, &t, states)
		if notFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return rawjson.Contains(fold.Once(), values), nil
	}
}

func (s *Service) ThreadStorage(ctx context.Context, id string) (adapter.ThreadStorage, error) {
	use, err := s.store.Threads.Storage(ctx, id)
	if err != nil {
		return adapter.ThreadStorage{}, err
	}
	return adapter.ThreadStorage{
		ThreadID: id,
		Events:   adapter.Storing{Count: use.Events, Bytes: use.EventBytes},
		States:   adapter.Storing{Count: use.States, Bytes: use.StateBytes},
		Files:    adapter.Storing{Count: use.Files, Bytes: use.FileBytes},
		Total:    use.EventBytes + use.StateBytes + use.FileBytes,
		Exact:    !use.More,
	}, nil
}
