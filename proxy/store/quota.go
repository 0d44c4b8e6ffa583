package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Usage returns how much there is of what a quota counts, of the principal's key or of its tenant.
func (s *Store) Usage(ctx context.Context, limit, of string, who mapping.Principal) (n int64, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		n, err = tables.Usage(t, limit, of, who.Tenant, who.ID, 1<<62)
		return err
	})
	return n, err
}

// CountAnew makes the next addition count again everything that quotas count, since nothing was counted while there was
// no quota. It belongs to no tenant.
func (s *Store) CountAnew(ctx context.Context) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return t.Put(`DELETE FROM quota_counts`) })
}
