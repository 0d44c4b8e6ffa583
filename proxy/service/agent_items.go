package service

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// agentItems is the store of an agent that the configuration names (store.agent). The agent knows no callers: what each
// may reach is decided here, as the bridge's own store does.
type agentItems struct {
	directory *directory.Directory
	settings  settings
}

// on reports whether the store is an agent's.
func (s agentItems) on() bool { return s.settings.Config().Store.Agent != "" }

// keeper finds the agent's store.
func (s agentItems) keeper(ctx context.Context) (adapter.Items, error) {
	name := s.settings.Config().Store.Agent
	if !mapping.PrincipalOf(ctx).May(name) {
		return nil, mapping.Errorf(mapping.Forbidden, mapping.CodeNamespace, "The store is that of an agent that %q may not use (store.agent).", mapping.PrincipalOf(ctx).ID)
	}
	agent, err := s.directory.Agent(ctx, name)
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
		"The store is that of agent %q (store.agent), which speaks %s and has none. Leave store.agent out for the bridge's own.", name, agent.Dialect())
}

// reached is keeper for a namespace that the caller has to be allowed.
func (s agentItems) reached(ctx context.Context, namespace []string, write bool) (adapter.Items, error) {
	if err := item.CheckReach(ctx, namespace, write); err != nil {
		return nil, err
	}
	return s.keeper(ctx)
}

func (s agentItems) put(ctx context.Context, p adapter.PutItem) error {
	k, err := s.reached(ctx, p.Namespace, true)
	if err != nil {
		return err
	}
	return k.PutItem(ctx, p)
}

func (s agentItems) get(ctx context.Context, namespace []string, key string, refreshTTL *bool) (mapping.Item, error) {
	k, err := s.reached(ctx, namespace, false)
	if err != nil {
		return mapping.Item{}, err
	}
	return k.GetItem(ctx, namespace, key, refreshTTL)
}

func (s agentItems) delete(ctx context.Context, namespace []string, key string) error {
	k, err := s.reached(ctx, namespace, true)
	if err != nil {
		return err
	}
	return k.DeleteItem(ctx, namespace, key)
}

// seen is the one namespace in and below which the caller sees something under a prefix; none where it sees nothing.
func seen(ctx context.Context, prefix []string) (namespace []string, some bool, err error) {
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
			"%q may use several namespaces here, and an agent's store (store.agent) is searched below one at a time. Name one of them: %s.", who.ID, strings.Join(names, ", "))
	}
}

func (s agentItems) search(ctx context.Context, q adapter.ItemQuery) iter.Seq2[mapping.Item, error] {
	return func(yield func(mapping.Item, error) bool) {
		k, err := s.keeper(ctx)
		some := false
		if err == nil {
			q.Prefix, some, err = seen(ctx, q.Prefix)
		}
		switch {
		case err != nil:
			yield(mapping.Item{}, err)
		case some:
			k.SearchItems(ctx, q)(yield)
		}
	}
}

func (s agentItems) namespaces(ctx context.Context, q adapter.NamespaceQuery) ([][]string, error) {
	k, err := s.keeper(ctx)
	if err != nil {
		return nil, err
	}
	part, some, err := seen(ctx, literalPrefix(q.Prefix))
	if err != nil || !some {
		return nil, err
	}
	for i, label := range part { // the caller sees nothing beside it
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
