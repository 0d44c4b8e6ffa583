package item

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Maintenance holds the background work on items of all tenants. Each operation handles a few items.
type Maintenance struct {
	db     *sqldb.DB
	index  *Index          // nil if items do not become vectors
	wakeup <-chan struct{} // receives from Table.unseen
	turn   string          // the tenant whose vectors were created last; used only by Embed
}

// Limits of one background operation, in items and bytes, because other operations wait for it.
const (
	itemsTogether = 200
	bytesTogether = itemsAtOnce
)

// expired is the condition that an item has expired (clock.Reading.Expiry). Its first part can use the index.
const expired = `expires_us <= $1 AND (expires_us <= $2 OR CAST($3 AS BIGINT) > 0 AND updated_us >= $3)`

// Sweep removes expired items, which readers no longer see. more reports whether there may be others.
func (s *Maintenance) Sweep(ctx context.Context) (more bool, err error) {
	if due, err := s.Expired(ctx); err != nil || !due {
		return false, err
	}
	err = s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		gone, err := expiredItems(t)
		more = len(gone) == itemsTogether
		for i := 0; err == nil && i < len(gone); i++ {
			err = errors.Join(gone[i].removeTerms(t, gone[i].searchTerms), gone[i].removeVectors(t))
		}
		return err
	})
	return more, err
}

func (s *Maintenance) Expired(ctx context.Context) (yes bool, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT EXISTS (SELECT 1 FROM items WHERE expires_us > 0 AND `+expired+`)`, sqldb.In{t.Now, t.Horizon, t.Since}, sqldb.Out{&yes})
	})
	return yes, err
}

type expiredItem struct {
	itemName
	searchTerms
}

// expiredItems deletes rows. It repeats the condition because another process may refresh an item before its row is
// locked.
func expiredItems(t *sqldb.Tx) (gone []expiredItem, err error) {
	err = t.Each(`DELETE FROM items WHERE expires_us > 0 AND `+expired+` AND (tenant, namespace, item_key) IN
 (SELECT tenant, namespace, item_key FROM items WHERE expires_us > 0 AND `+expired+` LIMIT $4)
 RETURNING tenant, namespace, item_key, tokens, members`, sqldb.In{t.Now, t.Horizon, t.Since, itemsTogether}, func(scan func(...any) error) error {
		var it expiredItem
		err := scan(append(sqldb.Out{&it.tenant, &it.namespace, &it.key}, it.columns(&it.itemName)...)...)
		gone = append(gone, it)
		return err
	})
	return gone, err
}

// Reindex creates the tokens and members of items that have none for their value: after an import, which leaves them
// out, and after encryption was enabled or disabled. Searches by text do not find such items, and while there are any,
// searches with a filter read all items. It returns the number of items indexed, 0 if none are left.
func (s *Maintenance) Reindex(ctx context.Context) (n int, err error) {
	list, err := s.withoutTerms(ctx)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return len(list), s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		for _, it := range list {
			if err := it.index(t); err != nil {
				return err
			}
		}
		return nil
	})
}

type itemWithoutTerms struct {
	itemName
	searchTerms
	updated int64 // when the value was written
}

func (s *Maintenance) withoutTerms(ctx context.Context) (list []itemWithoutTerms, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		read := 0
		return t.Until(`SELECT tenant, namespace, item_key, updated_us, value, fields FROM items WHERE members_us <> updated_us ORDER BY updated_us LIMIT $1`,
			sqldb.In{itemsTogether}, func(scan func(...any) error) (bool, error) {
				var it itemWithoutTerms
				var value, index json.RawMessage
				err := scan(&it.tenant, &it.namespace, &it.key, &it.updated, it.unsealed((*[]byte)(&value), itemValue), (*[]byte)(&index))
				it.searchTerms = newSearchTerms(value, index, s.db.Sealing())
				list = append(list, it)
				read += len(value)
				return read < bytesTogether, errors.Join(err, ctx.Err())
			})
	})
	return list, err
}

// index writes the index of an item. It does nothing if the item was written in the meantime or another process has
// indexed it.
func (it itemWithoutTerms) index(t *sqldb.Tx) error {
	var old searchTerms
	err := t.Get(`UPDATE items SET members_us = updated_us WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND updated_us = $4 AND members_us <> updated_us
 RETURNING tokens, members`, it.args(it.updated), old.columns(&it.itemName))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return errors.Join(err, it.replaceTerms(t, old, it.searchTerms))
}
