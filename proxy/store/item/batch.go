package item

import (
	"context"
	"iter"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// itemsAtOnce is how many bytes of values a search holds at a time, but for one item that is longer.
const itemsAtOnce = 4 << 20

// Search finds items, in the order of namespaces and keys; a text search has the best matches first, with their Score
// (textindex.Corpus.Rank). What was found is decided at once, and read a few megabytes at a time: an item is yielded as
// it is by then, and one that was removed meanwhile is left out.
func (s *Table) Search(ctx context.Context, q Query) iter.Seq2[mapping.Item, error] {
	return func(yield func(mapping.Item, error) bool) {
		rows, err := s.matching(ctx, q)
		if err == nil && q.RefreshTTL {
			err = s.refresh(ctx, slices.Clone(rows))
		}
		for i := 0; err == nil && i < len(rows); i++ {
			if rows[i].unread {
				err = s.readItems(ctx, rows[i:])
			}
			row := rows[i]
			rows[i] = nil // its value can go
			if err == nil && !row.gone && !yield(row.Item, nil) {
				return
			}
		}
		if err != nil {
			yield(mapping.Item{}, err)
		}
	}
}

// List is Search for few items.
func (s *Table) List(ctx context.Context, q Query) (list []mapping.Item, err error) {
	for it, err := range s.Search(ctx, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

// readItems reads the values of the first rows.
func (s *Table) readItems(ctx context.Context, rows []*itemRow) error {
	return s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		for i, kept := 0, 0; i < len(rows) && rows[i].unread && kept < itemsAtOnce; i++ {
			fresh := itemRow{}
			err := t.Each(`SELECT `+itemColumns+` WHERE i.tenant = $1 AND i.namespace = $2 AND i.item_key = $3 AND `+live(4),
				in{mapping.PrincipalOf(ctx).Tenant, pathOf(rows[i].Namespace), rows[i].Key, t.Horizon}, fresh.scan)
			if err != nil {
				return err
			}
			fresh.Score, fresh.gone = rows[i].Score, fresh.CreatedAt.IsZero()
			kept += len(fresh.Value)
			*rows[i] = fresh
		}
		return ctx.Err()
	})
}
