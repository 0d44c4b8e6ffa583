package item

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embed creates missing vectors: for the newest items of one tenant, each tenant in turn, and then for one item that
// was set aside and is due again. Until then searches find these items by their words. n is the number of items
// processed. It is 0 if there are none or another process creates the vectors. aside lists the items with a text that
// the endpoint refused while it accepted others.
func (s *Maintenance) Embed(ctx context.Context) (n int, aside []SetAside, err error) {
	if s.index == nil {
		return 0, nil, nil
	}
	if due, err := s.unseenOrCleared(ctx); err != nil || !due {
		return 0, nil, err
	}
	for done := false; !done; {
		var held bool
		if done, held, err = s.prepare(ctx); err != nil || !held {
			return 0, nil, err
		}
	}
	if n, aside, err = s.embedRead(ctx, s.unseen); err != nil {
		return n, aside, err
	}
	again, more, err := s.embedRead(ctx, s.dueAgain)
	return n + again, append(aside, more...), err
}

func (s *Maintenance) embedRead(ctx context.Context, read func(context.Context) ([]*unseenItem, error)) (n int, aside []SetAside, err error) {
	list, err := read(ctx)
	if err != nil || len(list) == 0 {
		return 0, nil, err
	}
	done, failed := s.embed(ctx, list)
	aside, err = s.keep(ctx, done)
	return len(done), aside, errors.Join(failed, err)
}

// unseenOrCleared reports whether there may be vectors to create. It writes nothing.
func (s *Maintenance) unseenOrCleared(ctx context.Context) (due bool, err error) {
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		state, err := readIndex(t)
		if err != nil || !state.ready(s.index) {
			due = true
			return err
		}
		return t.Get(`SELECT EXISTS (SELECT 1 FROM items WHERE vectors_us <> updated_us) OR EXISTS (SELECT 1 FROM item_failures WHERE due_us <= $1)`, sqldb.In{t.Now}, sqldb.Out{&due})
	})
	return due, err
}

const (
	// textsTogether limits the texts of one batch. A single item may have more.
	textsTogether = 500
	// turnTime limits a tenant's turn after a text was refused.
	turnTime = time.Minute
)

// unseenItem is an item that needs vectors.
type unseenItem struct {
	itemName
	updated int64 // when the value of the texts was written
	texts   []string
	vectors []byte
	refused error // why one of its texts has no vector
}

const unseenColumns = `i.tenant, i.namespace, i.item_key, i.updated_us, i.value, i.fields`

func (s *Maintenance) readUnseen(scan func(...any) error) (it *unseenItem, size int, err error) {
	it = new(unseenItem)
	var value, index json.RawMessage
	err = scan(&it.tenant, &it.namespace, &it.key, &it.updated, it.unsealed((*[]byte)(&value), itemValue), (*[]byte)(&index))
	it.texts = itemquery.VectorTexts(value, index, s.index.Fields)
	return it, len(value), err
}

// unseen reads the newest items without vectors of the next tenant.
func (s *Maintenance) unseen(ctx context.Context) (list []*unseenItem, err error) {
	var tenant string
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		list = nil
		found := false
		if tenant, found, err = s.nextTenant(t); err != nil || !found {
			return err
		}
		read, texts := 0, 0
		return t.Until(unseenOf, sqldb.In{tenant, itemsTogether}, func(scan func(...any) error) (bool, error) {
			it, size, err := s.readUnseen(scan)
			list = append(list, it)
			read, texts = read+size, texts+len(it.texts)
			return read < bytesTogether && texts < textsTogether, errors.Join(err, ctx.Err())
		})
	})
	if err == nil {
		s.turn = tenant
	}
	return list, err
}

const (
	unseenOf = `SELECT ` + unseenColumns + ` FROM items i WHERE i.tenant = $1 AND i.vectors_us <> i.updated_us ORDER BY i.updated_us DESC LIMIT $2`
	// tenantAfter and tenantFirst select the next tenant with items without vectors.
	tenantAfter = `SELECT tenant FROM items WHERE vectors_us <> updated_us AND tenant > $1 ORDER BY tenant, updated_us LIMIT 1`
	tenantFirst = `SELECT tenant FROM items WHERE vectors_us <> updated_us ORDER BY tenant, updated_us LIMIT 1`
)

// nextTenant returns the tenant after the last one, in rotation.
func (s *Maintenance) nextTenant(t *sqldb.Tx) (tenant string, found bool, err error) {
	err = t.Get(tenantAfter, sqldb.In{s.turn}, sqldb.Out{&tenant})
	if errors.Is(err, sql.ErrNoRows) {
		err = t.Get(tenantFirst, nil, sqldb.Out{&tenant})
	}
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return tenant, err == nil, err
}

// embed creates the vectors of items, one item at a time. done lists the items that were completed, possibly with a
// refused text. If there are others, err is the reason: the endpoint accepts nothing.
func (s *Maintenance) embed(ctx context.Context, list []*unseenItem) (done []*unseenItem, err error) {
	var texts []string
	var of []*unseenItem // the item of each text
	for _, it := range list {
		for _, text := range it.texts {
			texts, of = append(texts, text), append(of, it)
		}
	}
	turn, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	at := 0
	for at < len(texts) && err == nil {
		var vectors [][]float32
		var refused error
		left := len(texts) - at
		vectors, refused, err = s.index.Embed.Documents(ctx, texts[at:])
		if refused == nil && err == nil && len(vectors) != left {
			return nil, fmt.Errorf("store: %d vectors for %d texts", len(vectors), left)
		}
		for _, v := range vectors {
			of[at].vectors = vectorindex.AppendBytes(of[at].vectors, v)
			at++
		}
		if refused == nil {
			continue
		}
		failed := of[at]
		failed.refused = refused
		if at++; turn.Err() != nil {
			for at < len(texts) && of[at] == failed {
				at++
			}
			break
		}
	}
	for n, it := range list {
		if at -= len(it.texts); at < 0 {
			return list[:n], err
		}
	}
	return list, err
}

// keep stores the vectors of items that have not changed in the meantime, as long as the index is unchanged and this
// process owns it. An item with a refused text is set aside with the vectors of its other texts.
func (s *Maintenance) keep(ctx context.Context, list []*unseenItem) (aside []SetAside, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	err = s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		aside = nil
		var version int64
		err := t.Get(`UPDATE item_index SET version = version + 1 WHERE id = 1 AND owner = $1 AND mark = $2 AND clearing = 0 RETURNING version`,
			sqldb.In{s.db.Owner(), s.index.Mark}, sqldb.Out{&version})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		for i := 0; err == nil && i < len(list); i++ {
			var there bool
			if there, err = list[i].keep(t, version); err != nil || !there {
				continue
			}
			if list[i].refused == nil {
				err = list[i].removeFailure(t)
				continue
			}
			var one SetAside
			one, err = list[i].setAside(t)
			aside = append(aside, one)
		}
		return err
	})
	return aside, err
}

func (it *unseenItem) keep(t *sqldb.Tx, version int64) (there bool, err error) {
	n, err := t.Exec(`UPDATE items SET vectors_us = updated_us WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND updated_us = $4`, it.args(it.updated)...)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.Put(`INSERT INTO item_vectors (tenant, namespace, item_key, version, vectors) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (tenant, namespace, item_key) DO UPDATE SET version = excluded.version, vectors = excluded.vectors`, it.args(version, it.sealed(t, append([]byte{}, it.vectors...), itemVectors))...)
}

// removeVectors removes the vectors of a removed item.
func (n itemName) removeVectors(t *sqldb.Tx) error {
	return errors.Join(t.Put(`DELETE FROM item_vectors WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, n.args()...), n.removeFailure(t))
}

// Unseen returns a channel that receives after this process has written items that need vectors.
func (s *Maintenance) Unseen() <-chan struct{} { return s.wakeup }
