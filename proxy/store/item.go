package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// items are those of the long-term store. On SQLite their table is one tree in the order of
// tenant, namespace and key, so that a search reads a few pages and not one for each item.
type items struct {
	*base
	swept atomic.Int64 // when expired items were removed last
}

// PutItem is an item to be kept.
type PutItem struct {
	Item  mapping.Item
	Index json.RawMessage // which fields a search by text looks at: rule.ItemTexts
}

// ItemQuery selects items below a prefix.
type ItemQuery struct {
	Prefix        []string
	Keep          func(value json.RawMessage) bool // filter decided in Go, must neither use the store nor keep the value; nil: all
	Query         string                           // text search
	Limit, Offset int                              // Limit 0: all
	RefreshTTL    bool
}

// PutItem writes an item over an earlier one of its namespace and key, which
// keeps the time it was made. Item.Expires, if set, is what refreshing its time
// to live starts anew from now.
func (s *items) PutItem(ctx context.Context, p PutItem) error {
	who, it := mapping.PrincipalOf(ctx), p.Item
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := s.sweepItems(t); err != nil {
			return err
		}
		ttl := int64(0)
		if !it.Expires.IsZero() {
			ttl = max(micros(it.Expires)-t.Now, 0)
		}
		_, err := t.Exec(`INSERT INTO items (tenant, owner, namespace, item_key, value, fields, ttl_us, created_us, updated_us, expires_us)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)
 ON CONFLICT (tenant, namespace, item_key) DO UPDATE SET owner = excluded.owner, value = excluded.value, fields = excluded.fields,
 created_us = CASE WHEN items.expires_us > 0 AND items.expires_us <= excluded.updated_us THEN excluded.created_us ELSE items.created_us END,
 ttl_us = excluded.ttl_us, updated_us = excluded.updated_us, expires_us = excluded.expires_us`,
			who.Tenant, who.ID, pathOf(it.Namespace), it.Key, object(it.Value), sqldb.Blob(p.Index), ttl, t.Now, micros(it.Expires))
		return err
	})
}

// sweepEvery is how often writing an item removes what has expired, in microseconds.
const sweepEvery = int64(time.Second / time.Microsecond)

// sweepItems removes what has expired, which nobody is shown any more.
func (s *items) sweepItems(t *sqldb.Tx) error {
	if last := s.swept.Load(); t.Now >= last && t.Now < last+sweepEvery {
		return nil
	}
	t.After(func() { s.swept.Store(t.Now) })
	_, err := t.Exec(`DELETE FROM items WHERE expires_us > 0 AND expires_us <= $1`, t.Now)
	return err
}

const itemColumns = `i.value, i.fields, i.ttl_us, i.tenant, i.owner, i.namespace, i.item_key, i.created_us, i.updated_us, i.expires_us FROM items i`

// itemRow is an item with its time to live.
type itemRow struct {
	ttl    int64
	index  json.RawMessage
	unread bool // its value is still to be read
	gone   bool // it was removed meanwhile
	mapping.Item
}

func (r *itemRow) scan(scan func(...any) error) error {
	var path []byte
	var created, updated, expires int64
	err := scan(rawOf(&r.Value), rawOf(&r.index), &r.ttl, &r.Tenant, &r.Owner, &path, &r.Key, &created, &updated, &expires)
	r.Namespace = labelsOf(string(path))
	r.CreatedAt, r.UpdatedAt, r.Expires = timeOf(created), timeOf(updated), timeOf(expires)
	return err
}

// Item reads an item; NotFound when there is none or it has expired. refreshTTL
// starts its time to live anew.
func (s *items) Item(ctx context.Context, namespace []string, key string, refreshTTL bool) (it mapping.Item, err error) {
	var row itemRow
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		row = itemRow{}
		err := t.Each(`SELECT `+itemColumns+` WHERE i.tenant = $1 AND i.namespace = $2 AND i.item_key = $3 AND (i.expires_us = 0 OR i.expires_us > CAST($4 AS BIGINT))`,
			in{tenantOf(ctx), pathOf(namespace), key, t.Now}, row.scan)
		if err == nil && row.CreatedAt.IsZero() {
			err = missing(sql.ErrNoRows, mapping.CodeItemNotFound, "item", key)
		}
		return err
	})
	if err == nil && refreshTTL {
		err = s.refresh(ctx, []*itemRow{&row})
	}
	return row.Item, err
}

// refresh starts the time to live of items anew. One that was written with another
// time meanwhile keeps that.
func (s *items) refresh(ctx context.Context, rows []*itemRow) error {
	rows = slices.DeleteFunc(rows, func(r *itemRow) bool { return r.ttl == 0 })
	if len(rows) == 0 {
		return nil
	}
	return s.db.WriteRelaxed(ctx, func(t *sqldb.Tx) error {
		for _, r := range rows {
			if _, err := t.Exec(`UPDATE items SET expires_us = $5 WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND ttl_us = $4`,
				r.Tenant, pathOf(r.Namespace), r.Key, r.ttl, t.Now+r.ttl); err != nil {
				return err
			}
			r.Expires = timeOf(t.Now + r.ttl)
		}
		return nil
	})
}

// DeleteItem removes an item; one that is not there is no error.
func (s *items) DeleteItem(ctx context.Context, namespace []string, key string) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`DELETE FROM items WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, tenantOf(ctx), pathOf(namespace), key)
		return err
	})
}

// Namespaces lists the distinct namespaces that hold live items, sorted by label.
func (s *items) Namespaces(ctx context.Context, prefix []string) (found [][]string, err error) {
	where, args := below(tenantOf(ctx), prefix)
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Each(`SELECT DISTINCT i.namespace FROM items i WHERE `+where, append(args, t.Now), func(scan func(...any) error) error {
			var path []byte
			err := scan(&path)
			found = append(found, labelsOf(string(path)))
			return err
		})
	})
	slices.SortFunc(found, slices.Compare)
	return found, err
}

// below is the condition of live items under a prefix of labels; its last
// parameter, the present, is left to the caller.
func below(tenant string, prefix []string) (where string, args in) {
	if len(prefix) == 0 {
		return `i.tenant = $1 AND (i.expires_us = 0 OR i.expires_us > CAST($2 AS BIGINT))`, in{tenant}
	}
	path := string(pathOf(prefix))
	// "/" follows "." in ASCII: the range holds the path and all below it, and
	// what lies between them, such as "a!", which the second line leaves out.
	return `i.tenant = $1 AND i.namespace >= $2 AND i.namespace < $4
 AND (i.namespace = $2 OR i.namespace >= $3) AND (i.expires_us = 0 OR i.expires_us > CAST($5 AS BIGINT))`,
		in{tenant, []byte(path), []byte(path + "."), []byte(path + "/")}
}

var (
	escapeLabel   = strings.NewReplacer("%", "%25", ".", "%2E")
	unescapeLabel = strings.NewReplacer("%2E", ".", "%25", "%")
)

// pathOf writes labels as one path: joined by dots, with dots in them escaped.
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
