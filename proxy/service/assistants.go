package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/proxy/store"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// unnamed is the name that LangGraph Server gives to an assistant created without one.
const unnamed = "Untitled"

// CreateAssistant creates an assistant over an agent. If the id is taken, it returns the existing assistant if n.OrGet
// is set, and otherwise a Conflict.
func (s *Service) CreateAssistant(ctx context.Context, n adapter.AssistantRequest) (mapping.Assistant, error) {
	if err := store.CheckIdempotencyKey(n.IdempotencyKey); err != nil {
		return mapping.Assistant{}, err
	}
	agent, err := s.findAgent(ctx, n.Graph)
	if err != nil {
		return mapping.Assistant{}, err
	}
	if name, configured := s.agentsByID()[n.ID]; configured {
		return s.takenByAgent(ctx, name, n.OrGet)
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
	a, made, err := s.store.Assistants.Create(ctx, a, n.OrGet, keyOfAssistant(ctx, n))
	mapping.AddAuditObject(ctx, "assistant", cmp.Or(a.ID, asked)) // with an Idempotency-Key it may be an earlier one
	if err == nil && !made && !mapping.PrincipalOf(ctx).May(a.Graph) {
		return mapping.Assistant{}, errTaken(a.ID)
	}
	return *s.withTraits(&a), err
}

func keyOfAssistant(ctx context.Context, n adapter.AssistantRequest) store.IdempotencyKey {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "assistant", n).Of(mapping.PrincipalOf(ctx))
}

// takenByAgent handles a request for an assistant with the id of a configured agent.
func (s *Service) takenByAgent(ctx context.Context, name string, orGet bool) (mapping.Assistant, error) {
	agent, err := s.findAgent(ctx, name)
	if err != nil || !orGet {
		return mapping.Assistant{}, errTaken(mapping.AssistantID(name))
	}
	return s.describeAgent(ctx, agent)
}

func errTaken(id string) error {
	return mapping.Errorf(mapping.Conflict, mapping.CodeAssistantThere, "Assistant %q already exists.", id)
}

// changeableAssistant returns an assistant that may be changed.
func (s *Service) changeableAssistant(ctx context.Context, id, doing string) (*mapping.Assistant, error) {
	a, err := s.madeAssistant(ctx, id)
	if a != nil || err != nil {
		return a, err
	}
	agent, err := s.findAgentOr(ctx, id, noAssistant)
	if err != nil {
		return nil, err
	}
	return nil, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
		"Assistant %q is agent %q of the bridge's configuration; %s it is not possible. Create an assistant with graph_id %q instead.",
		id, agent.Name, doing, agent.Name)
}

// UpdateAssistant changes an assistant and returns it. It returns Invalid for a configured agent, which cannot be
// changed.
func (s *Service) UpdateAssistant(ctx context.Context, id string, p adapter.AssistantPatch) (mapping.Assistant, error) {
	before, err := s.changeableAssistant(ctx, id, "changing")
	if err != nil {
		return mapping.Assistant{}, err
	}
	graph := ""
	if p.Graph != nil {
		agent, err := s.findAgent(ctx, *p.Graph)
		if err != nil {
			return mapping.Assistant{}, err
		}
		graph = agent.Name
	}
	a, err := s.store.Assistants.Update(ctx, before.ID, func(a *mapping.Assistant) error { return patchAssistant(a, p, graph) })
	return *s.withTraits(&a), err
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

// DeleteAssistant removes an assistant and, if threads is true, the threads on which it was used. It returns Invalid
// for a configured agent, which cannot be deleted.
func (s *Service) DeleteAssistant(ctx context.Context, id string, threads bool) error {
	a, err := s.changeableAssistant(ctx, id, "deleting")
	if err != nil {
		return err
	}
	if err := s.store.Assistants.Delete(ctx, a.ID); err != nil || !threads {
		return err
	}
	return s.deleteAssistantThreads(ctx, a.ID)
}

// deleteAssistantThreads removes the threads on which an assistant was used.
func (s *Service) deleteAssistantThreads(ctx context.Context, id string) error {
	list, _, err := s.store.Threads.List(ctx, mapping.ThreadQuery{Metadata: rule.MadeForAssistant(id)})
	for _, t := range list {
		if err := s.DeleteThread(ctx, t.ID); err != nil && mapping.Classify(err).Class != mapping.NotFound {
			return err
		}
	}
	return err
}

// ListAssistantVersions returns a page of an assistant's versions. A configured agent has one version.
func (s *Service) ListAssistantVersions(ctx context.Context, idOrName string, q adapter.VersionQuery) ([]mapping.Assistant, error) {
	made, err := s.madeAssistant(ctx, idOrName)
	if err != nil {
		return nil, err
	}
	if made != nil {
		return s.store.Assistants.Versions(ctx, made.ID, q.Metadata, q.Limit, q.Offset)
	}
	a, err := s.GetAssistant(ctx, idOrName)
	if err != nil || !matches(a, adapter.AgentQuery{Metadata: q.Metadata}) {
		return nil, err
	}
	return adapter.PageOf([]mapping.Assistant{a}, q.Offset, q.Limit), nil
}

// SetAssistantVersion makes a version the current one. A configured agent has only version 1.
func (s *Service) SetAssistantVersion(ctx context.Context, idOrName string, version int) (mapping.Assistant, error) {
	made, err := s.madeAssistant(ctx, idOrName)
	if err != nil {
		return mapping.Assistant{}, err
	}
	if made != nil {
		a, err := s.store.Assistants.SetVersion(ctx, made.ID, version)
		return *s.withTraits(&a), err
	}
	a, err := s.GetAssistant(ctx, idOrName)
	if err == nil && version != a.Version {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeVersionNotFound, "Assistant %q has no version %d; it is configured and has only version 1.", idOrName, version)
	}
	return a, err
}

// SearchAssistants returns a page of the matching assistants and configured agents that the principal may use, and the
// total number of matches.
func (s *Service) SearchAssistants(ctx context.Context, q adapter.AgentQuery) ([]mapping.Assistant, int, error) {
	all, err := s.allAssistants(ctx)
	if err != nil {
		return nil, 0, err
	}
	var list []mapping.Assistant
	for _, a := range all {
		if matches(a, q) {
			list = append(list, a)
		}
	}
	sortAgents(list, q)
	total := len(list)
	return adapter.PageOf(list, q.Offset, q.Limit), total, nil
}

// allAssistants returns the configured agents, and the assistants created over them, that the principal may use.
func (s *Service) allAssistants(ctx context.Context) (list []mapping.Assistant, err error) {
	for name := range s.engine.Config().Agents {
		a, ok := s.engine.Agent(name)
		if !ok || !mapping.PrincipalOf(ctx).May(name) {
			continue
		}
		d, err := s.describeAgent(ctx, a)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	made, err := s.store.Assistants.List(ctx)
	for _, a := range made {
		if mapping.PrincipalOf(ctx).May(a.Graph) {
			list = append(list, *s.withTraits(&a))
		}
	}
	return list, err
}

func matches(a mapping.Assistant, q adapter.AgentQuery) bool {
	if q.Configured && !a.Configured {
		return false
	}
	if q.Graph != "" && q.Graph != a.Graph {
		return false
	}
	if q.Exact && q.Name != "" && q.Name != a.Name {
		return false
	}
	if !strings.Contains(strings.ToLower(a.Name), strings.ToLower(q.Name)) {
		return false
	}
	return len(q.Metadata) == 0 || rawjson.Contains(a.Metadata, q.Metadata)
}

// sortAgents sorts by q.SortBy, then by name and id. The default is newest first.
func sortAgents(list []mapping.Assistant, q adapter.AgentQuery) {
	slices.SortFunc(list, func(a, b mapping.Assistant) (n int) {
		switch q.SortBy {
		case mapping.SortByName:
			n = strings.Compare(a.Name, b.Name)
		case mapping.SortByAgent:
			n = strings.Compare(a.Graph, b.Graph)
		case mapping.SortByID:
			n = strings.Compare(a.ID, b.ID)
		case mapping.SortByUpdated:
			n = a.UpdatedAt.Compare(b.UpdatedAt)
		default:
			n = a.CreatedAt.Compare(b.CreatedAt)
		}
		if !q.Asc {
			n = -n
		}
		return cmp.Or(n, strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
}
