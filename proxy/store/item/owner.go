package item

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// removedAtOnce bounds the items of one transaction that removes many.
const removedAtOnce = 200

// RemoveOwned removes some of the items that an owner of the principal's tenant wrote last, and returns how many: none
// when there are none left. Namespaces are not looked at.
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
		slices.SortFunc(names, itemName.compare) // in one order, so that no two operations wait for each other
		for i := 0; i < len(names) && err == nil; i++ {
			err = names[i].remove(t)
		}
		removed = len(names)
		return err
	})
	return removed, err
}
