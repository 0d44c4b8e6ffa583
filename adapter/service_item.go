package adapter

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Items is the long-term store.
type Items interface {
	PutItem(ctx context.Context, p PutItem) error
	GetItem(ctx context.Context, namespace []string, key string, refreshTTL *bool) (mapping.Item, error)
	DeleteItem(ctx context.Context, namespace []string, key string) error
	// SearchItems reads only a few of the items at a time, because they may be long.
	SearchItems(ctx context.Context, q ItemQuery) iter.Seq2[mapping.Item, error]
	ListNamespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
}

// ItemKeeper is a backend whose agent has its own long-term store. Optional.
type ItemKeeper interface {
	// Items returns the agent's own long-term store. Every caller of the agent can access all of it, because the agent
	// does not know tenants and namespaces of callers. An operation fails with not_supported if the agent's server has
	// no store or lacks the operation.
	Items() Items
}

// PutItem is an item to write.
type PutItem struct {
	Namespace []string
	Key       string
	Value     json.RawMessage // an object
	Index     json.RawMessage // nil means default, false means none; or a list of paths
	TTL       time.Duration   // 0 means as configured
	Lost      OnLoss
}

// ItemQuery searches items. Filter is an object of equalities and operators ($eq $ne $gt $gte $lt $lte $in $nin
// $exists), and of lists of such objects under $or and $and.
type ItemQuery struct {
	Prefix        []string
	Filter        json.RawMessage
	Query         string
	SearchBy      mapping.SearchBy // with a query
	SortBy        mapping.SortKey  // SortByKey, SortByCreated, SortByUpdated, or, with a query, SortByScore; default: the score, or without a query SortByUpdated
	Asc           bool
	Limit, Offset int
	RefreshTTL    *bool // nil means as configured
	Lost          OnLoss
}

// OnLoss is called before a response is written, with a field that has less effect than documented: an index without
// embeddings, or a query that only matches words. It may be nil.
type OnLoss func(mapping.Loss)

// Approximated reports a field that is only partly applied. It does nothing on a nil OnLoss.
func (l OnLoss) Approximated(field string) {
	if l != nil {
		l(mapping.Loss{Field: field, Fate: mapping.Approximated})
	}
}

// NamespaceQuery lists namespaces; "*" matches one label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int // 0 means no limit
	Limit, Offset  int
}
