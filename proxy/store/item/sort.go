package item

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// sorted finds items in the order of SortBy. It keeps the names of those alone that the page may hold; their values are
// still to be read.
func (s *Table) sorted(ctx context.Context, q Query) ([]*itemRow, error) {
	var found []*candidate
	first := func(list []*candidate) []*candidate {
		slices.SortFunc(list, q.compare())
		return list[:min(len(list), q.Offset+q.Limit)]
	}
	value := `NULL`
	if q.Keep != nil {
		value = `i.value`
	}
	sieve := sieve{tenant: mapping.PrincipalOf(ctx).Tenant, keep: q.Keep}
	statement := func(where string) string {
		return `SELECT ` + sortedColumns + `, ` + value + ` FROM items i WHERE ` + where
	}
	err := s.eachBelow(ctx, q, statement, func() { found = nil }, func(scan func(...any) error) (bool, error) {
		c, ok, err := sieve.candidate(scan)
		if ok {
			found = append(found, c)
		}
		if q.Limit > 0 && len(found) > 2*(q.Offset+q.Limit) {
			found = first(found)
		}
		return true, err
	})
	slices.SortFunc(found, q.compare())
	return pageOf(found, q), err
}
