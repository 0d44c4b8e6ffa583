package config

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Encryption configures the encryption of the database. Without keys nothing is encrypted. All keys are used for
// reading.
type Encryption struct {
	Keys  []Secret `yaml:"keys"`
	Write string   `yaml:"write" choice:"sealed plain"` // encrypted with the first key, or not
}

// keyBytes is the size of a key.
const keyBytes = 32

var errKey = errors.New("is not a key: a key is 32 random bytes as base64 or as 64 hexadecimal digits; create one with: openssl rand -base64 32")

// Bytes returns the keys, of 32 bytes each, or an error for an invalid one.
func (e Encryption) Bytes() (keys [][]byte, err error) {
	for i, text := range e.Keys {
		key, err := parseKey(text)
		if err != nil {
			return nil, fmt.Errorf("encryption.keys[%d] %w", i, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// parseKey reads a key in the form of its file. Errors do not quote it.
func parseKey(text Secret) ([]byte, error) {
	written := strings.TrimSpace(text.Reveal())
	key, err := hex.DecodeString(written)
	for _, form := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if err != nil || len(key) != keyBytes {
			key, err = form.DecodeString(written)
		}
	}
	// A repeated byte is a placeholder from a template.
	if err != nil || len(key) != keyBytes || bytes.Count(key, key[:1]) == keyBytes {
		return nil, errKey
	}
	return key, nil
}

func (d databaseCheck) checkKeys() {
	e := d.cfg.Encryption
	var keys [][]byte
	for i, text := range e.Keys {
		name := fmt.Sprintf("encryption.keys[%d]", i)
		key, err := parseKey(text)
		switch {
		case err != nil:
			d.problem(name, "%v", err)
		case indexOf(keys, key) >= 0:
			d.problem(name, "is the same key as encryption.keys[%d]; list each key once, with the one for writing first", indexOf(keys, key))
		}
		keys = append(keys, key)
	}
	if e.Write == "plain" && len(e.Keys) == 0 {
		d.problem("encryption.write", "is plain, which is also the default without keys; leave it out, or add the keys for reading")
	}
}

func indexOf(keys [][]byte, key []byte) int {
	for i := range keys {
		if bytes.Equal(keys[i], key) {
			return i
		}
	}
	return -1
}
