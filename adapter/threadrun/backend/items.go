package backend

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Items implements adapter.ItemKeeper.
func (b *backend) Items() adapter.Items { return items{b} }

// items is the long-term store of the agent's server (LangGraph Server API and Agent Protocol, routes /store).
type items struct{ b *backend }

const itemsPath = "/store/items"

// itemWire is an item of the store.
type itemWire struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"updated_at"`
	Score     *float64        `json:"score"`
}

func (w itemWire) item() mapping.Item {
	return mapping.Item{Namespace: w.Namespace, Key: w.Key, Value: w.Value, CreatedAt: w.Created, UpdatedAt: w.Updated, Score: w.Score}
}

// itemPut is the body of PUT /store/items.
type itemPut struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Index     json.RawMessage `json:"index,omitempty"`
	TTL       float64         `json:"ttl,omitempty"` // minutes
}

// itemName is the body of DELETE /store/items.
type itemName struct {
	Namespace []string `json:"namespace"`
	Key       string   `json:"key"`
}

// itemSearch is the body of POST /store/items/search.
type itemSearch struct {
	Prefix     []string        `json:"namespace_prefix"`
	Filter     json.RawMessage `json:"filter,omitempty"`
	Query      string          `json:"query,omitempty"`
	Limit      int             `json:"limit"`
	Offset     int             `json:"offset"`
	RefreshTTL *bool           `json:"refresh_ttl,omitempty"`
}

// namespaceSearch is the body of POST /store/namespaces.
type namespaceSearch struct {
	Prefix   []string `json:"prefix,omitempty"`
	Suffix   []string `json:"suffix,omitempty"`
	MaxDepth int      `json:"max_depth,omitempty"`
	Limit    int      `json:"limit"`
	Offset   int      `json:"offset"`
}

func (s items) PutItem(ctx context.Context, p adapter.PutItem) error {
	body := itemPut{Namespace: nonNil(p.Namespace), Key: p.Key, Value: p.Value, Index: p.Index, TTL: p.TTL.Minutes()}
	return s.failed(s.b.http.writeJSON(ctx, http.MethodPut, itemsPath, body, nil))
}

// GetItem reads an item. LangGraph servers expect the namespace joined with dots and respond with null for a missing
// item. Agent Protocol servers expect a repeated parameter and respond with 404.
func (s items) GetItem(ctx context.Context, namespace []string, key string, refreshTTL *bool) (mapping.Item, error) {
	t, err := s.b.graphs.target(ctx)
	if err != nil {
		return mapping.Item{}, err
	}
	query := url.Values{"key": {key}, "namespace": {strings.Join(namespace, ".")}}
	if t.plain {
		query["namespace"] = namespace
	}
	if refreshTTL != nil {
		query.Set("refresh_ttl", map[bool]string{true: "true", false: "false"}[*refreshTTL])
	}
	var found *itemWire
	err = s.b.http.getJSON(ctx, itemsPath+"?"+query.Encode(), &found)
	if upstream.Status(err) == http.StatusNotFound && !s.isMissing(ctx) || err == nil && found == nil {
		return mapping.Item{}, mapping.Errorf(mapping.NotFound, mapping.CodeItemNotFound, "There is no item %q.", key)
	}
	if err != nil {
		return mapping.Item{}, s.failed(err)
	}
	return found.item(), nil
}

// isMissing reports whether the server has no store, by requesting its search route.
func (s items) isMissing(ctx context.Context) bool {
	var found json.RawMessage
	return upstream.Status(s.b.http.askJSON(ctx, itemsPath+"/search", itemSearch{Prefix: []string{}, Limit: 1}, &found)) == http.StatusNotFound
}

func (s items) DeleteItem(ctx context.Context, namespace []string, key string) error {
	err := s.b.http.writeJSON(ctx, http.MethodDelete, itemsPath, itemName{nonNil(namespace), key}, nil)
	if upstream.Status(err) == http.StatusNotFound && !s.isMissing(ctx) {
		return nil
	}
	return s.failed(err)
}

func (s items) SearchItems(ctx context.Context, q adapter.ItemQuery) iter.Seq2[mapping.Item, error] {
	return func(yield func(mapping.Item, error) bool) {
		if q.SearchBy != "" || q.SortBy != "" {
			yield(mapping.Item{}, mapping.Errorf(mapping.Invalid, mapping.CodeNotSupported,
				"The store belongs to agent %q (store.agent), which does not support search_by, sort_by and sort_order. Leave them out.", s.b.up.Name))
			return
		}
		var found struct {
			Items []itemWire `json:"items"`
		}
		body := itemSearch{Prefix: nonNil(q.Prefix), Filter: q.Filter, Query: q.Query, Limit: q.Limit, Offset: q.Offset, RefreshTTL: q.RefreshTTL}
		if err := s.b.http.askJSON(ctx, itemsPath+"/search", body, &found); err != nil {
			yield(mapping.Item{}, s.failed(err))
			return
		}
		for _, w := range found.Items {
			if !yield(w.item(), nil) {
				return
			}
		}
	}
}

// ListNamespaces reads {namespaces}, or the bare list that Agent Protocol servers send.
func (s items) ListNamespaces(ctx context.Context, q adapter.NamespaceQuery) (list [][]string, err error) {
	var raw json.RawMessage
	body := namespaceSearch{Prefix: q.Prefix, Suffix: q.Suffix, MaxDepth: q.MaxDepth, Limit: q.Limit, Offset: q.Offset}
	const path = "/store/namespaces"
	if err := s.b.http.askJSON(ctx, path, body, &raw); err != nil {
		return nil, s.failed(err)
	}
	if rawjson.Kind(raw) == '{' {
		raw = rawjson.Get(raw, "namespaces")
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, s.b.http.bad(http.MethodPost, path, "it is not a list of namespaces")
	}
	return list, nil
}

// failed reclassifies refusals that a caller can act on.
func (s items) failed(err error) error {
	switch upstream.Status(err) {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return &mapping.Error{Class: mapping.Invalid, Code: mapping.CodeInvalid, Message: mapping.Classify(err).Message, Err: err}
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return &mapping.Error{Class: mapping.Invalid, Code: mapping.CodeNotSupported, Err: err,
			Message: "The store belongs to agent \"" + s.b.up.Name + "\" (store.agent), whose server has none. Remove store.agent to use the bridge's own store."}
	}
	return err
}
