package item

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// itemsAtOnce is the number of bytes of values that a search reads at a time. A single longer item is read alone.
const itemsAtOnce = 4 << 20

// Search returns the items that match q, in the order of q.SortBy. Those found by a query have a Score. It selects the
// items at once and reads their values a few megabytes at a time. An item is yielded with its value at that time, and
// skipped if it has been removed.
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
			rows[i] = nil // frees its value
			if err == nil && !row.gone && !yield(row.Item, nil) {
				return
			}
		}
		if err != nil {
			yield(mapping.Item{}, err)
		}
	}
}

// List is like Search, for a small number of items.
func (s *Table) List(ctx context.Context, q Query) (list []mapping.Item, err error) {
	for it, err := range s.Search(ctx, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

// readItems reads the values of the next rows, up to itemsAtOnce bytes.
func (s *Table) readItems(ctx context.Context, rows []*itemRow) error {
	tenant, size := mapping.PrincipalOf(ctx).Tenant, 0
	var names []itemName
	for _, row := range rows {
		if size += row.size; !row.unread || len(names) > 0 && size > itemsAtOnce {
			break
		}
		names = append(names, itemName{tenant, pathOf(row.Namespace), row.Key})
	}
	return s.db.Read(ctx, func(t *sqldb.Tx) error {
		there := make(map[string]itemRow, len(names))
		for _, p := range namedParts(t, names) {
			err := t.Each(`SELECT `+itemColumns+` WHERE `+p.where, append(p.args, t.Horizon), func(scan func(...any) error) error {
				var row itemRow
				err := row.scan(scan)
				there[itemName{tenant, pathOf(row.Namespace), row.Key}.id()] = row
				return err
			})
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
		}
		for i, name := range names {
			fresh, ok := there[name.id()]
			fresh.Score, fresh.gone = rows[i].Score, !ok
			*rows[i] = fresh
		}
		return nil
	})
}
