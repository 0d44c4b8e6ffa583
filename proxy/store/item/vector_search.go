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

// Embeds reports whether items become vectors, by which searches find them.
func (s *Table) Embeds() bool { return s.vectors != nil }

// searchQuery finds the items that mean something like the query or have its words, the best of both first. Where no
// vector of the query is had, it finds them by their words, and says so.
func (s *Table) searchQuery(ctx context.Context, q Query) ([]*itemRow, error) {
	if strings.TrimSpace(q.Query) == "" {
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
	found, err := x.find(ctx)
	return pageOf(found, q), err
}

func (q Query) lost(l mapping.Loss) {
	if q.Lost != nil {
		q.Lost(l)
	}
}

// meaningSearch is a search for what a query means, together with one for its words.
type meaningSearch struct {
	*Table
	q       Query
	wanted  wanted
	vectors *tenantVectors
	text    []*candidate // what has the words, the best first
}

// loadVectors has the query made into a vector, and the vectors of items read. ready is false where there are none to
// search in.
func (x *meaningSearch) loadVectors(ctx context.Context) (ready bool, err error) {
	cache := x.Table.vectors
	if cache == nil {
		return false, nil
	}
	if x.wanted.query, err = cache.index.Embed.Query(ctx, itemquery.VectorTextCut(x.q.Query)); err != nil || len(x.wanted.query) != cache.index.Dims {
		return false, ctx.Err() // why is for the log of the one that makes them
	}
	tenant := mapping.PrincipalOf(ctx).Tenant
	x.vectors = cache.find(tenant)
	return cache.refresh(ctx, tenant, x.vectors)
}

// find makes one list of both.
func (x *meaningSearch) find(ctx context.Context) (found []*candidate, err error) {
	if err := x.prepare(ctx); err != nil {
		return nil, err
	}
	need := x.q.Offset + x.q.Limit
	if x.q.Limit == 0 {
		need = math.MaxInt / 2
	}
	near, err := x.nearest(ctx, need)
	if err != nil {
		return nil, err
	}
	found = x.fuse(near)
	slices.SortFunc(found, x.q.compare())
	return found, nil
}

// nearest are the items of the list of what is near for a page of need items, the best first. What was found near may
// be gone by now, or be found by a value that it has no more: it has no rank, wherever vectors are kept.
func (x *meaningSearch) nearest(ctx context.Context, need int) (found []*candidate, err error) {
	list := x.listed(need)
	enough := list
	if x.alone() {
		enough = need
	}
	for x.wanted.most = list; ; x.wanted.most *= 2 {
		hits, err := x.near(ctx)
		if err != nil {
			return nil, err
		}
		if found, err = x.present(ctx, hits, enough); err != nil || len(found) >= enough || len(hits) < x.wanted.most {
			return found, err
		}
	}
}

// listed is how long the list of what is near has to be for a page of need items. With a filter, or by rounded vectors,
// each item of it may have to be read.
func (x *meaningSearch) listed(need int) int {
	if x.alone() && (x.q.Keep != nil || x.vectors.areRounded()) {
		return need
	}
	return max(candidatesMost, need)
}

// prepare reads what has the words and, where an index says what the filter may pass, what it does.
func (x *meaningSearch) prepare(ctx context.Context) (err error) {
	text, err := x.foundByText(ctx, x.q)
	if err != nil {
		return err
	}
	x.text, x.wanted.passed = text.found, text.passed
	x.wanted.prefixes, x.wanted.bounds = reachOf(ctx).paths(x.q.Prefix), vectorindex.NewBounds(x.wanted.query)
	if indexed, err := x.indexed(ctx, x.q); err != nil || !indexed || x.wanted.passed != nil {
		return err
	}
	x.wanted.passed, err = x.passing(ctx, x.q)
	return err
}

// near are the items that are nearest to the query and pass the filter, the best first.
func (x *meaningSearch) near(ctx context.Context) (hits nearest, err error) {
	if x.q.Keep != nil && x.wanted.passed == nil {
		if hits, done, err := x.walk(ctx); err != nil || done {
			return hits, err
		}
		if x.wanted.passed, err = x.passing(ctx, x.q); err != nil {
			return nil, err
		}
	}
	hits, kept, err := x.kept(ctx, &x.wanted)
	if err == nil && !kept {
		hits, err = x.scan(ctx)
	}
	return hits, err
}

// kept are the nearest by the vectors in memory, the best first; ok is false where those are not there, or do not tell
// soon enough.
func (x *meaningSearch) kept(ctx context.Context, w *wanted) (hits nearest, ok bool, err error) {
	for wide := wideFirst; ; wide *= wider {
		list, ok := x.vectors.search(w, wide)
		if !ok || !list.rounded {
			return list.hits, ok, nil
		}
		hits, certain, err := x.exact(ctx, w, list)
		if err != nil || certain || list.widest {
			return hits, certain, err
		}
	}
}

// scan is near where the vectors are not kept: it reads those below the prefix.
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
				hits.offer(hit{id, x.wanted.score(numbers)}, x.wanted.most)
			}
			return ctx.Err()
		})
	})
	slices.SortFunc(hits, compareHits)
	return hits, err
}

// fuse makes one list of both. Of what has no words of the query nothing but its name and its times is known.
func (x *meaningSearch) fuse(hits []*candidate) (all []*candidate) {
	known := map[string]bool{}
	var near, text []string
	for _, c := range x.text {
		known[c.id()], text, all = true, append(text, c.id()), append(all, c)
	}
	for _, c := range hits {
		near = append(near, c.id())
		if !known[c.id()] {
			all = append(all, c)
		}
	}
	scores := vectorindex.Fuse(near, text)
	for _, c := range all {
		c.score = scores[c.id()]
	}
	return all
}

// present are the first n of what is near that are there, with the value that they were found by.
func (x *meaningSearch) present(ctx context.Context, hits nearest, n int) (found []*candidate, err error) {
	tenant := mapping.PrincipalOf(ctx).Tenant
	err = x.db.Read(ctx, func(t *sqldb.Tx) error {
		found = nil
		for left := hits; len(left) > 0 && len(found) < n; {
			some := left[:min(namesTogether(t), len(left))]
			left = left[len(some):]
			there, err := readPresent(t, some, tenant)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			found = append(found, there[:min(len(there), n-len(found))]...)
		}
		return nil
	})
	return found, err
}

// readPresent reads some items by their names, in their order. One that is not there is left out.
func readPresent(t *sqldb.Tx, some nearest, tenant string) (found []*candidate, err error) {
	names := make([]itemName, len(some))
	for i, h := range some {
		names[i] = h.name(tenant)
	}
	there := make(map[string]*candidate, len(some))
	for _, p := range namedParts(t, names) {
		err := t.Each(`SELECT i.namespace, i.item_key, i.ttl_us, i.created_us, i.updated_us FROM items i WHERE `+p.where+` AND i.vectors_us = i.updated_us`,
			append(p.args, t.Horizon), func(scan func(...any) error) error {
				c := &candidate{itemName: itemName{tenant: tenant}}
				err := scan(&c.namespace, &c.key, &c.ttl, &c.created, &c.updated)
				there[c.id()] = c
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	for _, h := range some {
		if c := there[h.id]; c != nil {
			found = append(found, c)
		}
	}
	return found, nil
}
