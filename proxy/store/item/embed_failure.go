package item

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// An item is set aside for asideFirst after the first refusal of its current value. Each further refusal doubles that,
// up to asideMost.
const (
	asideFirst = time.Minute
	asideMost  = 6 * time.Hour
)

// SetAside is an item with a text that the embeddings endpoint refused while it accepted others. Searches find it by
// its words and by the vectors of its other texts.
type SetAside struct {
	Tenant    string
	Namespace []string
	Key       string
	Tries     int // of its current value
	For       time.Duration
	Err       error // reason, which does not contain the text
}

func (it *unseenItem) setAside(t *sqldb.Tx) (a SetAside, err error) {
	var tries int
	err = t.Get(`SELECT tries FROM item_failures WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND updated_us = $4`, it.args(it.updated), sqldb.Out{&tries})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return a, err
	}
	a = SetAside{it.tenant, labelsOf(string(it.namespace)), it.key, tries + 1, min(asideFirst<<min(tries, 20), asideMost), it.refused}
	return a, t.Put(`INSERT INTO item_failures (tenant, namespace, item_key, updated_us, tries, due_us) VALUES ($1, $2, $3, $4, $5, $6)
 ON CONFLICT (tenant, namespace, item_key) DO UPDATE SET updated_us = excluded.updated_us, tries = excluded.tries, due_us = excluded.due_us`,
		it.args(it.updated, a.Tries, t.Now+a.For.Microseconds())...)
}

func (n itemName) removeFailure(t *sqldb.Tx) error {
	return t.Put(`DELETE FROM item_failures WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, n.args()...)
}

// dueAgain reads the item that was set aside and has been due the longest. Items written since then are handled by
// unseen.
func (s *Maintenance) dueAgain(ctx context.Context) (list []*unseenItem, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		list = nil
		return t.Each(`SELECT `+unseenColumns+` FROM item_failures f JOIN items i ON i.tenant = f.tenant AND i.namespace = f.namespace AND i.item_key = f.item_key
 WHERE f.due_us <= $1 AND i.vectors_us = i.updated_us ORDER BY f.due_us LIMIT 1`, sqldb.In{t.Now}, func(scan func(...any) error) error {
			it, _, err := s.readUnseen(scan)
			list = append(list, it)
			return err
		})
	})
	return list, err
}

// lateAfter is the age at which an item without vectors counts as late.
const lateAfter = time.Minute

// incomplete reports whether a search by meaning may miss items: an item below the prefix was set aside, or vectors of
// the tenant are late, as after a change of the model.
func (s *Table) incomplete(ctx context.Context, q Query) (yes bool, err error) {
	if s.vectors == nil || q.Lost == nil {
		return false, nil
	}
	where, args := reachOf(ctx).within("f", q.Prefix)
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		err := t.Get(`SELECT EXISTS (SELECT 1 FROM item_failures f WHERE `+where+`)`, args, sqldb.Out{&yes})
		if err != nil || yes {
			return err
		}
		return t.Get(lateOf, sqldb.In{mapping.PrincipalOf(ctx).Tenant, t.Now - lateAfter.Microseconds()}, sqldb.Out{&yes})
	})
	return yes, err
}

const lateOf = `SELECT EXISTS (SELECT 1 FROM items WHERE tenant = $1 AND vectors_us <> updated_us AND updated_us <= $2)`

// WithoutVectors counts items that searches by meaning do not find, or only in part.
type WithoutVectors struct {
	Waiting  int // vectors not created yet
	SetAside int // see SetAside
}

// WithoutVectors counts items of all tenants. It returns zeros if items do not become vectors.
func (s *Maintenance) WithoutVectors(ctx context.Context) (n WithoutVectors, err error) {
	if s.index == nil {
		return n, nil
	}
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT (SELECT count(*) FROM items WHERE vectors_us <> updated_us), (SELECT count(*) FROM item_failures)`, nil, sqldb.Out{&n.Waiting, &n.SetAside})
	})
	return n, err
}
