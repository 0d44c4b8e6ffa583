package store

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Sealing brings bodies under the key that this process writes under. It belongs to no tenant.
type Sealing struct{ base *base }

// Unsealed is how far the bodies of a database are from being all as this process writes them.
type Unsealed struct {
	Some   bool // there may be others
	Others bool // another bridge writes under another key, or knows of none: it would go on making others
}

// Unsealed reports whether there is something for Reseal. If so it notes again under which key this process writes:
// another one, which has begun to forget that key before this process had its lease, might have it forgotten.
func (s *Sealing) Unsealed(ctx context.Context) (u Unsealed, err error) {
	err = s.base.DB.Read(ctx, func(t *sqldb.Tx) error {
		if u.Some, err = s.base.DB.Unfinished(t); err != nil || !u.Some {
			return err
		}
		u.Others, err = s.base.DB.Others(t)
		return err
	})
	if err == nil && u.Some {
		err = s.base.DB.Write(ctx, s.base.DB.Register)
	}
	return u, err
}

// Reseal writes all bodies as this process does: see sqldb.DB.Reseal.
func (s *Sealing) Reseal(ctx context.Context, told func(n int64)) (n int64, err error) {
	return s.base.DB.Reseal(ctx, told)
}

// Resealed notes that Reseal has found nothing, and returns the ids of the keys that the database needs no longer.
// ErrOthers: see Unsealed.
func (s *Sealing) Resealed(ctx context.Context) (forgotten []string, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		forgotten, err = s.base.DB.ForgetKeys(t)
		return err
	})
	return forgotten, err
}

// ErrOthers: another bridge of the database writes its bodies otherwise.
var ErrOthers = sqldb.ErrOthers

// WritesAs returns the id of the key that this process seals under, "plain" where it seals nothing.
func (s *Sealing) WritesAs() string { return s.base.DB.WritesAs() }
