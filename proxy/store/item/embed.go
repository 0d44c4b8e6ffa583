package item

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embed makes the vectors of some items that have none of their present value. n is how many were looked at: 0 where
// there are no others, or another process makes them. Until then searches find them by their words. What came of an
// answer that fails is not kept.
func (s *Chores) Embed(ctx context.Context) (n int, err error) {
	if s.index == nil {
		return 0, nil
	}
	if due, err := s.unseenOrCleared(ctx); err != nil || !due {
		return 0, err
	}
	for done := false; !done; {
		var held bool
		if done, held, err = s.prepare(ctx); err != nil || !held {
			return 0, err
		}
	}
	list, err := s.unseen(ctx)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if err := s.embed(ctx, list); err != nil {
		return 0, err
	}
	return len(list), s.keep(ctx, list)
}

// unseenOrCleared reports whether there is something to do. It writes nothing.
func (s *Chores) unseenOrCleared(ctx context.Context) (due bool, err error) {
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		state, err := readIndex(t)
		if err != nil || !state.ready(s.index) {
			due = true
			return err
		}
		return t.Get(`SELECT EXISTS (SELECT 1 FROM items WHERE vectors_us <> updated_us)`, nil, out{&due})
	})
	return due, err
}

// textsTogether is of how many texts vectors are made at a time, but for those of one item.
const textsTogether = 500

// unseenItem is an item whose vectors are to be made.
type unseenItem struct {
	itemName
	updated int64 // when the value was written that the texts are of
	texts   []string
	vectors []byte
}

func (s *Chores) unseen(ctx context.Context) (list []*unseenItem, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		read, texts := 0, 0
		return t.Until(`SELECT tenant, namespace, item_key, updated_us, value, fields FROM items WHERE vectors_us <> updated_us ORDER BY updated_us LIMIT $1`,
			in{itemsTogether}, func(scan func(...any) error) (bool, error) {
				it := new(unseenItem)
				var value, index json.RawMessage
				err := scan(&it.tenant, &it.namespace, &it.key, &it.updated, it.unsealed((*[]byte)(&value), itemValue), (*[]byte)(&index))
				it.texts = itemquery.VectorTexts(value, index, s.index.Fields)
				list = append(list, it)
				read, texts = read+len(value), texts+len(it.texts)
				return read < bytesTogether && texts < textsTogether, errors.Join(err, ctx.Err())
			})
	})
	return list, err
}

// embed has the texts of items made into vectors.
func (s *Chores) embed(ctx context.Context, list []*unseenItem) error {
	var texts []string
	for _, it := range list {
		texts = append(texts, it.texts...)
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := s.index.Embed.Documents(ctx, texts)
	if err != nil {
		return err
	}
	if len(vectors) != len(texts) {
		return fmt.Errorf("store: %d vectors for %d texts", len(vectors), len(texts))
	}
	for _, it := range list {
		for _, v := range vectors[:len(it.texts)] {
			it.vectors = vectorindex.AppendBytes(it.vectors, v)
		}
		vectors = vectors[len(it.texts):]
	}
	return nil
}

// keep writes vectors, of those items that were not written meanwhile, as long as they are what the index is of and
// this process makes them.
func (s *Chores) keep(ctx context.Context, list []*unseenItem) error {
	return s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		var version int64
		err := t.Get(`UPDATE item_index SET version = version + 1 WHERE id = 1 AND owner = $1 AND mark = $2 AND clearing = 0 RETURNING version`,
			in{s.db.Owner(), s.index.Mark}, out{&version})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		for i := 0; err == nil && i < len(list); i++ {
			err = list[i].keep(t, version)
		}
		return err
	})
}

func (it *unseenItem) keep(t *sqldb.Tx, version int64) error {
	n, err := t.Exec(`UPDATE items SET vectors_us = updated_us WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND updated_us = $4 AND vectors_us <> updated_us`,
		it.args(it.updated)...)
	if err != nil || n == 0 {
		return err
	}
	return t.Put(`INSERT INTO item_vectors (tenant, namespace, item_key, version, vectors) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (tenant, namespace, item_key) DO UPDATE SET version = excluded.version, vectors = excluded.vectors`, it.args(version, it.sealed(t, append([]byte{}, it.vectors...), itemVectors))...)
}

// removeVectors goes with the removal of an item.
func (n itemName) removeVectors(t *sqldb.Tx) error {
	return t.Put(`DELETE FROM item_vectors WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, n.args()...)
}

// Unseen returns the channel that rings when this process has written items whose vectors are to be made.
func (s *Chores) Unseen() <-chan struct{} { return s.bell }
