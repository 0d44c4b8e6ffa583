package service

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// The long-term store may be provided by an agent (store.agent). The agent does not know the callers, so access is
// decided here, as for the bridge's own store.

// usesAgentItems reports whether the store is provided by an agent.
func (s *Service) usesAgentItems() bool { return s.engine.Config().Store.Agent != "" }

// agentItems returns the agent's store.
func (s *Service) agentItems(ctx context.Context) (adapter.Items, error) {
	name := s.engine.Config().Store.Agent
	if !mapping.PrincipalOf(ctx).May(name) {
		return nil, mapping.Errorf(mapping.Forbidden, mapping.CodeNamespace, "The store belongs to an agent that %q may not use (store.agent).", mapping.PrincipalOf(ctx).ID)
	}
	agent, err := s.findAgent(ctx, name)
	if err != nil {
		return nil, err
	}
	b, _, err := agent.Backend(ctx)
	if err != nil {
		return nil, err
	}
	if k, ok := b.(adapter.ItemKeeper); ok {
		return k.Items(), nil
	}
	return nil, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
		"store.agent names agent %q, which speaks %s and has no store. Remove store.agent to use the bridge's own store.", name, agent.Dialect())
}

// reachAgentItems is like agentItems, but first checks that the caller may access a namespace.
func (s *Service) reachAgentItems(ctx context.Context, namespace []string, write bool) (adapter.Items, error) {
	if err := item.CheckReach(ctx, namespace, write); err != nil {
		return nil, err
	}
	return s.agentItems(ctx)
}

// visibleNamespace returns the one namespace under a prefix that the caller may see. some is false if it may see none.
func visibleNamespace(ctx context.Context, prefix []string) (namespace []string, some bool, err error) {
	who := mapping.PrincipalOf(ctx)
	switch parts := who.Below(prefix); len(parts) {
	case 0:
		return nil, false, nil
	case 1:
		return parts[0], true, nil
	default:
		names := make([]string, len(parts))
		for i, ns := range parts {
			names[i] = strings.Join(ns, "/")
		}
		return nil, false, mapping.Errorf(mapping.Forbidden, mapping.CodeNamespace,
			"%q may use several namespaces here, but an agent's store (store.agent) can only be searched below one at a time. Name one of them: %s.", who.ID, strings.Join(names, ", "))
	}
}

func (s *Service) searchAgentItems(ctx context.Context, q adapter.ItemQuery) iter.Seq2[mapping.Item, error] {
	return func(yield func(mapping.Item, error) bool) {
		k, err := s.agentItems(ctx)
		some := false
		if err == nil {
			q.Prefix, some, err = visibleNamespace(ctx, q.Prefix)
		}
		switch {
		case err != nil:
			yield(mapping.Item{}, err)
		case some:
			k.SearchItems(ctx, q)(yield)
		}
	}
}

func (s *Service) agentNamespaces(ctx context.Context, q adapter.NamespaceQuery) ([][]string, error) {
	k, err := s.agentItems(ctx)
	if err != nil {
		return nil, err
	}
	part, some, err := visibleNamespace(ctx, literalPrefix(q.Prefix))
	if err != nil || !some {
		return nil, err
	}
	for i, label := range part { // the caller sees nothing else
		switch {
		case i == len(q.Prefix):
			q.Prefix = append(slices.Clone(q.Prefix), label)
		case q.Prefix[i] == "*":
			q.Prefix = slices.Clone(q.Prefix)
			q.Prefix[i] = label
		case q.Prefix[i] != label:
			return nil, nil
		}
	}
	return k.ListNamespaces(ctx, q)
}
