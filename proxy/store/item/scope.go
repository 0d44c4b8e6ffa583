package item

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// reach is the part of the long-term store that a caller can see: the items of its tenant and, if it is limited to
// namespaces, only those in and below them.
type reach struct{ mapping.Principal }

func reachOf(ctx context.Context) reach { return reach{mapping.PrincipalOf(ctx)} }

// check returns an *Error of class Forbidden if a namespace is out of reach.
func (r reach) check(namespace []string) error {
	if r.MayReach(namespace) {
		return nil
	}
	e := mapping.Errorf(mapping.Forbidden, mapping.CodeNamespace, "namespace: %q may not use this namespace of the store. It may use: %s.", r.ID, r.words())
	e.Detail = map[string]any{"field": "namespace"}
	return e
}

// checkWrite is like check, for a change.
func (r reach) checkWrite(namespace []string) error {
	if r.ReadOnly {
		return mapping.Errorf(mapping.Forbidden, mapping.CodeNamespace, "%q may read the store but not write to it (memory.allow_writes of its agent).", r.ID)
	}
	return r.check(namespace)
}

// CheckReach returns an error, like the operations of a Table, if the caller may not read the namespace or, with write
// set, may not write to it.
func CheckReach(ctx context.Context, namespace []string, write bool) error {
	if write {
		return reachOf(ctx).checkWrite(namespace)
	}
	return reachOf(ctx).check(namespace)
}

func (r reach) words() string {
	list := make([]string, len(r.Namespaces))
	for i, ns := range r.Namespaces {
		list[i] = strings.Join(ns, "/")
	}
	return strings.Join(list, ", ")
}

// eachBelow visits the live items under a prefix that the caller can see, until row returns false. It reads the
// caller's namespaces one at a time, each in the order of the table. If the query has a filter, items that cannot pass
// it may be skipped.
func (s *Table) eachBelow(ctx context.Context, q Query, statement func(where string) string, begin func(), row func(scan func(...any) error) (more bool, err error)) error {
	whole, read := reachOf(ctx).below(q.Prefix), s.db.ReadOne
	if len(whole) > 1 || len(q.Members) > 0 {
		read = s.db.Read
	}
	return read(ctx, func(t *sqldb.Tx) error {
		begin()
		parts := whole
		if only, ok, err := q.listed(t, reachOf(ctx)); err != nil {
			return err
		} else if ok {
			parts = only
		}
		more := true
		for i := 0; more && i < len(parts); i++ {
			err := t.Until(statement(parts[i].where), append(parts[i].args, t.Horizon), func(scan func(...any) error) (bool, error) {
				var err error
				more, err = row(scan)
				return more, errors.Join(err, ctx.Err())
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// part is a condition for live items. The caller adds the last parameter, which is the current time.
type part struct {
	where string
	args  sqldb.In
}

// below returns the parts of the table that the caller can see under a prefix, in table order.
func (r reach) below(prefix []string) (parts []part) {
	for _, ns := range r.seen(prefix) {
		where, args := reach{mapping.Principal{Tenant: r.Tenant}}.within("i", ns)
		parts = append(parts, part{where + ` AND ` + live(len(args)+1), args})
	}
	return parts
}

// seen returns the namespaces whose items, and those below, the caller can see under a prefix, in table order.
func (r reach) seen(prefix []string) [][]string {
	list := r.Below(prefix)
	slices.SortFunc(list, func(a, b []string) int { return bytes.Compare(pathOf(a), pathOf(b)) })
	return list
}

// paths returns the namespaces of seen as paths. within is the corresponding condition.
func (r reach) paths(prefix []string) (list []string) {
	for _, ns := range r.Below(prefix) {
		list = append(list, string(pathOf(ns)))
	}
	return list
}

// within returns the condition for rows of a table that the caller can see under a prefix.
func (r reach) within(table string, prefix []string) (where string, args sqldb.In) {
	args = sqldb.In{r.Tenant}
	if len(prefix) == 0 && r.Namespaces == nil {
		return table + `.tenant = $1`, args
	}
	ranges := []string{}
	for _, ns := range r.Below(prefix) {
		var one string
		one, args = under(table, ns, args)
		ranges = append(ranges, one)
	}
	switch len(ranges) {
	case 0:
		return table + `.tenant = $1 AND 1 = 0`, args
	case 1:
		return table + `.tenant = $1 AND ` + ranges[0], args
	}
	return table + `.tenant = $1 AND (` + strings.Join(ranges, ` OR `) + `)`, args
}

// under returns the condition for rows whose namespace is a path or below it. Since "/" follows "." in ASCII, the range
// covers the path and everything below it. It also covers names in between, such as "a!", which the last line excludes.
func under(table string, ns []string, args sqldb.In) (string, sqldb.In) {
	path, n := string(pathOf(ns)), len(args)
	text := strings.NewReplacer("i.", table+".", "$a", "$"+strconv.Itoa(n+1), "$b", "$"+strconv.Itoa(n+2), "$c", "$"+strconv.Itoa(n+3)).
		Replace(`i.namespace >= $a AND i.namespace < $c
 AND (i.namespace = $a OR i.namespace >= $b)`)
	return text, append(args, []byte(path), []byte(path+"."), []byte(path+"/"))
}
