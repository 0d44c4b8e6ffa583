package item

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Table holds the items. On SQLite their table is one tree ordered by tenant, namespace and key, so a search reads a
// few pages instead of one for each item.
type Table struct {
	db      *sqldb.DB
	quotas  *tables.Quotas
	vectors *vectorCache  // nil if items do not become vectors
	unseen  chan struct{} // receives when there are items that need vectors
	ttl     TTL
}

// TTL configures how long items are kept by default.
type TTL struct {
	Default       time.Duration // for items put without a time to live; 0 means forever
	RefreshOnRead bool          // see Table.Refreshes
}

// Refreshes reports whether a read restarts the time to live of items. That is *said if said is set, and otherwise the
// configured default.
func (s *Table) Refreshes(said *bool) bool {
	if said == nil {
		return s.ttl.RefreshOnRead
	}
	return *said
}

// New returns the items of a database, for callers and for background work. ix configures vectors; if it is nil, items
// do not become vectors.
func New(db *sqldb.DB, ix *Index, ttl TTL, quotas *tables.Quotas) (*Table, *Maintenance) {
	unseen := make(chan struct{}, 1)
	table := &Table{db: db, quotas: quotas, unseen: unseen, ttl: ttl}
	if ix != nil {
		table.vectors = newVectorCache(db, ix)
	}
	return table, &Maintenance{db: db, index: ix, wakeup: unseen}
}

// Put is an item to write: its namespace, key and value.
type Put struct {
	Item  mapping.Item
	TTL   time.Duration   // time to live from the write, by the clock of the database; 0 means TTL.Default
	Index json.RawMessage // which fields searches use: itemquery.ItemTexts, itemquery.VectorTexts
}

// Query selects items below a prefix.
type Query struct {
	Prefix        []string
	Keep          func(value json.RawMessage) bool // the filter; it must neither use the store nor keep the value; nil keeps all
	Members       [][]itemquery.MemberRange        // ranges of an index that contain all items Keep may keep: itemquery.Filter.Members; nil: no index
	Query         string                           // searched by meaning (Options.Index) and by words (mapping/textindex)
	SearchBy      mapping.SearchBy                 // with a query
	SortBy        mapping.SortKey                  // "" means best first or, without a query, by namespace and key (Asc is ignored)
	Asc           bool                             // with SortBy; by default the last or best come first
	Limit, Offset int                              // Limit 0 means all
	RefreshTTL    bool
	Lost          func(mapping.Loss) // called before the first item if a query cannot be answered fully by meaning; may be nil
}

// Put writes an item. If it replaces one with the same namespace and key, it keeps the creation time.
func (s *Table) Put(ctx context.Context, p Put) error { return s.PutAll(ctx, p) }

// PutAll writes several items, or none of them if it fails. An item without a value is deleted.
func (s *Table) PutAll(ctx context.Context, list ...Put) error {
	writes := make([]func(*sqldb.Tx) error, len(list))
	for i, p := range list {
		if err := reachOf(ctx).checkWrite(p.Item.Namespace); err != nil {
			return err
		}
		if writes[i] = s.putItem(mapping.PrincipalOf(ctx), p); p.Item.Value == nil {
			writes[i] = itemName{mapping.PrincipalOf(ctx).Tenant, pathOf(p.Item.Namespace), p.Item.Key}.remove
		}
	}
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		t.After(s.ringUnseen)
		for _, write := range writes {
			if err := write(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// putItem computes the tokens and members of an item and returns the function that writes it.
func (s *Table) putItem(who mapping.Principal, p Put) func(t *sqldb.Tx) error {
	it := p.Item
	at := itemName{who.Tenant, pathOf(it.Namespace), it.Key}
	fresh := newSearchTerms(it.Value, p.Index, s.db.Sealing())
	return func(t *sqldb.Tx) error {
		ttl, expires := cmp.Or(p.TTL, s.ttl.Default).Microseconds(), int64(0)
		if ttl > 0 {
			expires = t.Now + ttl
		}
		// A new row is inserted with its tokens and members, because the row may be long. An existing row keeps its old
		// ones, which are then replaced together with their own rows.
		var old searchTerms
		var created int64
		err := t.Get(`INSERT INTO items (tenant, owner, namespace, item_key, value, fields, ttl_us, created_us, updated_us, expires_us, tokens, members_us, members)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $8, $11)
 ON CONFLICT (tenant, namespace, item_key) DO UPDATE SET owner = excluded.owner, value = excluded.value, fields = excluded.fields,
 created_us = CASE WHEN items.expires_us > 0 AND items.expires_us <= $12 THEN excluded.created_us ELSE items.created_us END,
 ttl_us = excluded.ttl_us, updated_us = excluded.updated_us, expires_us = excluded.expires_us, members_us = excluded.members_us, vectors_us = 0
 RETURNING tokens, members, created_us`, sqldb.In{at.tenant, who.ID, at.namespace, at.key, at.sealed(t, it.Value, itemValue), sqldb.Blob(p.Index), ttl, t.Now, expires, at.sealed(t, fresh.tokens, itemTokens), sqldb.Blob(fresh.members), t.Horizon},
			append(old.columns(&at), &created))
		if err == nil {
			err = s.count(t, it, who, created == t.Now)
		}
		switch {
		case err != nil:
			return err
		case old.equal(fresh) && created == t.Now: // it may be new
			return at.add(t, fresh)
		}
		return at.replaceTerms(t, old, fresh)
	}
}

// count adds the written item to the quotas, with all of its bytes. The bytes of a replaced value are subtracted when
// the quota is recounted.
func (s *Table) count(t *sqldb.Tx, it mapping.Item, who mapping.Principal, fresh bool) error {
	return errors.Join(s.quotas.Added(t, tables.QuotaItems, who.Tenant, who.ID, sqldb.Number(fresh)), s.quotas.Added(t, tables.QuotaDisk, who.Tenant, who.ID, int64(len(it.Value))))
}

const itemColumns = `i.value, i.ttl_us, i.tenant, i.owner, i.namespace, i.item_key, i.created_us, i.updated_us, i.expires_us FROM items i`

// itemRow is an item with its time to live.
type itemRow struct {
	ttl    int64
	unread bool // its value is not read yet
	size   int  // of the value when it was found
	gone   bool // it has been removed
	mapping.Item
}

func (r *itemRow) scan(scan func(...any) error) error {
	var path []byte
	var created, updated, expires int64
	err := scan(sqldb.Unsealed((*[]byte)(&r.Value), itemValue, &r.Tenant, &path, &r.Key), &r.ttl, &r.Tenant, &r.Owner, &path, &r.Key, &created, &updated, &expires)
	r.Namespace = labelsOf(string(path))
	r.CreatedAt, r.UpdatedAt, r.Expires = sqldb.TimeOf(created), sqldb.TimeOf(updated), sqldb.TimeOf(expires)
	return err
}

// Get returns an item. refreshTTL restarts its time to live. It returns a Forbidden error if the namespace is out of
// reach, and NotFound if the item does not exist or has expired.
func (s *Table) Get(ctx context.Context, namespace []string, key string, refreshTTL bool) (it mapping.Item, err error) {
	if err := reachOf(ctx).check(namespace); err != nil {
		return it, err
	}
	var row itemRow
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		row = itemRow{}
		err := t.Each(`SELECT `+itemColumns+` WHERE i.tenant = $1 AND i.namespace = $2 AND i.item_key = $3 AND `+live(4),
			sqldb.In{mapping.PrincipalOf(ctx).Tenant, pathOf(namespace), key, t.Horizon}, row.scan)
		if err == nil && row.CreatedAt.IsZero() {
			err = mapping.Errorf(mapping.NotFound, mapping.CodeItemNotFound, "There is no item %q.", key)
		}
		return err
	})
	if err == nil && refreshTTL {
		err = s.refresh(ctx, []*itemRow{&row})
	}
	return row.Item, err
}

// ringUnseen notifies this process only; other processes look for such items themselves.
func (s *Table) ringUnseen() {
	select {
	case s.unseen <- struct{}{}:
	default:
	}
}

// refresh restarts the time to live of items. An item written in the meantime with another time to live keeps it. If
// the database is full, the read still succeeds.
func (s *Table) refresh(ctx context.Context, rows []*itemRow) error {
	rows = slices.DeleteFunc(rows, func(r *itemRow) bool { return r.ttl == 0 })
	if len(rows) == 0 {
		return nil
	}
	err := s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		for _, r := range rows {
			if _, err := t.Exec(`UPDATE items SET expires_us = $5 WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND ttl_us = $4`,
				r.Tenant, pathOf(r.Namespace), r.Key, r.ttl, t.Now+r.ttl); err != nil {
				return err
			}
			r.Expires = sqldb.TimeOf(t.Now + r.ttl)
		}
		return nil
	})
	if mapping.Classify(err).Class == mapping.StorageFull {
		return nil
	}
	return err
}

// Delete removes an item. It is not an error if there is none.
func (s *Table) Delete(ctx context.Context, namespace []string, key string) error {
	if err := reachOf(ctx).checkWrite(namespace); err != nil {
		return err
	}
	return s.db.Write(ctx, itemName{mapping.PrincipalOf(ctx).Tenant, pathOf(namespace), key}.remove)
}

func (n itemName) remove(t *sqldb.Tx) error {
	var old searchTerms
	err := t.Get(`DELETE FROM items WHERE tenant = $1 AND namespace = $2 AND item_key = $3 RETURNING tokens, members`, n.args(), old.columns(&n))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return errors.Join(err, n.removeTerms(t, old), n.removeVectors(t))
}

// Namespaces lists the distinct namespaces that hold live items, sorted by label.
func (s *Table) Namespaces(ctx context.Context, prefix []string) (found [][]string, err error) {
	statement := func(where string) string { return `SELECT DISTINCT i.namespace FROM items i WHERE ` + where }
	err = s.eachBelow(ctx, Query{Prefix: prefix}, statement, func() { found = nil }, func(scan func(...any) error) (bool, error) {
		var path []byte
		err := scan(&path)
		found = append(found, labelsOf(string(path)))
		return true, err
	})
	slices.SortFunc(found, slices.Compare)
	return found, err
}

// live returns the condition for items that have not expired. The parameter $at is clock.Reading.Horizon. An item
// written after a jump of the clock may be visible until Sweep removes it.
func live(at int) string {
	return `(i.expires_us = 0 OR i.expires_us > CAST($` + strconv.Itoa(at) + ` AS BIGINT))`
}

var (
	escapeLabel   = strings.NewReplacer("%", "%25", ".", "%2E")
	unescapeLabel = strings.NewReplacer("%2E", ".", "%25", "%")
)

// pathOf encodes labels as one path, joined by dots. Dots in labels are escaped.
func pathOf(labels []string) []byte {
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = escapeLabel.Replace(l)
	}
	return []byte(strings.Join(parts, "."))
}

func labelsOf(path string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(path, ".")
	for i, p := range parts {
		parts[i] = unescapeLabel.Replace(p)
	}
	return parts
}
