package item

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// passing returns the items below a query's prefix that pass its filter, by itemName.id.
func (s *Table) passing(ctx context.Context, q Query) (map[string]bool, error) {
	f := passer{keep: q.Keep, tenant: mapping.PrincipalOf(ctx).Tenant}
	statement := func(where string) string { return passerColumns + where }
	err := s.eachBelow(ctx, q, statement, func() { f.passed = map[string]bool{} }, func(scan func(...any) error) (bool, error) {
		return true, f.row(scan)
	})
	return f.passed, err
}

// passer applies a filter to rows.
type passer struct {
	keep   func(value json.RawMessage) bool
	passed map[string]bool // by itemName.id
	tenant string
	value  sqldb.Buffer // of the current row
}

const passerColumns = `SELECT i.namespace, i.item_key, i.value FROM items i WHERE `

func (f *passer) row(scan func(...any) error) error {
	c := candidate{itemName: itemName{tenant: f.tenant}}
	err := scan(&c.namespace, &c.key, c.unsealed(&f.value, itemValue))
	if err == nil && f.keep(json.RawMessage(f.value)) {
		f.passed[c.id()] = true
	}
	return err
}
