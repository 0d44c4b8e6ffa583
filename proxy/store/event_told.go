package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// RecalledItems lists the items that were passed to the agent of a run, according to its first link event.
type RecalledItems struct {
	RunID string
	Items []mapping.ItemName
}

// Recalled returns the items for the newest runs of a thread, newest first. It considers at most limit runs and omits those
// without items.
func (s *Events) Recalled(ctx context.Context, threadID string, limit int) (list []RecalledItems, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		list = nil
		thread, err := tables.ThreadKey(t, tables.ScopeOf(ctx), threadID)
		if err != nil {
			return err
		}
		return t.Each(`SELECT x.run_id, e.seq, e.head FROM (SELECT r.run_id, r.id, (SELECT min(e.seq) FROM events e WHERE e.thread = r.thread AND e.run = r.id AND e.seq >= r.from_seq
 AND (r.last_seq = 0 OR e.seq <= r.last_seq) AND e.kind = $2) AS seq
 FROM runs r WHERE r.thread = $1 ORDER BY r.id DESC LIMIT CAST($3 AS BIGINT)) x JOIN events e ON e.thread = $1 AND e.seq = x.seq
 WHERE e.head IS NOT NULL ORDER BY x.id DESC`,
			sqldb.In{thread, string(mapping.KindLinked), sqldb.LimitOf(limit)}, func(scan func(...any) error) error {
				var told RecalledItems
				var seq int64
				var head []byte
				if err := scan(&told.RunID, &seq, sqldb.Unsealed(&head, colEventHead, thread, &seq)); err != nil {
					return err
				}
				var h mapping.Head
				if err := decode(head, &h); err != nil || len(h.Recalled) == 0 {
					return err
				}
				told.Items = h.Recalled
				list = append(list, told)
				return nil
			})
	})
	return list, err
}
