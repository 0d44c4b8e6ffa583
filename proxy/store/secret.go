package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Secrets holds the signing secrets shared by the bridges of one database.
type Secrets struct{ base *base }

// secretBytes is the size of a secret, which is the key size of HMAC-SHA256.
const secretBytes = 32

// Get returns the secret with a name and creates it at the first call. Not scoped by tenant.
func (s *Secrets) Get(ctx context.Context, name string) (value []byte, err error) {
	read := func(t *sqldb.Tx) error {
		return t.Get(`SELECT value FROM secrets WHERE name = $1`, sqldb.In{name}, sqldb.Out{sqldb.Unsealed(&value, colSecretValue, name)})
	}
	// The secret almost always exists, and a read must not need a writable disk.
	if err = s.base.DB.ReadOne(ctx, read); !errors.Is(err, sql.ErrNoRows) {
		return value, err
	}
	fresh := make([]byte, secretBytes)
	if _, err = rand.Read(fresh); err != nil {
		return nil, err
	}
	err = s.base.DB.Write(ctx, func(t *sqldb.Tx) error {
		if _, err := t.Exec(`INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, t.Sealed(fresh, colSecretValue, name)); err != nil {
			return err
		}
		return read(t)
	})
	return value, err
}
