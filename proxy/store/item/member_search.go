package item

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// The maximum number of items matching a filter that are looked up by name. If more match, reading in order soon fills
// a page. A search that sorts all items does not have that shortcut, so its limit is higher.
const (
	listedMost      = 1000
	listedMostOfAll = 10_000
)

// Limits of a lookup. They keep the number of different statements small, because connections keep each one prepared.
const (
	listsMost   = 8 // lookups considered; the one with the fewest items is used
	pointsMost  = 64
	stretchMost = 4
)

// listed returns the items below a prefix that may pass the filter, found by the index of members, in the order of
// reach.below. ok is false if the index is incomplete or too many items match.
func (q Query) listed(t *sqldb.Tx, r reach) (parts []part, ok bool, err error) {
	most := listedMost
	if q.SortBy != "" || q.Query != "" {
		most = listedMostOfAll
	}
	best, err := q.lookup(t, r, most)
	if best == nil || err != nil {
		return nil, false, err
	}
	var only []itemName
	text, args := best.names(r, q.Prefix)
	err = t.Each(text, args, func(scan func(...any) error) error {
		at := itemName{tenant: r.Tenant}
		err := scan(&at.namespace, &at.key)
		only = append(only, at)
		return err
	})
	slices.SortFunc(only, itemName.compare)
	only = slices.CompactFunc(only, func(a, b itemName) bool { return a.compare(b) == 0 })
	for _, ns := range r.seen(q.Prefix) {
		parts = append(parts, namedParts(t, namesBelow(only, ns))...)
	}
	return parts, true, err
}

// namesBelow returns the names whose namespace is ns or below it.
func namesBelow(names []itemName, ns []string) (list []itemName) {
	path := pathOf(ns)
	for _, n := range names {
		if rest, ok := bytes.CutPrefix(n.namespace, path); ok && (len(path) == 0 || len(rest) == 0 || rest[0] == '.') {
			list = append(list, n)
		}
	}
	return list
}

// indexed reports whether at most most items may pass the filter, according to the index of members.
func (s *Table) indexed(ctx context.Context, q Query, most int) (ok bool, err error) {
	if len(q.Members) == 0 {
		return false, nil
	}
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		best, err := q.lookup(t, reachOf(ctx), most)
		ok = best != nil
		return err
	})
	return ok, err
}

// lookup returns the best lookup for listed. It returns nil if more than most items match or the index is incomplete.
func (q Query) lookup(t *sqldb.Tx, r reach, most int) (*lookup, error) {
	if len(q.Members) == 0 || t.Keyed() { // sealed items have none
		return nil, nil
	}
	behind := false
	if err := t.Get(`SELECT EXISTS (SELECT 1 FROM items WHERE members_us <> updated_us)`, nil, sqldb.Out{&behind}); err != nil || behind {
		return nil, err
	}
	return q.narrowest(t, r, most)
}

// narrowest returns the lookup with the fewest items, or nil if all have more than most.
func (q Query) narrowest(t *sqldb.Tx, r reach, most int) (best *lookup, err error) {
	for _, ranges := range q.Members[:min(len(q.Members), listsMost)] {
		if l := newLookup(ranges); l != nil {
			n, err := l.count(t, r, q.Prefix, most)
			if err != nil {
				return nil, err
			}
			if n <= most {
				best, most = l, n
			}
		}
	}
	return best, nil
}

// lookup is a search in the index of members, for single entries and ranges.
type lookup struct {
	points    [][]byte
	stretches []itemquery.MemberRange
}

// newLookup returns nil if the ranges need too many parameters.
func newLookup(ranges []itemquery.MemberRange) *lookup {
	l := &lookup{points: [][]byte{{}}} // the entry of items with too many members to index
	for _, r := range ranges {
		if bytes.Equal(r.From, r.To) {
			l.points = append(l.points, r.From)
		} else {
			l.stretches = append(l.stretches, r)
		}
	}
	if len(l.points) > pointsMost || len(l.stretches) > stretchMost {
		return nil
	}
	for n := len(l.points); n&(n-1) != 0; n++ { // keeps the number of different statements small
		l.points = append(l.points, l.points[0])
	}
	return l
}

// count returns the number of rows that names would read, at most most+1. For single entries, rows are ordered by
// namespace. For ranges, rows of other namespaces are read too and therefore counted.
func (l *lookup) count(t *sqldb.Tx, r reach, prefix []string, most int) (n int, err error) {
	if len(l.stretches) > 0 || len(r.Below(prefix)) > 1 {
		r.Namespaces, prefix = nil, nil
	}
	names, args := l.names(r, prefix)
	err = t.Get(`SELECT COUNT(*) FROM (`+names+` LIMIT CAST($`+strconv.Itoa(len(args)+1)+` AS BIGINT)) x`, append(args, most+1), sqldb.Out{&n})
	return n, err
}

// names selects namespaces and keys of items below a prefix, limited to what the caller may see.
func (l *lookup) names(r reach, prefix []string) (text string, args sqldb.In) {
	where, args := r.within("m", prefix)
	each := `SELECT m.namespace, m.item_key FROM item_members m WHERE ` + where + ` AND m.member `
	parameter := func(v []byte) string {
		args = append(args, v)
		return `$` + strconv.Itoa(len(args))
	}
	var points []string
	for _, p := range l.points {
		points = append(points, parameter(p))
	}
	parts := []string{each + `IN (` + strings.Join(points, `, `) + `)`}
	for _, s := range l.stretches {
		parts = append(parts, each+`BETWEEN `+parameter(s.From)+` AND `+parameter(s.To))
	}
	return strings.Join(parts, ` UNION ALL `), slices.Clip(args)
}
