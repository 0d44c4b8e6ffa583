package item

import (
	"context"
	"errors"
	"strconv"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// walkedOfToken bounds the items with a token that are read to ask the filter of them, those first of whose text it is
// most. Of fewer all are read; of more these, or where it looks as if too few pass, the filter is asked of all items
// below the prefix, in whose order they are read quickest.
const walkedOfToken = 4 * candidatesMost

// walk adds items that have a token and pass the filter, until there is no room for more. x.unsure says that what it
// has read does not tell.
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

// gatherPassed adds items that have a token, of those that the filter lets pass.
func (x *textSearch) gatherPassed(ctx context.Context, t *sqldb.Tx, token string, known map[string]bool) error {
	list, err := x.rows(ctx, t, token, ``, known)
	if err != nil {
		return err
	}
	fresh, err := x.read(ctx, t, x.largest(list))
	x.found = append(x.found, fresh...)
	return err
}

// rows are the items with a token that are not known, and may pass: their names and shares.
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

// read reads what is not known of items by their names, in their order. One that is gone, or does not pass the filter,
// is left out.
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
