package item

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// removedAtOnce limits the items removed in one transaction.
const removedAtOnce = 200

// RemoveOwned removes some of the items last written by an owner in the principal's tenant, and returns their number.
// It returns 0 when none are left. It ignores the principal's namespaces.
func (s *Table) RemoveOwned(ctx context.Context, owner string) (removed int, err error) {
	tenant := mapping.PrincipalOf(ctx).Tenant
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		var names []itemName
		err := t.Each(`SELECT namespace, item_key FROM items WHERE tenant = $1 AND owner = $2 LIMIT $3`, sqldb.In{tenant, owner, removedAtOnce},
			func(scan func(...any) error) error {
				n := itemName{tenant: tenant}
				err := scan(&n.namespace, &n.key)
				names = append(names, n)
				return err
			})
		slices.SortFunc(names, itemName.compare) // in a fixed order, to avoid deadlocks
		for i := 0; i < len(names) && err == nil; i++ {
			err = names[i].remove(t)
		}
		removed = len(names)
		return err
	})
	return removed, err
}
