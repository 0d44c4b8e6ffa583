package store

import (
	"bytes"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// idempotencyKept is how long the outcome of a request with an Idempotency-Key
// is remembered.
const idempotencyKept = 24 * time.Hour

// keyNote is what is remembered of a request with a key: the sum of its body
// and the id of what it is about to make.
type keyNote struct {
	tenant, route, key string
	sum                []byte
	made               string
}

// put notes the key in place of an expired note, and returns "". Where there is
// a note of another request it returns what that one made; Invalid when the
// bodies differ.
func (k keyNote) put(t *tx) (earlier string, err error) {
	past := t.now - idempotencyKept.Microseconds()
	n, err := t.exec(`INSERT INTO idempotency (tenant, route, key_text, sum, made_id, created_us) VALUES ($1, $2, $3, $4, $5, $6)
 ON CONFLICT (tenant, route, key_text) DO UPDATE SET sum = excluded.sum, made_id = excluded.made_id, created_us = excluded.created_us
 WHERE idempotency.created_us <= $7`, k.tenant, k.route, k.key, nonNil(k.sum), k.made, t.now, past)
	if err != nil {
		return "", err
	}
	if n == 1 {
		return "", t.put(`DELETE FROM idempotency WHERE created_us <= $1`, past)
	}
	var sum []byte
	if err := t.get(`SELECT sum, made_id FROM idempotency WHERE tenant = $1 AND route = $2 AND key_text = $3`,
		in{k.tenant, k.route, k.key}, out{&sum, &earlier}); err != nil {
		return "", err
	}
	if !bytes.Equal(sum, k.sum) {
		return "", mapping.Errorf(mapping.Invalid, "idempotency_key_reused", "This Idempotency-Key was sent with another request before. Use a fresh key for a new request.")
	}
	return earlier, nil
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
