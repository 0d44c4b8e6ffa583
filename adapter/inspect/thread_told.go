package inspect

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/conversation"
	"github.com/apbridge/apbridge/mapping"
)

// toldRun is what the agent of a run was told of the long-term store.
type toldRun struct {
	RunID  string     `json:"run_id"`
	Items  []toldItem `json:"items"`
	More   int        `json:"more,omitempty"`   // that are not listed
	Hidden int        `json:"hidden,omitempty"` // that the caller may not see
}

// toldItem is an item as it is now.
type toldItem struct {
	Namespace []string          `json:"namespace"`
	Key       string            `json:"key"`
	Gone      bool              `json:"gone,omitempty"`
	Value     conversation.Text `json:"value"`
	UpdatedAt *time.Time        `json:"updated_at,omitempty"`
}

// toldItems are what agents were told of the long-term store.
type toldItems struct {
	past  toldLister
	items itemReader
}

// toldLister is part of adapter.Threads.
type toldLister interface {
	ListRecalledItems(ctx context.Context, threadID string, limit int) ([]adapter.RecalledItems, error)
}

// itemReader is part of adapter.Items.
type itemReader interface {
	GetItem(ctx context.Context, namespace []string, key string, refreshTTL *bool) (mapping.Item, error)
}

func (t *toldItems) list(ctx context.Context, thread string) ([]toldRun, error) {
	runs, err := t.past.ListRecalledItems(ctx, thread, toldRunsShown)
	list := []toldRun{}
	who := mapping.PrincipalOf(ctx)
	for _, r := range runs {
		one := toldRun{RunID: r.RunID, Items: []toldItem{}, More: max(0, len(r.Items)-toldItemsShown)}
		for _, name := range r.Items[:min(len(r.Items), toldItemsShown)] {
			if !who.MayReach(name.Namespace) {
				one.Hidden++
				continue
			}
			it, err := t.item(ctx, name)
			if err != nil {
				return nil, err
			}
			one.Items = append(one.Items, it)
		}
		list = append(list, one)
	}
	return list, err
}

func (t *toldItems) item(ctx context.Context, name mapping.ItemName) (toldItem, error) {
	it := toldItem{Namespace: name.Namespace, Key: name.Key}
	now, err := t.items.GetItem(ctx, name.Namespace, name.Key, new(bool)) // to look at an item does not keep it
	switch {
	case err == nil:
		it.Value, it.UpdatedAt = conversation.Cut(string(now.Value)), &now.UpdatedAt
	case mapping.Classify(err).Class == mapping.NotFound:
		it.Gone, err = true, nil
	}
	return it, err
}
