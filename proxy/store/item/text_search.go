package item

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// candidatesMost bounds the items that a search by text scores.
const candidatesMost = 1000

// textSearch is a search by text. What is below the prefix and passes the filter is looked at alone.
type textSearch struct {
	Query
	reach  reach
	tokens []string // of the query, the rarest first
	corpus textindex.Corpus
	found  []*candidate
}

// searchText finds the items that have a token of the query; their values are still to be
// read.
func (s *Table) searchText(ctx context.Context, q Query) ([]*itemRow, error) {
	found, err := s.foundByText(ctx, q)
	slices.SortFunc(found, q.compare())
	return pageOf(found, q), err
}

// foundByText are the items that have a token of the query, the best first.
func (s *Table) foundByText(ctx context.Context, q Query) (found []*candidate, err error) {
	x := &textSearch{Query: q, reach: reachOf(ctx)}
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		x.tokens, x.found = textindex.Query(q.Query), nil
		if err := x.count(t); err != nil {
			return err
		}
		for i := 0; i < len(x.tokens) && len(x.found) < candidatesMost; i++ {
			if err := x.gather(ctx, t, x.tokens[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.rank()
	return x.found, nil
}

// count asks how many items have each token, and leaves out those that none has.
func (x *textSearch) count(t *sqldb.Tx) (err error) {
	x.corpus.Found = make(map[string]int, len(x.tokens))
	for _, token := range x.tokens {
		if x.corpus.Found[token], err = x.having(t, token); err != nil {
			return err
		}
	}
	x.tokens = slices.DeleteFunc(x.tokens, func(token string) bool { return x.corpus.Found[token] == 0 })
	slices.SortStableFunc(x.tokens, func(a, b string) int { return x.corpus.Found[a] - x.corpus.Found[b] })
	if len(x.tokens) > 0 { // to count all takes as long as all else
		x.corpus.Texts, err = x.having(t, anyToken)
	}
	return err
}

func (x *textSearch) having(t *sqldb.Tx, token string) (n int, err error) {
	where, args := x.reach.within("k", x.Prefix)
	err = t.Get(`SELECT COUNT(*) FROM item_tokens k WHERE `+where+` AND k.token = $`+strconv.Itoa(len(args)+1), append(args, token), out{&n})
	return n, err
}

// gather adds items that have a token, up to candidatesMost in all: those of whose text it
// is most.
func (x *textSearch) gather(ctx context.Context, t *sqldb.Tx, token string) error {
	known := make(map[string]bool, len(x.found))
	for _, c := range x.found {
		known[c.id()] = true
	}
	var fresh []*candidate
	sieve := sieve{tenant: x.reach.Tenant, keep: x.Keep}
	text, args := x.statement(t, token)
	err := t.Each(text, args, func(scan func(...any) error) error {
		c, ok, err := sieve.candidate(scan)
		if ok && !known[c.id()] {
			fresh = append(fresh, c)
		}
		if len(fresh) == 2*candidatesMost {
			fresh = x.largest(fresh)
		}
		return errors.Join(err, ctx.Err())
	})
	x.found = append(x.found, x.largest(fresh)...)
	return err
}

// statement reads the items that have a token. Without a filter it is the database that takes
// those of whose text it is most, a good many, as some may be known or have expired. Of equal
// ones those with the first names are taken, so that each database takes the same.
func (x *textSearch) statement(t *sqldb.Tx, token string) (text string, args in) {
	where, args := x.reach.within("k", x.Prefix)
	where += ` AND k.token = $` + strconv.Itoa(len(args)+1)
	from, value, isLive := `item_tokens k`, `i.value`, ` AND `+live(len(args)+2)
	if x.Keep == nil {
		from = `(SELECT k.tenant, k.namespace, k.item_key, k.share FROM item_tokens k WHERE ` + where + ` ORDER BY k.share DESC, k.namespace, k.item_key LIMIT ` + strconv.Itoa(2*candidatesMost) + `) k`
		where, value = `k.tenant = $1`, `NULL`
	}
	return `SELECT k.namespace, k.item_key, k.share, ` + candidateColumns + `, ` + value + ` FROM ` + from + `
 JOIN items i ON i.tenant = k.tenant AND i.namespace = k.namespace AND i.item_key = k.item_key WHERE ` + where + isLive, append(args, token, t.Now)
}

// largest are as many candidates as there is still room for.
func (x *textSearch) largest(list []*candidate) []*candidate {
	slices.SortFunc(list, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.id(), b.id())) })
	return list[:min(len(list), candidatesMost-len(x.found))]
}

// rank scores what was found, and leaves out what only seemed to have a token.
func (x *textSearch) rank() {
	bags := make([]textindex.Bag, len(x.found))
	for i, c := range x.found {
		bags[i] = c.bag
	}
	for i, score := range x.corpus.Rank(x.tokens, bags) {
		x.found[i].score = score
	}
	x.found = slices.DeleteFunc(x.found, func(c *candidate) bool { return c.score == 0 })
	slices.SortFunc(x.found, Query{}.compare())
}
