package item

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Embeds reports whether items become vectors, by which searches find them.
func (s *Table) Embeds() bool { return s.vectors != nil }

// searchQuery finds the items that mean something like the query or have its words, the best
// of both first. Where no vector of the query is had, it finds them by their words, and says so.
func (s *Table) searchQuery(ctx context.Context, q Query) ([]*itemRow, error) {
	if strings.TrimSpace(q.Query) == "" {
		return s.searchText(ctx, q)
	}
	x := meaningSearch{Table: s, q: q}
	ready, err := x.begin(ctx)
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

// begin has the query made into a vector, and the vectors of items read. ready is false where
// there are none to search in.
func (x *meaningSearch) begin(ctx context.Context) (ready bool, err error) {
	cache := x.Table.vectors
	if cache == nil {
		return false, nil
	}
	if x.wanted.query, err = cache.index.Embed.Query(ctx, rule.VectorTextCut(x.q.Query)); err != nil || len(x.wanted.query) != cache.index.Dims {
		return false, ctx.Err() // why is for the log of the one that makes them
	}
	tenant := mapping.PrincipalOf(ctx).Tenant
	x.vectors = cache.of(tenant)
	return cache.refresh(ctx, tenant, x.vectors)
}

// find looks at the best of both lists until the page is full: what was found near may be
// gone by now, or be found by a value that it has no more.
func (x *meaningSearch) find(ctx context.Context) (found []*candidate, err error) {
	if err := x.prepare(ctx); err != nil {
		return nil, err
	}
	need := x.q.Offset + x.q.Limit
	if x.q.Limit == 0 {
		need = math.MaxInt / 2
	}
	for x.wanted.most = x.listed(need); ; x.wanted.most *= 2 {
		hits, err := x.near(ctx)
		if err != nil {
			return nil, err
		}
		if found, err = x.present(ctx, x.fuse(hits), need); err != nil || len(found) >= need || len(hits) < x.wanted.most {
			slices.SortFunc(found, x.q.compare())
			return found, err
		}
	}
}

// listed is how long the list of what is near has to be for a page of need items. With a filter
// each item of it may have to be read.
func (x *meaningSearch) listed(need int) int {
	if x.q.Keep != nil && x.alone() {
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
	x.wanted.prefixes = reachOf(ctx).paths(x.q.Prefix)
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
	hits, kept := x.kept(&x.wanted)
	if !kept {
		hits, err = x.scan(ctx)
	}
	return hits, err
}

// kept are the nearest of the vectors in memory, the best first; ok is false where the tenant's are not there.
func (x *meaningSearch) kept(w *wanted) (hits nearest, ok bool) {
	x.vectors.mu.RLock()
	defer x.vectors.mu.RUnlock()
	if x.vectors.large || x.vectors.generation < 0 { // another search could not read them
		return nil, false
	}
	hits = w.lookAll(x.vectors.pieces)
	slices.SortFunc(hits, compareHits)
	return hits, true
}

// scan is near where the vectors are not kept: it reads those below the prefix.
func (x *meaningSearch) scan(ctx context.Context) (hits nearest, err error) {
	where, args := reachOf(ctx).within("v", x.q.Prefix)
	err = x.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		hits = nil
		var kept sqldb.Buffer
		var numbers []float32
		var id []byte
		return t.Each(`SELECT v.namespace, v.item_key, v.vectors FROM item_vectors v WHERE `+where, args, func(scan func(...any) error) error {
			var h hit
			if err := scan(&h.namespace, &h.key, &kept); err != nil {
				return err
			}
			var ok bool
			if id, ok = x.wanted.has(h.namespace, h.key, id); ok && len(kept) > 0 {
				numbers = vectorindex.AppendVector(numbers[:0], kept)
				h.score = x.wanted.score(numbers)
				hits.offer(h, x.wanted.most)
			}
			return ctx.Err()
		})
	})
	slices.SortFunc(hits, compareHits)
	return hits, err
}

// fuse makes one list of both, the best first. Of what has no words of the query nothing but
// its name is known.
func (x *meaningSearch) fuse(hits nearest) (all []*candidate) {
	known := map[string]bool{}
	var near, text []string
	for _, c := range x.text {
		known[c.id()], text, all = true, append(text, c.id()), append(all, c)
	}
	for _, h := range hits {
		c := &candidate{itemName: itemName{namespace: h.namespace, key: h.key}}
		near = append(near, c.id())
		if !known[c.id()] {
			all = append(all, c)
		}
	}
	scores := vectorindex.Fuse(near, text)
	for _, c := range all {
		c.score = scores[c.id()]
	}
	slices.SortFunc(all, Query{}.compare())
	return all
}

// present are the candidates that are there, with the value that they were found by: all, or
// where they are in the order of their scores the first n.
func (x *meaningSearch) present(ctx context.Context, all []*candidate, n int) (found []*candidate, err error) {
	tenant := mapping.PrincipalOf(ctx).Tenant
	first := x.q.bestFirst()
	err = x.db.Read(ctx, func(t *sqldb.Tx) error {
		found = nil
		for left := all; len(left) > 0 && !(first && len(found) >= n); {
			some := left[:min(namesTogether(t), len(left))]
			left = left[len(some):]
			if err := readPresent(t, some, tenant); err != nil {
				return err
			}
			found = append(found, slices.DeleteFunc(slices.Clone(some), func(c *candidate) bool { return !c.present })...)
		}
		return ctx.Err()
	})
	return found, err
}

// readPresent reads what is not known of candidates, those that were not found by their words.
func readPresent(t *sqldb.Tx, some []*candidate, tenant string) error {
	unknown := map[string]*candidate{}
	var names []itemName
	for _, c := range some {
		if c.present = c.bag != nil; !c.present {
			c.tenant = tenant
			unknown[c.id()], names = c, append(names, c.itemName)
		}
	}
	for _, p := range namedParts(t, names) {
		err := t.Each(`SELECT i.namespace, i.item_key, i.ttl_us, i.created_us, i.updated_us FROM items i WHERE `+p.where+` AND i.vectors_us = i.updated_us`,
			append(p.args, t.Now), func(scan func(...any) error) error {
				var r candidate
				err := scan(&r.namespace, &r.key, &r.ttl, &r.created, &r.updated)
				if c := unknown[r.id()]; c != nil {
					c.ttl, c.created, c.updated, c.present = r.ttl, r.created, r.updated, true
				}
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}
