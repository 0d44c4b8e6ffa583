package quota

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Counts is what quotas count, asked apart from what adds to it.
type Counts struct{ db *sqldb.DB }

// CountsOf returns the counts of a database.
func CountsOf(db *sqldb.DB) *Counts { return &Counts{db} }

// Usage returns how much there is of what a quota counts, of the principal's key or of its tenant.
func (s *Counts) Usage(ctx context.Context, limit, of string, who mapping.Principal) (n int64, err error) {
	err = s.db.Read(ctx, func(t *sqldb.Tx) error {
		n, err = counted(t, limit, of, who.Tenant, who.ID, 1<<62)
		return err
	})
	return n, err
}

// CountAnew has what quotas count be counted anew when it is next added to: what was added while none held was not
// counted. It belongs to no tenant.
func (s *Counts) CountAnew(ctx context.Context) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error { return t.Put(`DELETE FROM quota_counts`) })
}
