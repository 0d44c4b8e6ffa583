package store

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ownerID identifies the principal that owns the data.
type ownerID struct{ Tenant, ID string }

func (o ownerID) args() []any { return []any{o.Tenant, o.ID} }

// Holding is the amount of data of one kind.
type Holding struct {
	Kind           string
	Count, Bytes   int64
	Oldest, Newest time.Time // zero if the rows have no time
}

// Holdings counts all data of an owner. It leaves out kinds without data. The count of each kind is consistent by
// itself.
func (s *Owners) Holdings(ctx context.Context, owner string) (list []Holding, err error) {
	for i := range ownedTables {
		if ownedTables[i].kind == "" {
			continue
		}
		h, err := ownedTables[i].count(ctx, s.base.DB, ownerOf(ctx, owner))
		if err != nil {
			return nil, err
		}
		if h.Count > 0 {
			list = append(list, h)
		}
	}
	return list, nil
}

func (p *ownedTable) count(ctx context.Context, db *sqldb.DB, o ownerID) (h Holding, err error) {
	oldest, newest := "0", "0"
	if p.oldest != "" {
		oldest, newest = `coalesce(min(r.`+p.oldest+`), 0)`, `coalesce(max(r.`+p.newest+`), 0)`
	}
	var first, last int64
	err = db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT count(*), CAST(coalesce(sum(`+p.bytes+`), 0) AS BIGINT), `+oldest+`, `+newest+` FROM `+p.table+` r WHERE `+p.where,
			o.args(), []any{&h.Count, &h.Bytes, &first, &last})
	})
	h.Kind, h.Oldest, h.Newest = p.kind, sqldb.TimeOf(first), sqldb.TimeOf(last)
	return h, err
}
