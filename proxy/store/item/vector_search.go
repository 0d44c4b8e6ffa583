package item

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embeds reports whether items become vectors for searches.
func (s *Table) Embeds() bool { return s.vectors != nil }

// searchQuery returns the items that match the meaning of the query or its words, best first. Without a vector for the
// query it finds items by words only and reports the loss.
func (s *Table) searchQuery(ctx context.Context, q Query) ([]*itemRow, error) {
	if q.SearchBy == mapping.SearchByWords || strings.TrimSpace(q.Query) == "" {
		return s.searchText(ctx, q)
	}
	x := meaningSearch{Table: s, q: q}
	ready, err := x.loadVectors(ctx)
	switch {
	case err != nil:
		return nil, err
	case !ready:
		q.lost(mapping.Loss{Field: "query", Fate: mapping.Approximated})
		return s.searchText(ctx, q)
	}
	incomplete, err := s.incomplete(ctx, q)
	if err != nil {
		return nil, err
	}
	if incomplete {
		q.lost(mapping.Loss{Field: "query", Fate: mapping.Approximated})
	}
	found, err := x.find(ctx)
	slices.SortFunc(found, q.compare())
	return pageOf(found, q), err
}

func (q Query) lost(l mapping.Loss) {
	if q.Lost != nil {
		q.Lost(l)
	}
}

// meaningSearch is a search by meaning and, unless the query wants only meaning, by words.
type meaningSearch struct {
	*Table
	q       Query
	wanted  wanted
	vectors *tenantVectors
	text    []*candidate // items that have words of the query
}

// loadVectors computes the vector of the query and loads those of the items. ready is false if there are none to
// search.
func (x *meaningSearch) loadVectors(ctx context.Context) (ready bool, err error) {
	cache := x.Table.vectors
	if cache == nil {
		return false, nil
	}
	if x.wanted.query, err = cache.index.Embed.Query(ctx, itemquery.VectorTextCut(x.q.Query)); err != nil || len(x.wanted.query) != cache.index.Dims {
		return false, ctx.Err() // the embedder logs the reason
	}
	tenant := mapping.PrincipalOf(ctx).Tenant
	x.vectors = cache.find(tenant)
	return cache.refresh(ctx, tenant, x.vectors)
}

// Limits of the best items that a search reads. Reading one item by name takes as long as reading many in table order.
const (
	spare          = 64   // more than a page needs, as some may be gone
	walkedFew      = 16   // minimum number of items filtered at a time
	walkedTogether = 64   // maximum number of items filtered at a time, and in total before the search gives up
	walkedMost     = 1000 // limit of filtered items, unless a page needs more than a quarter of it
	walkedTimes    = 4
)

// find returns the best items, as many as the query needs.
func (x *meaningSearch) find(ctx context.Context) ([]*candidate, error) {
	need := x.need()
	if err := x.prepare(ctx, need); err != nil {
		return nil, err
	}
	most := need + spare
	if x.asks() {
		most = max(walkedMost, walkedTimes*need)
	}
	for {
		list, whole, err := x.ranked(ctx, most)
		if err != nil {
			return nil, err
		}
		found, ended, err := x.present(ctx, list, need)
		switch {
		case err != nil:
			return nil, err
		case len(found) == need, whole && ended:
			return found, nil
		case !x.asks():
			most *= 2
			continue
		}
		if x.wanted.passed, err = x.passing(ctx, x.q); err != nil {
			return nil, err
		}
		most = need + spare
	}
}

// need returns the number of best items that the query needs. A query with another order selects the same items for all
// its pages.
func (x *meaningSearch) need() int {
	switch {
	case x.q.Limit == 0:
		return math.MaxInt / 4
	case x.q.bestFirst():
		return x.q.Offset + x.q.Limit
	}
	return candidatesMost
}

// asks reports whether the filter must still be applied to the best items.
func (x *meaningSearch) asks() bool { return x.q.Keep != nil && x.wanted.passed == nil }

// prepare finds the items that have words of the query and, if few items pass the filter, those that pass.
func (x *meaningSearch) prepare(ctx context.Context, need int) error {
	x.wanted.prefixes = reachOf(ctx).paths(x.q.Prefix)
	if x.q.SearchBy != mapping.SearchByMeaning {
		text := textSearch{Query: x.q, reach: reachOf(ctx), beside: true}
		if err := text.find(ctx, x.Table); err != nil {
			return err
		}
		x.text, x.wanted.passed = text.found, text.passed
		x.wanted.text = make(map[string]*candidate, len(x.text))
		for _, c := range x.text {
			c.words = c.score
			x.wanted.text[c.id()] = c
		}
	}
	if !x.asks() {
		return nil
	}
	few, err := x.fewPass(ctx, need)
	if few && err == nil {
		x.wanted.passed, err = x.passing(ctx, x.q)
	}
	return err
}

// fewPass reports whether the filter should be applied first to all items that may pass it, rather than to the best
// ones. If n of all items pass, about need·all/n of the best ones must be read.
func (x *meaningSearch) fewPass(ctx context.Context, need int) (bool, error) {
	all, kept := x.vectors.count()
	if !kept || need > walkedMost {
		return true, nil
	}
	return x.indexed(ctx, x.q, int(math.Sqrt(float64(need)*float64(all))))
}

// ranked returns the best items by score, at most most of those with vectors. whole reports whether there are no
// others. Some may have been removed.
func (x *meaningSearch) ranked(ctx context.Context, most int) (list []*candidate, whole bool, err error) {
	x.wanted.most = most
	for _, c := range x.text {
		c.near = false
	}
	hits, kept := x.vectors.search(&x.wanted)
	if !kept {
		if hits, err = x.scan(ctx); err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(hits, compareHits)
	tenant := mapping.PrincipalOf(ctx).Tenant
	var last *candidate
	for _, h := range hits {
		last = x.wanted.text[h.id]
		if last == nil {
			last = &candidate{itemName: h.name(tenant)}
		}
		last.score = h.score
		list = append(list, last)
	}
	for _, c := range x.text {
		if !c.near {
			c.score = vectorindex.Fuse(0, c.words)
			list = append(list, c)
		}
	}
	slices.SortFunc(list, Query{}.compare())
	if whole = len(hits) < most; !whole { // nothing may rank ahead of the hits that were left out
		list = list[:slices.Index(list, last)+1]
	}
	return list, whole, nil
}

// scan is like tenantVectors.search, for vectors that are not cached: it reads those below the prefix.
func (x *meaningSearch) scan(ctx context.Context) (hits nearest, err error) {
	where, args := reachOf(ctx).within("v", x.q.Prefix)
	err = x.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		hits = nil
		var kept sqldb.Buffer
		var numbers []float32
		at := itemName{tenant: mapping.PrincipalOf(ctx).Tenant}
		return t.Each(`SELECT v.namespace, v.item_key, v.vectors FROM item_vectors v WHERE `+where, args, func(scan func(...any) error) error {
			if err := scan(&at.namespace, &at.key, at.unsealed(&kept, itemVectors)); err != nil {
				return err
			}
			if id := at.id(); len(kept) > 0 && x.wanted.has(id) {
				numbers = vectorindex.AppendVector(numbers[:0], kept)
				x.wanted.offer(&hits, id, numbers)
			}
			return ctx.Err()
		})
	})
	return hits, err
}

// present returns the first items of a list that exist and pass the filter, up to need. ended is false if it gave up
// because the list is unlikely to contain enough items that pass.
func (x *meaningSearch) present(ctx context.Context, list []*candidate, need int) (found []*candidate, ended bool, err error) {
	err = x.db.Read(ctx, func(t *sqldb.Tx) error {
		found, ended = nil, false
		for n := 0; n < len(list) && len(found) < need; {
			together := min(need-len(found), namesAtOnce)
			if x.asks() {
				if n >= walkedTogether && len(found)*len(list) < need*n {
					return nil
				}
				together = min(max(together, walkedFew), walkedTogether)
			}
			some := list[n:min(n+together, len(list))]
			n += len(some)
			there, err := x.read(ctx, t, some)
			if err != nil {
				return err
			}
			found = append(found, there...)
		}
		found, ended = found[:min(len(found), need)], true
		return nil
	})
	return found, ended, err
}

// read returns the items of a list that exist, still have the value that their vectors belong to, and pass the filter.
// Items that were found by words are returned as they are.
func (x *meaningSearch) read(ctx context.Context, t *sqldb.Tx, list []*candidate) (there []*candidate, err error) {
	filter, value := sieve{tenant: mapping.PrincipalOf(ctx).Tenant}, `NULL`
	if x.asks() {
		filter.keep, value = x.q.Keep, `i.value`
	}
	var names []itemName
	for _, c := range list {
		if !c.read {
			names = append(names, c.itemName)
		}
	}
	passed := make(map[string]*candidate, len(names))
	for _, p := range namedParts(t, names) {
		err := t.Each(`SELECT `+sortedColumns+`, `+value+` FROM items i WHERE `+p.where, append(p.args, t.Horizon), func(scan func(...any) error) error {
			c, ok, err := filter.candidate(scan)
			if ok && c.current {
				passed[c.id()] = c
			}
			return err
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	for _, c := range list {
		if c.read {
			there = append(there, c)
		} else if p := passed[c.id()]; p != nil {
			p.score = c.score
			there = append(there, p)
		}
	}
	return there, nil
}
