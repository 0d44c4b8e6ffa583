package item

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// How many of the nearest items are read by their names to ask the filter of them, at a time and at most: so many, or
// beside words, where as many are wanted, so many times as many. To read one so takes as long as to read many in the
// order of the table.
const (
	walkedTogether = 64
	walkedMost     = 1000
	walkedTimes    = 4
)

// alone reports whether the list of what is near is the whole answer, the best first, so that nothing after the page
// counts. Beside a list of what has the words, its ranks count.
func (x *meaningSearch) alone() bool { return len(x.text) == 0 && x.q.bestFirst() }

// walk goes down the nearest items until the filter has let as many pass as the page needs. done is false where all
// items are to be asked: there are few, few of the nearest pass, or their vectors are not kept.
func (x *meaningSearch) walk(ctx context.Context) (passed nearest, done bool, err error) {
	all := x.wanted
	if all.most > max(walkedMost, candidatesMost) {
		return nil, false, nil
	}
	if all.most = walkedMost; !x.alone() {
		all.most = walkedTimes * x.wanted.most
	}
	list, kept, err := x.kept(ctx, &all)
	if err != nil || !kept || len(list) < all.most {
		return nil, false, err
	}
	err = x.db.Read(ctx, func(t *sqldb.Tx) error {
		passed, done, err = x.walkDown(ctx, t, list)
		return err
	})
	return passed, done, err
}

// walkDown gives up where, as it looks by now, the list has not enough that pass.
func (x *meaningSearch) walkDown(ctx context.Context, t *sqldb.Tx, list nearest) (passed nearest, done bool, err error) {
	for n := 0; n < len(list) && len(passed)*len(list) >= x.wanted.most*n; {
		some := list[n:min(n+walkedTogether, len(list))]
		n += len(some)
		keeps, err := x.keeps(ctx, t, some)
		if err != nil {
			return nil, false, err
		}
		for _, h := range some {
			if keeps[h.id] {
				passed = append(passed, h)
			}
		}
		if len(passed) >= x.wanted.most {
			return passed[:x.wanted.most], true, nil
		}
	}
	return nil, false, nil
}

// keeps tells which of some items are there and pass the filter.
func (x *meaningSearch) keeps(ctx context.Context, t *sqldb.Tx, some nearest) (map[string]bool, error) {
	names := make([]itemName, len(some))
	for i, h := range some {
		names[i] = h.name(mapping.PrincipalOf(ctx).Tenant)
	}
	f := passer{keep: x.q.Keep, tenant: mapping.PrincipalOf(ctx).Tenant, passed: map[string]bool{}}
	for _, p := range namedParts(t, names) {
		if err := t.Each(passerColumns+p.where, append(p.args, t.Horizon), f.row); err != nil {
			return nil, err
		}
	}
	return f.passed, ctx.Err()
}
