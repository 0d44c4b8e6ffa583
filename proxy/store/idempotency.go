package store

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
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// Requests remembers the result of each request with an Idempotency-Key. An operation that creates an object claims the
// key in its own transaction, so that only one of two requests creates it.
type Requests struct{ base *base }

// keysKeptFor is the minimum time for which the result of a request with an Idempotency-Key is remembered.
const keysKeptFor = 24 * time.Hour

// longestKey limits a client's key, in bytes.
const longestKey = 255

// CheckIdempotencyKey returns an error if a client's key is too long.
func CheckIdempotencyKey(text string) error {
	if len(text) > longestKey {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Idempotency-Key is longer than %d bytes.", longestKey)
	}
	return nil
}

// IdempotencyKey is a client's Idempotency-Key with the kind and place of the object it creates (Route) and the
// checksum of the request. The zero value means no key.
type IdempotencyKey struct {
	Text, Route string
	Sum         []byte
}

// NewIdempotencyKey returns a client's key for a route and a request. It returns the zero value if text is "". The
// route depends on the created object and not on the endpoint: a streaming request finds the run that a waiting request
// created.
func NewIdempotencyKey(text, route string, request any) IdempotencyKey {
	if text == "" {
		return IdempotencyKey{}
	}
	body, err := json.Marshal(request)
	if err != nil { // the parts were valid JSON when received
		return IdempotencyKey{}
	}
	sum := sha256.Sum256(body)
	return IdempotencyKey{Text: text, Route: route, Sum: sum[:]}
}

// Of returns the key of a principal. A principal with scope own has separate keys. Otherwise it would get the results
// of others' requests, or be refused because of them.
func (k IdempotencyKey) Of(p mapping.Principal) IdempotencyKey {
	if k.Text != "" && p.Own {
		sum := sha256.Sum256([]byte(p.ID))
		k.Route += " of " + hex.EncodeToString(sum[:8])
	}
	return k
}

// ErrKeyReused is the error for a key that was already used for a different request.
var ErrKeyReused error = mapping.Errorf(mapping.Invalid, mapping.CodeKeyReused,
	"This Idempotency-Key was already sent with a different request. Use a new key for each new request.")

// Remembered returns the id of the object that an earlier request with the key created. ok is false if there was no
// such request. It returns an Invalid error if the earlier request was a different one.
func (s *Requests) Remembered(ctx context.Context, k IdempotencyKey) (made string, ok bool, err error) {
	if k.Text == "" {
		return "", false, nil
	}
	err = s.base.DB.ReadOne(ctx, func(t *sqldb.Tx) error {
		made, ok, err = recallKey(t, tables.TenantOf(ctx), k)
		return err
	})
	return made, ok, err
}

// recallKey is like Remembered, within a transaction.
func recallKey(t *sqldb.Tx, tenant string, k IdempotencyKey) (made string, ok bool, err error) {
	if k.Text == "" {
		return "", false, nil
	}
	var sum []byte
	err = t.Get(`SELECT sum, made_id FROM idempotency WHERE tenant = $1 AND route = $2 AND key_text = $3 AND created_us > $4`,
		sqldb.In{tenant, k.Route, k.Text, t.Horizon - keysKeptFor.Microseconds()}, sqldb.Out{sqldb.Unsealed(&sum, colIdempotencySum, tenant, k.Route, k.Text), &made})
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err == nil && !bytes.Equal(sum, k.Sum) {
		err = ErrKeyReused
	}
	return made, err == nil, err
}

// claimKey records the object that a request is about to create and returns "". An expired record is replaced. If an
// earlier request has a record, it returns the id of that request's object. Of two concurrent requests, one waits for
// the other.
func claimKey(t *sqldb.Tx, who mapping.Principal, k IdempotencyKey, making string) (made string, err error) {
	if k.Text == "" {
		return "", nil
	}
	past := t.Horizon - keysKeptFor.Microseconds()
	n, err := t.Exec(noteKey+` WHERE idempotency.created_us <= $8`, append(noteOfKey(t, who, k, making), past)...)
	if err != nil {
		return "", err
	}
	if n == 1 {
		return "", forgetKeys(t)
	}
	made, _, err = recallKey(t, who.Tenant, k)
	return made, err
}

// rememberKey records the object that a request created and replaces any earlier record.
func rememberKey(t *sqldb.Tx, who mapping.Principal, k IdempotencyKey, made string) error {
	if k.Text == "" {
		return nil
	}
	if err := t.Put(noteKey, noteOfKey(t, who, k, made)...); err != nil {
		return err
	}
	return forgetKeys(t)
}

const noteKey = `INSERT INTO idempotency (tenant, route, key_text, sum, made_id, created_us, owner) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant, route, key_text) DO UPDATE SET sum = excluded.sum, made_id = excluded.made_id, created_us = excluded.created_us, owner = excluded.owner`

// noteOfKey returns the parameters of noteKey.
func noteOfKey(t *sqldb.Tx, who mapping.Principal, k IdempotencyKey, made string) []any {
	sum := t.Sealed(notNull(k.Sum), colIdempotencySum, who.Tenant, k.Route, k.Text)
	return []any{who.Tenant, k.Route, k.Text, sum, made, t.Now, who.ID}
}

func forgetKeys(t *sqldb.Tx) error {
	return t.Put(`DELETE FROM idempotency WHERE created_us <= $1`, t.Horizon-keysKeptFor.Microseconds())
}

// CodeRepeated is the error code for a change that an identical request has already made.
const CodeRepeated = "repeated"

// repeatedRequest returns the error for a repeated change, or err if the check itself failed.
func repeatedRequest(earlier string, err error) error {
	if err == nil {
		err = mapping.Errorf(mapping.Conflict, CodeRepeated, "This request was sent before. It created %q.", earlier)
	}
	return err
}
