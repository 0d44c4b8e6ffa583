package store

import (
	"context"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Sealing re-encrypts bodies with the key of this process. Not scoped by tenant.
type Sealing struct{ base *base }

// Unsealed describes whether bodies of a database are in another form than this process writes.
type Unsealed struct {
	Some   bool // there may be such bodies
	Others bool // another bridge writes with another key or knows none, and would keep creating such bodies
}

// Unsealed reports whether Reseal has work to do. If so, it registers this process's key again, because another process
// that started to forget that key before this process had a lease might have removed it.
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

// Reseal rewrites all bodies in the form that this process writes. See sqldb.DB.Reseal.
func (s *Sealing) Reseal(ctx context.Context, told func(n int64)) (n int64, err error) {
	return s.base.DB.Reseal(ctx, told)
}

// Resealed records that Reseal has found nothing left to do, and returns the ids of the keys that the database no
// longer needs. It returns ErrOthers if Unsealed reports Others.
func (s *Sealing) Resealed(ctx context.Context) (forgotten []string, err error) {
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		forgotten, err = s.base.DB.ForgetKeys(t)
		return err
	})
	return forgotten, err
}

// ErrOthers means that another bridge of the database writes bodies in another form.
var ErrOthers = sqldb.ErrOthers

// WritesAs returns the id of the key that this process seals with, or "plain" if it does not seal.
func (s *Sealing) WritesAs() string { return s.base.DB.WritesAs() }
