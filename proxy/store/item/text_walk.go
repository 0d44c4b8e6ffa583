package item

import (
	"context"
	"errors"
	"strconv"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// walkedOfToken limits the items of a token to which the filter is applied, starting with the largest share. If fewer
// items have the token, all are read. If more do and too few of these pass, the filter is applied to all items below
// the prefix, in table order, which is the fastest way to read them.
const walkedOfToken = 4 * candidatesMost

// walk adds items that have a token and pass the filter, until there is no more room. It sets x.unsure if the rows it
// has read are not enough to decide.
func (x *textSearch) walk(ctx context.Context, t *sqldb.Tx, token string, known map[string]bool) error {
	list, err := x.rows(ctx, t, token, ` ORDER BY k.share DESC, k.namespace, k.item_key LIMIT `+strconv.Itoa(walkedOfToken), known)
	if err != nil {
		return err
	}
	var fresh []*candidate
	room := candidatesMost - len(x.found)
	for n := 0; len(fresh) < room; {
		if x.unsure = n == len(list) || len(fresh)*len(list) < room*n; x.unsure {
			return nil
		}
		some := list[n:min(n+walkedTogether, len(list))]
		n += len(some)
		passed, err := x.read(ctx, t, some)
		if err != nil {
			return err
		}
		fresh = append(fresh, passed...)
	}
	x.found = append(x.found, fresh[:room]...)
	return nil
}

// gatherPassed adds items that have a token and are in x.passed.
func (x *textSearch) gatherPassed(ctx context.Context, t *sqldb.Tx, token string, known map[string]bool) error {
	list, err := x.rows(ctx, t, token, ``, known)
	if err != nil {
		return err
	}
	fresh, err := x.read(ctx, t, x.largest(list))
	x.found = append(x.found, fresh...)
	return err
}

// rows returns the names and shares of items with a token that are not known and may pass.
func (x *textSearch) rows(ctx context.Context, t *sqldb.Tx, token, order string, known map[string]bool) (list []*candidate, err error) {
	where, args := x.reach.within("k", x.Prefix)
	text := `SELECT k.namespace, k.item_key, k.share FROM item_tokens k WHERE ` + where + ` AND k.token = $` + strconv.Itoa(len(args)+1) + order
	var row candidate
	err = t.Each(text, append(args, sought(t, token)), func(scan func(...any) error) error {
		err := scan(&row.namespace, &row.key, &row.share)
		if id := row.id(); !known[id] && (x.passed == nil || x.passed[id]) {
			c := &candidate{itemName: itemName{x.reach.Tenant, append([]byte(nil), row.namespace...), row.key}, share: row.share}
			list = append(list, c)
		}
		if x.passed != nil && len(list) == 2*candidatesMost {
			list = x.largest(list)
		}
		return errors.Join(err, ctx.Err())
	})
	return list, err
}

// read completes items by their names, in order. Items that are gone or do not pass the filter are left out.
func (x *textSearch) read(ctx context.Context, t *sqldb.Tx, list []*candidate) (passed []*candidate, err error) {
	names := make([]itemName, len(list))
	for i, c := range list {
		names[i] = c.itemName
	}
	there := make(map[string]*candidate, len(list))
	sieve := sieve{tenant: x.reach.Tenant, keep: x.Keep}
	for _, p := range namedParts(t, names) {
		err := t.Each(`SELECT i.namespace, i.item_key, 0, `+candidateColumns+`, i.value FROM items i WHERE `+p.where, append(p.args, t.Horizon), func(scan func(...any) error) error {
			c, ok, err := sieve.candidate(scan)
			if ok {
				there[c.id()] = c
			}
			return err
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	for _, c := range list {
		if found := there[c.id()]; found != nil {
			found.share = c.share
			passed = append(passed, found)
		}
	}
	return passed, nil
}
