package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// ExpiredThreads lists threads whose time is over and that no run is active on,
// the longest expired first. All tenants: who deletes them does so as a
// principal of their tenant. limit 0: all.
func (s *Store) ExpiredThreads(ctx context.Context, limit int) (list []mapping.Thread, err error) {
	err = s.read1(ctx, func(t *tx) error {
		return t.each(`SELECT `+threadColumns+` WHERE h.expires_us > 0 AND h.expires_us <= $1
 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.thread = h.id AND r.ended_us = 0) ORDER BY h.expires_us LIMIT $2`,
			in{t.now, limitOf(limit)}, func(scan func(...any) error) error {
				var row threadRow
				err := row.scan(scan)
				list = append(list, row.Thread)
				return err
			})
	})
	return list, err
}
