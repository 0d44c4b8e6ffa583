package store

import "time"

// idempotencyKept is how long the outcome of a request with an Idempotency-Key
// is remembered.
const idempotencyKept = 24 * time.Hour

// rememberKey notes what a request made, in place of an expired note.
func rememberKey(t *tx, tenant, route, key string, sum []byte, made string) error {
	_, err := t.exec(`INSERT INTO idempotency (tenant, route, key_text, sum, made_id, created_us) VALUES ($1, $2, $3, $4, $5, $6)
 ON CONFLICT (tenant, route, key_text) DO UPDATE SET sum = excluded.sum, made_id = excluded.made_id, created_us = excluded.created_us`,
		tenant, route, key, nonNil(sum), made, t.now)
	if err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM idempotency WHERE created_us < $1`, t.now-idempotencyKept.Microseconds())
	return err
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
