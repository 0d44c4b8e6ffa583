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

var errKey = errors.New("is no key: it has to hold 32 random bytes, as base64 or as 64 hexadecimal digits; make one with: openssl rand -base64 32")

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
	// A template has a repeated byte in place of a key.
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
			d.complain(name, "%v", err)
		case indexOf(keys, key) >= 0:
			d.complain(name, "is the same key as encryption.keys[%d]; each stands once, the one that writes first", indexOf(keys, key))
		}
		keys = append(keys, key)
	}
	if e.Write == "plain" && len(e.Keys) == 0 {
		d.complain("encryption.write", "is plain, and there are no keys, without which nothing else is written; leave it out, or name the keys to read with")
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
