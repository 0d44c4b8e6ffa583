package item

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// matching finds the items. Of a row that is looked at only what decides is read, since a row costs by its columns, and
// the whole of one that is taken. Values are kept up to itemsAtOnce; what comes after that is to be read again (see
// Search).
func (s *Table) matching(ctx context.Context, q Query) (rows []*itemRow, err error) {
	if q.Query != "" {
		return s.searchQuery(ctx, q)
	}
	if q.SortBy != "" {
		return s.sorted(ctx, q)
	}
	choice := chooser{keep: q.Keep, keyed: s.db.Keyed()}
	kept, skip := 0, q.Offset
	statement := func(where string) string {
		return `SELECT ` + itemColumns + ` WHERE ` + where + ` ORDER BY i.namespace, i.item_key`
	}
	begin := func() { rows, kept, skip = nil, 0, q.Offset }
	err = s.eachBelow(ctx, q, statement, begin, func(scan func(...any) error) (bool, error) {
		ok, err := choice.passes(scan)
		switch {
		case ok && skip > 0:
			skip--
		case ok:
			row := new(itemRow)
			err = row.scan(scan)
			if kept += len(row.Value); kept > itemsAtOnce && len(rows) > 0 {
				row.Value, row.unread = nil, true
			}
			rows = append(rows, row)
		}
		return q.Limit == 0 || len(rows) < q.Limit, err
	})
	return rows, err
}

// chooser decides which items a query finds.
type chooser struct {
	keep  func(value json.RawMessage) bool
	keyed bool         // the value may be sealed
	value sqldb.Buffer // of the row that is being looked at
	at    itemName     // its name, where keyed
}

func (c *chooser) passes(scan func(...any) error) (ok bool, err error) {
	if c.keep == nil {
		return true, nil
	}
	if c.keyed {
		err = scan(c.at.unsealed(&c.value, itemValue), nil, &c.at.tenant, nil, &c.at.namespace, &c.at.key, nil, nil, nil)
	} else {
		err = scan(&c.value, nil, nil, nil, nil, nil, nil, nil, nil)
	}
	return err == nil && c.keep(json.RawMessage(c.value)), err
}
