package service

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/service/stateupdate"
	"github.com/apbridge/apbridge/proxy/store"
)

// threads makes and changes threads.
type threads struct {
	table     *store.Threads
	links     *store.Links
	maker     threadMaker
	heads     heads
	updater   *stateupdate.Updater
	remover   *remover
	directory *directory.Directory
	engine    threadEngine
	now       func() time.Time // store.Store.Now
}

// threadEngine has the agents that threads are for, and has them delete their copies; engine.Engine implements it.
type threadEngine interface {
	agents
	DeleteUpstreamThreads(ctx context.Context, links []mapping.Link)
}

func (s *threads) Create(ctx context.Context, n adapter.NewThread) (mapping.Thread, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
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
	t, _, err = s.maker.create(ctx, store.ThreadCreation{Thread: t, OrGet: n.OrGet, Events: events, Files: files, Agent: agent, Key: keyOfThread(ctx, n)})
	mapping.NoteObject(ctx, "thread", cmp.Or(t.ID, asked)) // with an Idempotency-Key it may be an earlier one
	if err != nil {
		return t, err
	}
	return s.heads.WithValues(ctx, t)
}

// namedBy is the configured agent that the metadata of a new thread names; "" for none.
func (s *threads) namedBy(ctx context.Context, metadata json.RawMessage) (string, error) {
	name := rule.AgentNamed(metadata)
	if _, ok := s.engine.Agent(name); !ok {
		return "", nil
	}
	a, err := s.directory.Agent(ctx, name)
	if err != nil {
		return "", err
	}
	return a.Name, nil
}

func (s *threads) Get(ctx context.Context, id string) (mapping.Thread, error) {
	t, err := s.table.Get(ctx, id)
	if err != nil {
		return t, err
	}
	return s.heads.WithValues(ctx, t)
}

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
	t, err := s.table.Patch(ctx, id, p.Metadata, expires)
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
	if _, err := s.table.Get(ctx, id); err != nil {
		return err
	}
	links, err := s.links.List(ctx, id)
	if err != nil {
		return err
	}
	runs, err := s.remover.Clear(ctx, id)
	if err != nil {
		return err
	}
	if err := s.remover.Remove(ctx, id, runs, s.table.Delete); err != nil {
		return err
	}
	s.engine.DeleteUpstreamThreads(ctx, links)
	return nil
}

func (s *threads) Copy(ctx context.Context, id, idempotencyKey string) (mapping.Thread, error) {
	if err := store.CheckIdempotencyKey(idempotencyKey); err != nil {
		return mapping.Thread{}, err
	}
	copied := mapping.NewID()
	t, err := s.maker.copy(ctx, id, copied, keyOfCopy(ctx, idempotencyKey, id))
	mapping.NoteObject(ctx, "copy", cmp.Or(t.ID, copied)) // with an Idempotency-Key it may be an earlier one
	if err != nil {
		return t, err
	}
	return s.heads.WithValues(ctx, t)
}
