package owned

import (
	"context"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Owner is the principal whose data is meant.
type Owner struct{ Tenant, ID string }

func (o Owner) args() []any { return []any{o.Tenant, o.ID} }

// Holding is how much there is of one kind.
type Holding struct {
	Kind           string
	Count, Bytes   int64
	Oldest, Newest time.Time // zero where rows have no time
}

// Holdings counts all that is kept of an owner, kinds of which there is nothing left out. Each kind is counted as it is
// at one moment.
func Holdings(ctx context.Context, db *sqldb.DB, o Owner) (list []Holding, err error) {
	for i := range parts {
		if parts[i].kind == "" {
			continue
		}
		h, err := parts[i].count(ctx, db, o)
		if err != nil {
			return nil, err
		}
		if h.Count > 0 {
			list = append(list, h)
		}
	}
	return list, nil
}

func (p *part) count(ctx context.Context, db *sqldb.DB, o Owner) (h Holding, err error) {
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
