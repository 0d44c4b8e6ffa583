package item

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Rounded vectors tell no scores but bounds of them: an item may be as near as its bound, and is no nearer. So the
// items with the highest bounds are read with their vectors as they are, the highest first, until the next bound is
// below the score of the last item that is wanted. What is found is what a comparison of all finds. Where the list ends
// before that it is made longer; the end is the search of the database, which is as quick as reading an eighth of the
// items by their names.
const (
	wideFirst = 4 // lists are so many times as long as what is wanted
	wider     = 8 // the next one
	widestOf  = 8 // the longest has one of so many items
)

// looked is what is nearest by the vectors in memory.
type looked struct {
	hits    nearest // the best first; where they are rounded, with bounds of their scores
	rounded bool
	whole   bool // there are no others
	widest  bool // a longer list takes too long
}

// search finds what is nearest, wide times as many as wanted where the vectors are rounded. ok is false where they are
// not there.
func (v *tenantVectors) search(w *wanted, wide int) (list looked, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.large || v.generation < 0 { // another search could not read them
		return list, false
	}
	if list.rounded = v.rounded; v.rounded {
		bounded, most := *w, max(len(v.at)/widestOf, walkedMost)
		bounded.most = min(w.most, most) * wide
		if list.widest = bounded.most >= most; list.widest {
			bounded.most = most
		}
		w = &bounded
	}
	list.hits = w.lookAll(v.pieces)
	slices.SortFunc(list.hits, compareHits)
	list.whole = len(list.hits) < w.most
	return list, true
}

func (v *tenantVectors) areRounded() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.rounded
}

// exact are the nearest of a list of bounds, by their vectors as the database has them. certain reports whether nothing
// that the list has not got belongs to them.
func (x *meaningSearch) exact(ctx context.Context, w *wanted, list looked) (hits nearest, certain bool, err error) {
	err = x.db.Read(ctx, func(t *sqldb.Tx) error {
		hits, certain = nil, list.whole
		for left := list.hits; len(left) > 0; {
			some := left[:min(len(left), walkedTogether)]
			left = left[len(some):]
			if err := x.read(ctx, t, w, some, &hits); err != nil {
				return err
			}
			bound := some[len(some)-1].score // nothing after it is nearer
			if len(hits) == w.most && bound < hits[0].score {
				certain = true
				break
			}
		}
		return nil
	})
	slices.SortFunc(hits, compareHits)
	return hits, certain, err
}

// read scores some items by their vectors. One that is gone by now is left out.
func (x *meaningSearch) read(ctx context.Context, t *sqldb.Tx, w *wanted, some nearest, hits *nearest) error {
	var kept sqldb.Buffer
	var numbers []float32
	at := itemName{tenant: mapping.PrincipalOf(ctx).Tenant}
	for len(some) > 0 {
		names := make([]itemName, min(len(some), namesTogether(t)))
		for i := range names {
			names[i] = some[i].name(mapping.PrincipalOf(ctx).Tenant)
		}
		some = some[len(names):]
		where, args := namedIn("v", names)
		err := t.Each(`SELECT v.namespace, v.item_key, v.vectors FROM item_vectors v WHERE `+where, args, func(scan func(...any) error) error {
			err := scan(&at.namespace, &at.key, at.unsealed(&kept, itemVectors))
			if numbers = vectorindex.AppendVector(numbers[:0], kept); err == nil && len(numbers) >= len(w.query) {
				hits.offer(hit{at.id(), w.score(numbers)}, w.most)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
