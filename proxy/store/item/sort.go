package item

import (
	"context"
	"math/bits"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
)

// matching returns the matching items, without their values (see Search).
func (s *Table) matching(ctx context.Context, q Query) ([]*itemRow, error) {
	if q.Query != "" {
		return s.searchQuery(ctx, q)
	}
	return s.sorted(ctx, q)
}

// sorted returns items in the order of SortBy. It keeps only as many names as the page may need.
func (s *Table) sorted(ctx context.Context, q Query) ([]*itemRow, error) {
	var found []*candidate
	first := func(list []*candidate) []*candidate {
		slices.SortFunc(list, q.compare())
		return list[:min(len(list), q.Offset+q.Limit)]
	}
	sieve := sieve{tenant: mapping.PrincipalOf(ctx).Tenant, keep: q.Keep}
	err := s.eachBelow(ctx, q, q.sortedStatement, func() { found = nil }, func(scan func(...any) error) (bool, error) {
		c, ok, err := sieve.candidate(scan)
		if ok {
			found = append(found, c)
		}
		switch {
		case q.Limit == 0:
		case q.SortBy == "": // the rows are in this order
			return len(found) < q.Offset+q.Limit, err
		case len(found) > 2*(q.Offset+q.Limit):
			found = first(found)
		}
		return true, err
	})
	slices.SortFunc(found, q.compare())
	return pageOf(found, q), err
}

// sortedStatement selects the items that satisfy a condition. Without a filter it reads no more than the page may need.
// That number is rounded up, since connections keep each different statement prepared.
func (q Query) sortedStatement(where string) string {
	value, order := `NULL`, ` ORDER BY i.namespace, i.item_key`
	if q.Keep != nil {
		value = `i.value`
	}
	if column := sortColumns[q.SortBy]; column != "" {
		order = ` ORDER BY ` + column + map[bool]string{false: ` DESC`, true: ``}[q.Asc] + `, i.namespace, i.item_key`
	}
	switch {
	case q.Keep == nil && q.Limit > 0:
		order += ` LIMIT ` + strconv.Itoa(1<<bits.Len(uint(q.Offset+q.Limit-1)))
	case q.SortBy != "":
		order = ``
	}
	return `SELECT ` + sortedColumns + `, ` + value + ` FROM items i WHERE ` + where + order
}

var sortColumns = map[mapping.SortKey]string{mapping.SortByKey: `i.item_key`, mapping.SortByCreated: `i.created_us`, mapping.SortByUpdated: `i.updated_us`}
