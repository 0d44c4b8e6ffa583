package item

import (
	"cmp"
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// candidate is a possible result of a search, without its value.
type candidate struct {
	itemName
	read                  bool  // read from the table; otherwise only its name is set
	share                 int64 // share of the item's text taken by the token by which it was found
	ttl, created, updated int64
	current               bool // its vectors belong to its current value
	size                  int  // of its value, in bytes
	bag                   textindex.Bag
	words                 float64 // its score by words, in a search by meaning
	near                  bool    // it was compared by its vectors
	score                 float64
}

// candidateColumns are the columns that sieve.candidate reads between the share and the value.
const (
	candidateFacts   = `i.ttl_us, i.created_us, i.updated_us, i.vectors_us = i.updated_us, LENGTH(i.value)`
	candidateColumns = candidateFacts + `, i.tokens`
	sortedColumns    = `i.namespace, i.item_key, 0, ` + candidateFacts + `, NULL` // for candidates whose words do not count
)

// sieve reads candidates and keeps those that pass the filter.
type sieve struct {
	tenant string
	keep   func(value json.RawMessage) bool // nil keeps all
	value  sqldb.Buffer                     // of the current row
}

func (s *sieve) candidate(scan func(...any) error) (c *candidate, ok bool, err error) {
	c = &candidate{itemName: itemName{tenant: s.tenant}, read: true}
	var value any // nil: not read
	if s.keep != nil {
		value = c.unsealed(&s.value, itemValue)
	}
	err = scan(&c.namespace, &c.key, &c.share, &c.ttl, &c.created, &c.updated, &c.current, &c.size, c.unsealed((*[]byte)(&c.bag), itemTokens), value)
	return c, err == nil && (s.keep == nil || s.keep(json.RawMessage(s.value))), err
}

// row converts the candidate to a result whose value is still to be read.
func (c *candidate) row(scored bool) *itemRow {
	row := &itemRow{ttl: c.ttl, unread: true, size: c.size, Item: mapping.Item{Tenant: c.tenant, Namespace: labelsOf(string(c.namespace)), Key: c.key}}
	if scored {
		row.Score = &c.score
	}
	return row
}

// compare returns the order of the results: that of SortBy, or the best first. Items that compare equal, and items
// without a score, are ordered by namespace and key.
func (q Query) compare() func(a, b *candidate) int {
	by := map[mapping.SortKey]func(a, b *candidate) int{
		mapping.SortByKey:     func(a, b *candidate) int { return cmp.Compare(a.key, b.key) },
		mapping.SortByCreated: func(a, b *candidate) int { return cmp.Compare(a.created, b.created) },
		mapping.SortByUpdated: func(a, b *candidate) int { return cmp.Compare(a.updated, b.updated) },
	}[q.SortBy]
	if by == nil {
		by = func(a, b *candidate) int { return cmp.Compare(a.score, b.score) }
	}
	return func(a, b *candidate) int {
		sign := by(a, b)
		if !q.Asc {
			sign = -sign
		}
		return cmp.Or(sign, cmp.Compare(a.id(), b.id()))
	}
}

// bestFirst reports whether a query wants its results ordered by score.
func (q Query) bestFirst() bool { return (q.SortBy == "" || q.SortBy == mapping.SortByScore) && !q.Asc }

// pageOf returns the requested page of all candidates found.
func pageOf(found []*candidate, q Query) (rows []*itemRow) {
	found = found[min(q.Offset, len(found)):]
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	for _, c := range found {
		rows = append(rows, c.row(q.Query != ""))
	}
	return rows
}
