package service

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/item"
)

func (s *Service) PutItem(ctx context.Context, p adapter.PutItem) error {
	noteItem(ctx, p.Namespace, p.Key)
	if err := rule.CheckNamespace(p.Namespace); err != nil {
		return err
	}
	if err := rule.CheckKey(p.Key); err != nil {
		return err
	}
	if s.usesAgentItems() {
		k, err := s.reachAgentItems(ctx, p.Namespace, true)
		if err != nil {
			return err
		}
		return k.PutItem(ctx, p)
	}
	if err := itemquery.CheckItemIndex(p.Index); err != nil {
		return err
	}
	if !s.store.Items.Embeds() && rawjson.Kind(p.Index) == '[' {
		p.Lost.Approximated("index") // the paths affect only the search by words
	}
	it := mapping.Item{Namespace: p.Namespace, Key: p.Key, Value: p.Value}
	return s.store.Items.Put(ctx, item.Put{Item: it, TTL: p.TTL, Index: p.Index})
}

func (s *Service) GetItem(ctx context.Context, namespace []string, key string, refreshTTL *bool) (mapping.Item, error) {
	noteItem(ctx, namespace, key)
	if s.usesAgentItems() {
		k, err := s.reachAgentItems(ctx, namespace, false)
		if err != nil {
			return mapping.Item{}, err
		}
		return k.GetItem(ctx, namespace, key, refreshTTL)
	}
	return s.store.Items.Get(ctx, namespace, key, s.store.Items.Refreshes(refreshTTL))
}

func (s *Service) DeleteItem(ctx context.Context, namespace []string, key string) error {
	noteItem(ctx, namespace, key)
	if s.usesAgentItems() {
		k, err := s.reachAgentItems(ctx, namespace, true)
		if err != nil {
			return err
		}
		return k.DeleteItem(ctx, namespace, key)
	}
	return s.store.Items.Delete(ctx, namespace, key)
}

// noteItem adds an item to the audit log as its labels and key, joined by slashes, like the store's pages.
func noteItem(ctx context.Context, namespace []string, key string) {
	mapping.AddAuditObject(ctx, "item", strings.Join(append(slices.Clone(namespace), key), "/"))
}

func (s *Service) SearchItems(ctx context.Context, q adapter.ItemQuery) iter.Seq2[mapping.Item, error] {
	if s.usesAgentItems() {
		return s.searchAgentItems(ctx, q)
	}
	if q.SortBy == "" && q.Query == "" {
		q.SortBy = mapping.SortByUpdated // like LangGraph's stores
	}
	out := item.Query{Prefix: q.Prefix, Query: q.Query, SearchBy: q.SearchBy, SortBy: q.SortBy, Asc: q.Asc, Limit: q.Limit, Offset: q.Offset, RefreshTTL: s.store.Items.Refreshes(q.RefreshTTL), Lost: q.Lost}
	if len(q.Filter) > 0 && string(q.Filter) != "null" && string(q.Filter) != "{}" {
		filter, err := itemquery.ParseFilter(q.Filter)
		if err != nil {
			return func(yield func(mapping.Item, error) bool) { yield(mapping.Item{}, err) }
		}
		out.Keep, out.Members = filter.Match, filter.Members()
	}
	return s.store.Items.Search(ctx, out)
}

func (s *Service) ListNamespaces(ctx context.Context, q adapter.NamespaceQuery) ([][]string, error) {
	if s.usesAgentItems() {
		return s.agentNamespaces(ctx, q)
	}
	all, err := s.store.Items.Namespaces(ctx, literalPrefix(q.Prefix))
	if err != nil {
		return nil, err
	}
	var out [][]string
	seen := map[string]bool{}
	for _, ns := range all {
		if !rule.MatchNamespace(ns, q.Prefix, q.Suffix) {
			continue
		}
		if q.MaxDepth > 0 && len(ns) > q.MaxDepth {
			ns = ns[:q.MaxDepth]
		}
		if key := strings.Join(ns, "."); !seen[key] {
			seen[key] = true
			out = append(out, ns)
		}
	}
	return adapter.PageOf(out, q.Offset, q.Limit), nil
}

// topicItems returns the items in and below a namespace, up to the number that a topic shows.
func (s *Service) topicItems(ctx context.Context, namespace []string) ([]mapping.Item, error) {
	if s.usesAgentItems() {
		return adapter.All(s.searchAgentItems(ctx, adapter.ItemQuery{Prefix: namespace, Limit: maxTopicItems}))
	}
	return s.store.Items.List(ctx, item.Query{Prefix: namespace, Limit: maxTopicItems})
}

// literalPrefix returns the part of a pattern before its first wildcard.
func literalPrefix(pattern []string) []string {
	for i, label := range pattern {
		if label == "*" {
			return pattern[:i]
		}
	}
	return pattern
}
