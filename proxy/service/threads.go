package service

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// threads makes and changes threads.
type threads struct{ *core }

func (s *threads) Create(ctx context.Context, n adapter.NewThread) (mapping.Thread, error) {
	if err := checkKey(n.IdempotencyKey); err != nil {
		return mapping.Thread{}, err
	}
	p, now := mapping.PrincipalOf(ctx), s.now()
	t := mapping.Thread{
		Tenant: p.Tenant, Owner: p.ID, ID: n.ID, Metadata: object(n.Metadata), Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: now, UpdatedAt: now,
	}
	if t.ID == "" {
		t.ID = mapping.NewID()
	}
	if n.TTL > 0 {
		t.Expires, t.KeepLatest = now.Add(n.TTL), n.KeepLatest
	}
	events, err := superstepEvents(t.ID, n.Supersteps, now)
	if err != nil {
		return t, err
	}
	t, _, err = s.st.CreateThread(ctx, store.NewThread{Thread: t, IfExists: n.IfExists, Events: events, Key: keyOfThread(n)})
	if err != nil {
		return t, err
	}
	return s.withValues(ctx, t)
}

// superstepEvents are the states a new thread is brought along with.
func superstepEvents(threadID string, list []adapter.Superstep, now time.Time) ([]mapping.Event, error) {
	fold, err := mapping.NewFold(nil)
	if err != nil {
		return nil, err
	}
	var events []mapping.Event
	step := -1
	for _, super := range list {
		for _, u := range super.Updates {
			ev, next, err := updateEvent(fold, u, "update", step, now)
			if err != nil {
				return nil, err
			}
			events, fold = append(events, ev), next
			step++
		}
	}
	return events, nil
}

func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

func (s *threads) Get(ctx context.Context, id string) (mapping.Thread, error) {
	t, err := s.st.Thread(ctx, id)
	if err != nil {
		return t, err
	}
	return s.withValues(ctx, t)
}

// withValues fills in the state at the thread's head.
func (c *core) withValues(ctx context.Context, t mapping.Thread) (mapping.Thread, error) {
	fold, err := c.log.Base(ctx, t.ID, t.Head)
	if err != nil {
		return t, err
	}
	t.Values = fold.JSON()
	return t, nil
}

func (s *threads) Patch(ctx context.Context, id string, p adapter.ThreadPatch) (mapping.Thread, error) {
	var expires *store.Expire
	if p.TTL != nil {
		expires = &store.Expire{At: s.now().Add(*p.TTL), KeepLatest: p.KeepLatest}
	}
	if p.Values != nil || p.Messages != nil {
		delta, err := patchDelta(p)
		if err != nil {
			return mapping.Thread{}, err
		}
		if _, err := s.update(ctx, id, adapter.StateUpdate{Values: delta, CheckpointID: p.Checkpoint}, note{}); err != nil {
			return mapping.Thread{}, err
		}
	}
	t, err := s.st.PatchThread(ctx, id, p.Metadata, expires)
	if err != nil {
		return t, err
	}
	return s.withValues(ctx, t)
}

// patchDelta joins values and messages of a PATCH into one update.
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

func (s *threads) Delete(ctx context.Context, id string) error {
	if _, err := s.st.Thread(ctx, id); err != nil {
		return err
	}
	links, err := s.st.Links(ctx, id)
	if err != nil {
		return err
	}
	runs, err := s.clear(ctx, id)
	if err != nil {
		return err
	}
	tasks, _, err := s.st.Tasks(ctx, store.TaskQuery{ThreadID: id})
	if err != nil {
		return err
	}
	if err := s.st.DeleteThread(ctx, id); err != nil {
		return err
	}
	s.log.RingThread(id)
	for _, r := range runs {
		s.forget(r)
	}
	for _, t := range tasks { // those without runs
		s.sessions.forget(sessionKey{t.Tenant, t.ID})
	}
	s.engine.Forget(ctx, links)
	return nil
}

// clear cancels what is active on the thread and returns all its runs. They are
// listed newest first, so that none that waits gets its turn.
func (s *threads) clear(ctx context.Context, id string) ([]mapping.Run, error) {
	runs, err := s.st.Runs(ctx, store.RunQuery{ThreadID: id})
	for _, r := range runs {
		if !r.Status.Active() {
			continue
		}
		if err := s.engine.Cancel(ctx, r, false); err != nil && mapping.Classify(err).Class != mapping.Conflict {
			return nil, err
		}
	}
	return runs, err
}

func (s *threads) Copy(ctx context.Context, id string) (mapping.Thread, error) {
	t, err := s.st.CopyThread(ctx, id, mapping.NewID())
	if err != nil {
		return t, err
	}
	return s.withValues(ctx, t)
}

// index searches threads.
type index struct{ *core }

func (s *index) Search(ctx context.Context, q adapter.ThreadQuery) ([]mapping.Thread, int, error) {
	list, total, err := s.st.Threads(ctx, s.query(ctx, q))
	if err != nil || q.NoValues {
		return list, total, err
	}
	for i := range list {
		if list[i], err = s.withValues(ctx, list[i]); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

func (s *index) Count(ctx context.Context, q adapter.ThreadQuery) (int, error) {
	q.Limit, q.Offset = 1, 0
	_, total, err := s.st.Threads(ctx, s.query(ctx, q))
	return total, err
}

func (s *index) query(ctx context.Context, q adapter.ThreadQuery) store.ThreadQuery {
	out := store.ThreadQuery{
		IDs: q.IDs, Metadata: q.Metadata, Status: q.Status, SortBy: q.SortBy, Asc: q.Asc, Limit: q.Limit, Offset: q.Offset,
	}
	if len(q.Values) > 0 && string(q.Values) != "{}" {
		out.Keep = func(t mapping.Thread) (bool, error) {
			fold, err := s.log.Base(ctx, t.ID, t.Head)
			if err != nil {
				return false, err
			}
			return mapping.Contains(fold.JSON(), q.Values), nil
		}
	}
	return out
}
