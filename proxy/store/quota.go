package store

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Usage returns the current count of a quota for the principal's key or tenant.
func (s *Store) Usage(ctx context.Context, limit, of string, who mapping.Principal) (n int64, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		n, err = tables.Usage(t, limit, of, who.Tenant, who.ID, 1<<62)
		return err
	})
	return n, err
}

// RecountQuotas forces a recount at the next addition to each quota, because nothing was counted while there was no quota.
// Not scoped by tenant.
func (s *Store) RecountQuotas(ctx context.Context) error {
	return s.base.DB.Write(ctx, func(t *sqldb.Tx) error { return t.Put(`DELETE FROM quota_counts`) })
}
