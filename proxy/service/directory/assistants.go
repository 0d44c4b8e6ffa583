package directory

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store"
)

// Assistants are made over configured agents and kept in the store.
type Assistants struct {
	directory    *Directory
	table        *store.Assistants
	threads      *store.Threads
	deleteThread func(ctx context.Context, id string) error
}

// NewAssistants returns the Assistants of a directory, whose threads are among threads. deleteThread removes a thread
// that goes with an assistant.
func NewAssistants(d *Directory, threads *store.Threads, deleteThread func(ctx context.Context, id string) error) *Assistants {
	return &Assistants{d, d.table, threads, deleteThread}
}

// unnamed is the name that LangGraph Server gives to an assistant made without one.
const unnamed = "Untitled"

// Create makes an assistant over an agent. Under an id that is taken it is Conflict, unless n.OrGet: then it returns
// the one that is there.
func (s *Assistants) Create(ctx context.Context, n adapter.NewAssistant) (mapping.Assistant, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
		return mapping.Assistant{}, err
	}
	agent, err := s.directory.Agent(ctx, n.Graph)
	if err != nil {
		return mapping.Assistant{}, err
	}
	if name, configured := s.directory.byID()[n.ID]; configured {
		return s.configured(ctx, name, n.OrGet)
	}
	a := mapping.Assistant{
		ID: n.ID, Graph: agent.Name, Name: n.Name, Description: n.Description,
		Metadata: rawjson.OrEmpty(n.Metadata), Config: rawjson.OrEmpty(n.Config), Context: rawjson.OrEmpty(n.Context),
	}
	if a.ID == "" {
		a.ID = mapping.NewAssistantID()
	}
	if a.Name == "" {
		a.Name = unnamed
	}
	asked := a.ID
	a, made, err := s.table.Create(ctx, a, n.OrGet, keyOf(ctx, n))
	mapping.NoteObject(ctx, "assistant", cmp.Or(a.ID, asked)) // with an Idempotency-Key it may be an earlier one
	if err == nil && !made && !mapping.PrincipalOf(ctx).May(a.Graph) {
		return mapping.Assistant{}, errTaken(a.ID)
	}
	return *s.directory.traits(&a), err
}

func keyOf(ctx context.Context, n adapter.NewAssistant) store.IdempotencyKey {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "assistant", n).Of(mapping.PrincipalOf(ctx))
}

// configured answers the making of an assistant under the id of a configured agent.
func (s *Assistants) configured(ctx context.Context, name string, orGet bool) (mapping.Assistant, error) {
	agent, err := s.directory.Agent(ctx, name)
	if err != nil || !orGet {
		return mapping.Assistant{}, errTaken(mapping.AssistantID(name))
	}
	return s.directory.describe(ctx, agent)
}

func errTaken(id string) error {
	return mapping.Errorf(mapping.Conflict, mapping.CodeAssistantThere, "There is an assistant %q already.", id)
}

// changeable finds an assistant that may be changed.
func (s *Assistants) changeable(ctx context.Context, id, doing string) (*mapping.Assistant, error) {
	a, err := s.directory.made(ctx, id)
	if a != nil || err != nil {
		return a, err
	}
	agent, err := s.directory.agent(ctx, id, noAssistant)
	if err != nil {
		return nil, err
	}
	how := mapping.Advice{Meaning: mapping.MeansAssistant, With: " with %s"}
	return nil, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
		"Assistant %q is agent %q of the bridge's configuration; %s it is not possible here. Make an assistant over it%s.", id, agent.Name, doing, how)
}

// Update changes an assistant, and returns it. One that is a configured agent cannot be changed: Invalid.
func (s *Assistants) Update(ctx context.Context, id string, p adapter.AssistantPatch) (mapping.Assistant, error) {
	before, err := s.changeable(ctx, id, "changing")
	if err != nil {
		return mapping.Assistant{}, err
	}
	graph := ""
	if p.Graph != nil {
		agent, err := s.directory.Agent(ctx, *p.Graph)
		if err != nil {
			return mapping.Assistant{}, err
		}
		graph = agent.Name
	}
	a, err := s.table.Update(ctx, before.ID, func(a *mapping.Assistant) error { return patchAssistant(a, p, graph) })
	return *s.directory.traits(&a), err
}

func patchAssistant(a *mapping.Assistant, p adapter.AssistantPatch, graph string) (err error) {
	if graph != "" {
		a.Graph = graph
	}
	if p.Name != nil {
		a.Name = *p.Name
	}
	if p.Description != nil {
		a.Description = *p.Description
	}
	if p.Config != nil {
		a.Config = p.Config
	}
	if p.Context != nil {
		a.Context = p.Context
	}
	if p.Metadata != nil {
		a.Metadata, err = rule.MergeMetadata(a.Metadata, p.Metadata)
	}
	return err
}

// Delete removes an assistant and, where threads is true, the threads that it was used on. One that is a configured
// agent cannot be deleted: Invalid.
func (s *Assistants) Delete(ctx context.Context, id string, threads bool) error {
	a, err := s.changeable(ctx, id, "deleting")
	if err != nil {
		return err
	}
	if err := s.table.Delete(ctx, a.ID); err != nil || !threads {
		return err
	}
	return s.deleteThreads(ctx, a.ID)
}

// deleteThreads removes the threads that an assistant was used on.
func (s *Assistants) deleteThreads(ctx context.Context, id string) error {
	list, _, err := s.threads.List(ctx, mapping.ThreadQuery{Metadata: rule.MadeForAssistant(id)})
	for _, t := range list {
		if err := s.deleteThread(ctx, t.ID); err != nil && mapping.Classify(err).Class != mapping.NotFound {
			return err
		}
	}
	return err
}

// Versions returns a page of an assistant's versions. A configured agent has the one version that it is configured in.
func (s *Assistants) Versions(ctx context.Context, idOrName string, q adapter.VersionQuery) ([]mapping.Assistant, error) {
	made, err := s.directory.made(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	if made != nil {
		return s.table.Versions(ctx, made.ID, q.Metadata, q.Limit, q.Offset)
	}
	a, err := s.directory.resolve(ctx, idOrName)
	if err != nil || !matches(a, adapter.AgentQuery{Metadata: q.Metadata}) {
		return nil, err
	}
	return adapter.PageOf([]mapping.Assistant{a}, q.Offset, q.Limit), nil
}

// SetLatest puts a version of an assistant in force. A configured agent has version 1 only.
func (s *Assistants) SetLatest(ctx context.Context, idOrName string, version int) (mapping.Assistant, error) {
	made, err := s.directory.made(ctx, idOrName)
	if err != nil {
		return mapping.Assistant{}, err
	}
	if made != nil {
		a, err := s.table.SetVersion(ctx, made.ID, version)
		return *s.directory.traits(&a), err
	}
	a, err := s.directory.resolve(ctx, idOrName)
	if err == nil && version != a.Version {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeVersionNotFound, "Assistant %q has no version %d; it is configured, and has version 1 only.", idOrName, version)
	}
	return a, err
}

// Over lays a request for a run over the assistant it names: what the request does not say, the assistant does.
func Over(n *adapter.NewRun, a *mapping.Assistant) (err error) {
	if n.Config, err = rule.MergeConfig(unlessEmpty(a.Config), n.Config); err != nil {
		return err
	}
	n.Context, err = rule.MergeContext(unlessEmpty(a.Context), n.Context)
	return err
}

// unlessEmpty is nil for an object without members, so that what was not said stays unsaid.
func unlessEmpty(raw json.RawMessage) json.RawMessage {
	if string(raw) == "{}" {
		return nil
	}
	return raw
}

var _ adapter.Assistants = (*Assistants)(nil)
