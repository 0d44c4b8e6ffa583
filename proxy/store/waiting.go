package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
)

// Unstarted counts the runs of all tenants that wait to be claimed: pending
// ones, delayed ones included, and those whose process is gone.
func (s *Store) Unstarted(ctx context.Context) (n int, err error) {
	err = s.read1(ctx, func(t *tx) error {
		return t.get(`SELECT (SELECT count(*) FROM runs WHERE status = 'pending') +
 (SELECT count(*) FROM runs WHERE status = 'running' AND parked = 0 AND holder = '')`, nil, out{&n})
	})
	return n, err
}

// ParkedRuns lists the parked runs of all tenants.
func (s *Store) ParkedRuns(ctx context.Context) (list []mapping.Run, err error) {
	err = s.read1(ctx, func(t *tx) error {
		return t.each(`SELECT `+runColumns+` WHERE r.status = 'running' AND r.parked = 1 ORDER BY r.id`, nil, func(scan func(...any) error) error {
			var row runRow
			err := row.scan(scan)
			list = append(list, row.Run)
			return err
		})
	})
	return list, err
}
