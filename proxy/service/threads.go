package service

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
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
		Tenant: p.Tenant, Owner: p.ID, ID: n.ID, Metadata: rawjson.OrEmpty(n.Metadata), Config: json.RawMessage(`{}`),
		Status: mapping.ThreadIdle, CreatedAt: now, UpdatedAt: now,
	}
	if t.ID == "" {
		t.ID = mapping.NewID()
	}
	if n.TTL > 0 {
		t.Expires, t.TTL, t.KeepLatest = now.Add(n.TTL), n.TTL, n.KeepLatest
	}
	agent, err := s.namedBy(ctx, n.Metadata)
	if err != nil {
		return t, err
	}
	events, files, err := s.updater.Supersteps(t.ID, agent, n.Supersteps, now)
	if err != nil {
		return t, err
	}
	asked := t.ID
	t, _, err = s.createThread(ctx, store.ThreadCreation{Thread: t, OrGet: n.OrGet, Events: events, Files: files, Agent: agent, Key: keyOfThread(ctx, n)})
	mapping.NoteObject(ctx, "thread", cmp.Or(t.ID, asked)) // with an Idempotency-Key it may be an earlier one
	if err != nil {
		return t, err
	}
	return s.heads.WithValues(ctx, t)
}

// createThread makes a thread, of which those hear that wait for it.
func (c *core) createThread(ctx context.Context, n store.ThreadCreation) (t mapping.Thread, existed bool, err error) {
	t, existed, err = c.st.Threads.Create(ctx, n)
	if err == nil && !existed {
		c.log.WakeThread(t.ID)
	}
	return t, existed, err
}

// namedBy is the configured agent that the metadata of a new thread names; "" for none.
func (c *core) namedBy(ctx context.Context, metadata json.RawMessage) (string, error) {
	name := rule.AgentNamed(metadata)
	if _, ok := c.engine.Agent(name); !ok {
		return "", nil
	}
	a, err := c.Agent(ctx, name)
	if err != nil {
		return "", err
	}
	return a.Name, nil
}

func (s *threads) Get(ctx context.Context, id string) (mapping.Thread, error) {
	t, err := s.st.Threads.Get(ctx, id)
	if err != nil {
		return t, err
	}
	return s.heads.WithValues(ctx, t)
}

// those completes the entries of a list, each in a look of its own, and leaves out what has gone since the list was
// read.
func those[T, R any](list iter.Seq2[T, error], complete func(T) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for one, err := range list {
			var done R
			if err == nil {
				done, err = complete(one)
			}
			if notFound(err) {
				continue
			}
			if !yield(done, err) || err != nil {
				return
			}
		}
	}
}

func notFound(err error) bool { return err != nil && mapping.Classify(err).Class == mapping.NotFound }

func (s *threads) Patch(ctx context.Context, id string, p adapter.ThreadPatch) (mapping.Thread, error) {
	var expires *store.Expire
	if p.TTL != nil {
		expires = &store.Expire{At: s.now().Add(*p.TTL), After: *p.TTL, KeepLatest: p.KeepLatest}
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
	t, err := s.st.Threads.Patch(ctx, id, p.Metadata, expires)
	if err != nil {
		return t, err
	}
	return s.heads.WithValues(ctx, t)
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
	mapping.NoteObject(ctx, "thread", id)
	if _, err := s.st.Threads.Get(ctx, id); err != nil {
		return err
	}
	links, err := s.st.Links.List(ctx, id)
	if err != nil {
		return err
	}
	runs, err := s.remover.Clear(ctx, id)
	if err != nil {
		return err
	}
	if err := s.remover.Remove(ctx, id, runs, s.st.Threads.Delete); err != nil {
		return err
	}
	s.engine.Forget(ctx, links)
	return nil
}

func (s *threads) Copy(ctx context.Context, id string) (mapping.Thread, error) {
	copied := mapping.NewID()
	mapping.NoteObject(ctx, "copy", copied)
	t, err := s.st.Threads.Copy(ctx, id, copied)
	if err != nil {
		return t, err
	}
	s.log.WakeThread(t.ID)
	return s.heads.WithValues(ctx, t)
}

// index searches threads.
type index struct{ *core }

func (s *index) Search(ctx context.Context, q adapter.ThreadSearch) (iter.Seq2[mapping.Thread, error], int, error) {
	list, total, err := s.st.Threads.Search(ctx, q.ThreadQuery, s.having(ctx, q.Values))
	if err != nil {
		return nil, 0, err
	}
	if q.NoValues {
		return list, total, nil
	}
	states := s.log.Listing()
	return those(list, func(t mapping.Thread) (mapping.Thread, error) { return s.listed(ctx, t, states) }), total, nil
}

// listed is heads.WithValues for a thread of a list.
func (s *index) listed(ctx context.Context, t mapping.Thread, states stateReader) (mapping.Thread, error) {
	now, fold, err := s.heads.in(ctx, &t, states)
	if err != nil {
		return *now, err
	}
	now.Values = fold.Once()
	return *now, nil
}

func (s *index) Count(ctx context.Context, q adapter.ThreadSearch) (int, error) {
	q.Limit, q.Offset = 1, 0
	_, total, err := s.st.Threads.Search(ctx, q.ThreadQuery, s.having(ctx, q.Values))
	return total, err
}

// having wants the threads whose states contain values; nil where values ask for nothing.
func (s *index) having(ctx context.Context, values json.RawMessage) store.ThreadFilter {
	if len(values) == 0 || string(values) == "{}" {
		return nil
	}
	states := s.log.Listing()
	return func(t mapping.Thread) (bool, error) {
		_, fold, err := s.heads.in(ctx, &t, states)
		if notFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return rawjson.Contains(fold.Once(), values), nil
	}
}
