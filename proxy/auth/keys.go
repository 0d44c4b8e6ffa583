// Package auth tells who a request is made for.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
)

// keptVerified bounds the memory of keys seen lately. A key that dropped out
// is only compared again.
const keptVerified = 1024

// Keys knows the configured API keys by their SHA-256. Safe for concurrent use.
type Keys struct {
	known    []known
	byID     map[string]known
	anyone   life // of callers without a key, where none is required
	verified *lru.Cache[digest, mapping.Principal]
}

type digest [sha256.Size]byte

type known struct {
	sum  digest
	who  mapping.Principal
	life life
}

// NewKeys reads the keys of a configuration that was validated.
func NewKeys(keys []config.Key) (*Keys, error) {
	verified, err := lru.New[digest, mapping.Principal](keptVerified)
	if err != nil {
		return nil, err
	}
	k := &Keys{verified: verified, byID: map[string]known{}, anyone: newLife()}
	for _, c := range keys {
		sum, err := sumOf(c.Key.Reveal())
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", c.ID, err)
		}
		one := known{sum, principalOf(c), newLife()}
		k.known, k.byID[c.ID] = append(k.known, one), one
	}
	return k, nil
}

func principalOf(c config.Key) mapping.Principal { return c.Access().Principal(c.ID) }

// allIfEmpty: an empty list in the file means all, which a principal says by nil.
func allIfEmpty(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

func sumOf(key string) (digest, error) {
	encoded, hashed := strings.CutPrefix(key, "sha256:")
	if !hashed {
		return digestOf(key), nil
	}
	raw, err := hex.DecodeString(encoded)
	if err != nil || len(raw) != sha256.Size {
		return digest{}, fmt.Errorf("sha256: wants %d hexadecimal digits", 2*sha256.Size)
	}
	return digest(raw), nil
}

func digestOf(key string) digest { return sha256.Sum256([]byte(key)) }

// Required tells whether callers need a key.
func (k *Keys) Required() bool { return len(k.known) > 0 }

// Verify returns who a key stands for. It takes the same time for every key
// that was not seen lately: all known ones are compared, and as digests.
func (k *Keys) Verify(key string) (mapping.Principal, bool) {
	sum := digestOf(key)
	if who, ok := k.verified.Get(sum); ok {
		return who, true
	}
	found := -1
	for i := range k.known {
		if subtle.ConstantTimeCompare(sum[:], k.known[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return mapping.Principal{}, false
	}
	k.verified.Add(sum, k.known[found].who)
	return k.known[found].who, true
}
