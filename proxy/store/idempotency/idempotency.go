// Package idempotency remembers what requests with an Idempotency-Key have made. Package store and those of nouns below
// it ask in the operation that makes something, so that of two requests one makes it; the service and package stepping
// make the keys. It makes nothing itself.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/column"
	"github.com/apbridge/apbridge/proxy/store/scope"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Table is the requests with an Idempotency-Key.
type Table struct{ db *sqldb.DB }

// New returns the requests of a database.
func New(db *sqldb.DB) *Table { return &Table{db} }

// kept is how long the outcome of a request with an Idempotency-Key is remembered at least.
const kept = 24 * time.Hour

// longest bounds a client's key, in bytes.
const longest = 255

// Check refuses a client's key that is too long.
func Check(text string) error {
	if len(text) > longest {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Idempotency-Key is longer than %d bytes.", longest)
	}
	return nil
}

// Key is an Idempotency-Key with what it is bound to beside the tenant: what kind of thing is made where, and the sum
// of the request. The zero Key is none.
type Key struct {
	Text, Route string
	Sum         []byte
}

// NewKey returns a client's key, bound to what is made where and to the request; without a text it is zero. The route
// is a matter of what is made: a run that was asked for with wait is found again by a request that streams.
func NewKey(text, route string, request any) Key {
	if text == "" {
		return Key{}
	}
	body, err := json.Marshal(request)
	if err != nil { // the parts were JSON when they came in
		return Key{}
	}
	sum := sha256.Sum256(body)
	return Key{Text: text, Route: route, Sum: sum[:]}
}

// Of returns the key as that of a principal. One that sees nothing of others' things has keys of its own, since it
// would be told of theirs, or be refused for them.
func (k Key) Of(p mapping.Principal) Key {
	if k.Text != "" && p.Own {
		sum := sha256.Sum256([]byte(p.ID))
		k.Route += " of " + hex.EncodeToString(sum[:8])
	}
	return k
}

// ErrKeyReused refuses another request under a key.
var ErrKeyReused error = mapping.Errorf(mapping.Invalid, mapping.CodeKeyReused,
	"This Idempotency-Key was sent with another request before. Use a fresh key for a new request.")

// Remembered returns what an earlier request with the key made; ok is false where there was none. Another request under
// the same key is Invalid.
func (s *Table) Remembered(ctx context.Context, k Key) (made string, ok bool, err error) {
	if k.Text == "" {
		return "", false, nil
	}
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		made, ok, err = Recall(t, scope.TenantOf(ctx), k)
		return err
	})
	return made, ok, err
}

// Recall is Remembered within an operation.
func Recall(t *sqldb.Tx, tenant string, k Key) (made string, ok bool, err error) {
	if k.Text == "" {
		return "", false, nil
	}
	var sum []byte
	err = t.Get(`SELECT sum, made_id FROM idempotency WHERE tenant = $1 AND route = $2 AND key_text = $3 AND created_us > $4`,
		column.In{tenant, k.Route, k.Text, t.Horizon - kept.Microseconds()}, column.Out{sqldb.Unsealed(&sum, column.IdempotencySum, tenant, k.Route, k.Text), &made})
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err == nil && !bytes.Equal(sum, k.Sum) {
		err = ErrKeyReused
	}
	return made, err == nil, err
}

// Claim notes what a request is about to make, in place of an expired note, and returns "". Where there is a note of an
// earlier request it returns what that one made. Of two requests at once one waits for the other.
func Claim(t *sqldb.Tx, who mapping.Principal, k Key, making string) (made string, err error) {
	if k.Text == "" {
		return "", nil
	}
	past := t.Horizon - kept.Microseconds()
	n, err := t.Exec(noteKey+` WHERE idempotency.created_us <= $8`, append(noteOf(t, who, k, making), past)...)
	if err != nil {
		return "", err
	}
	if n == 1 {
		return "", forgetKeys(t)
	}
	made, _, err = Recall(t, who.Tenant, k)
	return made, err
}

// Remember notes what a request made, in place of any earlier note.
func Remember(t *sqldb.Tx, who mapping.Principal, k Key, made string) error {
	if k.Text == "" {
		return nil
	}
	if err := t.Put(noteKey, noteOf(t, who, k, made)...); err != nil {
		return err
	}
	return forgetKeys(t)
}

const noteKey = `INSERT INTO idempotency (tenant, route, key_text, sum, made_id, created_us, owner) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant, route, key_text) DO UPDATE SET sum = excluded.sum, made_id = excluded.made_id, created_us = excluded.created_us, owner = excluded.owner`

// noteOf returns the parameters of noteKey.
func noteOf(t *sqldb.Tx, who mapping.Principal, k Key, made string) []any {
	sum := t.Sealed(column.NotNull(k.Sum), column.IdempotencySum, who.Tenant, k.Route, k.Text)
	return []any{who.Tenant, k.Route, k.Text, sum, made, t.Now, who.ID}
}

func forgetKeys(t *sqldb.Tx) error {
	return t.Put(`DELETE FROM idempotency WHERE created_us <= $1`, t.Horizon-kept.Microseconds())
}

// CodeRepeated is what a change is refused with that the same request has made before.
const CodeRepeated = "repeated"

// Repeated refuses a change that an earlier request has made, unless finding that out has failed.
func Repeated(earlier string, err error) error {
	if err == nil {
		err = mapping.Errorf(mapping.Conflict, CodeRepeated, "This request was sent before. It made %q.", earlier)
	}
	return err
}
