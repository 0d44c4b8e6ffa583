package item

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// candidatesMost limits the items that a search by text scores.
const candidatesMost = 1000

// textSearch is a search by text among the items below the prefix that pass the filter.
type textSearch struct {
	Query
	reach  reach
	beside bool     // its scores are combined with those of a search by meaning
	tokens []string // of the query, rarest first
	corpus textindex.Corpus
	found  []*candidate
	passed map[string]bool // items that pass the filter, by itemName.id; nil if the filter was not applied to all items
	unsure bool            // the filter must be applied to all items
}

// searchText returns the items that have a token of the query, without their values.
func (s *Table) searchText(ctx context.Context, q Query) ([]*itemRow, error) {
	x := &textSearch{Query: q, reach: reachOf(ctx)}
	err := x.find(ctx, s)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(x.found, q.compare())
	return pageOf(x.found, q), nil
}

// find finds the items that have a token of the query, best first.
func (x *textSearch) find(ctx context.Context, s *Table) error {
	err := s.db.Read(ctx, func(t *sqldb.Tx) error {
		x.tokens = textindex.Query(x.Query.Query)
		if err := x.count(t); err != nil {
			return err
		}
		return x.gatherAll(ctx, t)
	})
	if err == nil && x.unsure {
		if x.passed, err = s.passing(ctx, x.Query); err == nil {
			err = s.db.Read(ctx, func(t *sqldb.Tx) error { return x.gatherAll(ctx, t) })
		}
	}
	if err == nil {
		x.rank()
	}
	return err
}

// gatherAll collects candidates, those of the rarest token first.
func (x *textSearch) gatherAll(ctx context.Context, t *sqldb.Tx) error {
	x.found, x.unsure = nil, false
	for i := 0; i < len(x.tokens) && len(x.found) < candidatesMost && !x.unsure; i++ {
		if err := x.gather(ctx, t, x.tokens[i]); err != nil {
			return err
		}
	}
	return nil
}

// count counts the items of each token and drops tokens that no item has. A full count takes as long as the rest of the
// search. A single token needs no weight, so count stops as soon as more items have it than would be read.
func (x *textSearch) count(t *sqldb.Tx) (err error) {
	x.corpus.Found = make(map[string]int, len(x.tokens))
	if len(x.tokens) == 1 && !x.beside {
		x.corpus.Found[x.tokens[0]], err = x.having(t, x.tokens[0], ` LIMIT `+strconv.Itoa(walkedOfToken+1))
		return err
	}
	for i := 0; i < len(x.tokens) && err == nil; i++ {
		x.corpus.Found[x.tokens[i]], err = x.having(t, x.tokens[i], ``)
	}
	x.tokens = slices.DeleteFunc(x.tokens, func(token string) bool { return x.corpus.Found[token] == 0 })
	slices.SortStableFunc(x.tokens, func(a, b string) int { return x.corpus.Found[a] - x.corpus.Found[b] })
	if err == nil && (len(x.tokens) > 1 || x.beside && len(x.tokens) == 1) {
		x.corpus.Texts, err = x.having(t, anyToken, ``)
	}
	return err
}

// having returns the number of items that have a token, up to a limit.
func (x *textSearch) having(t *sqldb.Tx, token, limit string) (n int, err error) {
	where, args := x.reach.within("k", x.Prefix)
	text := `SELECT COUNT(*) FROM item_tokens k WHERE ` + where + ` AND k.token = $` + strconv.Itoa(len(args)+1)
	if limit != "" {
		text = `SELECT COUNT(*) FROM (` + strings.Replace(text, `COUNT(*)`, `1`, 1) + limit + `) x`
	}
	err = t.Get(text, append(args, sought(t, token)), sqldb.Out{&n})
	return n, err
}

// gather adds items that have a token, up to candidatesMost in all. It prefers those in which the token has the largest
// share.
func (x *textSearch) gather(ctx context.Context, t *sqldb.Tx, token string) error {
	known := make(map[string]bool, len(x.found))
	for _, c := range x.found {
		known[c.id()] = true
	}
	switch {
	case x.Keep == nil || x.passed == nil && x.corpus.Found[token] <= walkedOfToken:
		return x.gatherRows(ctx, t, token, known)
	case x.passed == nil:
		return x.walk(ctx, t, token, known)
	}
	return x.gatherPassed(ctx, t, token, known)
}

// gatherRows reads the items that have rows of the token. If many of the first ones have expired, it reads all.
func (x *textSearch) gatherRows(ctx context.Context, t *sqldb.Tx, token string, known map[string]bool) error {
	fresh, err := x.rowsOf(ctx, t, token, known, x.Keep == nil)
	if err == nil && x.Keep == nil && len(x.found)+len(fresh) < candidatesMost && x.corpus.Found[token] > 2*candidatesMost {
		fresh, err = x.rowsOf(ctx, t, token, known, false)
	}
	x.found = append(x.found, fresh...)
	return err
}

// rowsOf returns as many items with a token as there is room for, from the first rows of the token or from all of them.
func (x *textSearch) rowsOf(ctx context.Context, t *sqldb.Tx, token string, known map[string]bool, first bool) (fresh []*candidate, err error) {
	sieve := sieve{tenant: x.reach.Tenant, keep: x.Keep}
	text, args := x.statement(t, token, first)
	err = t.Each(text, args, func(scan func(...any) error) error {
		c, ok, err := sieve.candidate(scan)
		if ok && !known[c.id()] {
			fresh = append(fresh, c)
		}
		if len(fresh) == 2*candidatesMost {
			fresh = x.largest(fresh)
		}
		return errors.Join(err, ctx.Err())
	})
	return x.largest(fresh), err
}

// statement selects the items that have a token: all, or the first ones by share. In the latter case it reads more than
// needed, since some may be known already or expired. Ties are broken by name, so that both databases select the same
// items.
func (x *textSearch) statement(t *sqldb.Tx, token string, first bool) (text string, args sqldb.In) {
	where, args := x.reach.within("k", x.Prefix)
	where += ` AND k.token = $` + strconv.Itoa(len(args)+1)
	from, value, isLive := `item_tokens k`, `i.value`, ` AND `+live(len(args)+2)
	if x.Keep == nil {
		value = `NULL`
	}
	if first {
		from = `(SELECT k.tenant, k.namespace, k.item_key, k.share FROM item_tokens k WHERE ` + where + ` ORDER BY k.share DESC, k.namespace, k.item_key LIMIT ` + strconv.Itoa(2*candidatesMost) + `) k`
		where = `k.tenant = $1`
	}
	return `SELECT k.namespace, k.item_key, k.share, ` + candidateColumns + `, ` + value + ` FROM ` + from + `
 JOIN items i ON i.tenant = k.tenant AND i.namespace = k.namespace AND i.item_key = k.item_key WHERE ` + where + isLive, append(args, sought(t, token), t.Horizon)
}

// largest returns as many candidates as there is room for, by share.
func (x *textSearch) largest(list []*candidate) []*candidate {
	slices.SortFunc(list, func(a, b *candidate) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.id(), b.id())) })
	return list[:min(len(list), candidatesMost-len(x.found))]
}

// rank scores the candidates and drops those without a token of the query.
func (x *textSearch) rank() {
	bags := make([]textindex.Bag, len(x.found))
	for i, c := range x.found {
		bags[i] = c.bag
	}
	rank := x.corpus.Rank
	if x.beside {
		rank = x.corpus.RankForBlend
	}
	for i, score := range rank(x.tokens, bags) {
		x.found[i].score = score
	}
	x.found = slices.DeleteFunc(x.found, func(c *candidate) bool { return c.score == 0 })
	slices.SortFunc(x.found, Query{}.compare())
}
