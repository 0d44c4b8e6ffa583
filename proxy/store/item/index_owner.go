package item

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ownIndex makes this process the owner of the index, unless another process with a lease owns it, and returns the
// state of the index. The row stays locked until the operation is committed.
func (s *Maintenance) ownIndex(t *sqldb.Tx) (state indexState, held bool, err error) {
	n, err := t.Exec(`UPDATE item_index SET owner = $1 WHERE id = 1 AND (owner = $1 OR `+sqldb.NoLease("item_index.owner")+`)`, s.db.Owner())
	if err != nil || n == 0 {
		return state, false, err
	}
	state, err = readIndex(t)
	return state, err == nil, err
}

// prepare makes sure that the stored vectors belong to the index. It removes others, a few at a time. done reports
// whether no others are left, and held whether this process owns the index.
func (s *Maintenance) prepare(ctx context.Context) (done, held bool, err error) {
	err = s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		var state indexState
		done = false
		if state, held, err = s.ownIndex(t); err != nil || !held {
			return err
		}
		switch {
		case state.ready(s.index):
			done = true
			return nil
		case state.mark != s.index.Mark:
			return t.Put(`UPDATE item_index SET mark = $1, generation = generation + 1, clearing = 1 WHERE id = 1`, s.index.Mark)
		}
		return s.clear(t)
	})
	return done, held, err
}

// clear removes vectors of another index and marks their items for embedding. Rows are locked in the same order as when
// an item is removed: first the item, then its vectors.
func (s *Maintenance) clear(t *sqldb.Tx) error {
	var old []itemName
	err := t.Each(`SELECT tenant, namespace, item_key FROM item_vectors ORDER BY tenant, namespace, item_key LIMIT $1`, sqldb.In{itemsTogether}, func(scan func(...any) error) error {
		var at itemName
		err := scan(&at.tenant, &at.namespace, &at.key)
		old = append(old, at)
		return err
	})
	for i := 0; err == nil && i < len(old); i++ {
		if err = t.Put(`UPDATE items SET vectors_us = 0 WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, old[i].args()...); err == nil {
			err = old[i].removeVectors(t)
		}
	}
	if err == nil && len(old) == 0 {
		err = errors.Join(t.Put(`DELETE FROM item_failures`), t.Put(`UPDATE item_index SET clearing = 0 WHERE id = 1`))
	}
	return err
}
