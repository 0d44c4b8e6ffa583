package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
)

// keptVerified limits the cache of recent keys. Other keys are compared again.
const keptVerified = 1024

// Keys holds the SHA-256 digests of the configured API keys. Safe for concurrent use.
type Keys struct {
	known    []*known
	verified *lru.Cache[digest, *known]
}

type digest [sha256.Size]byte

// known is a key. A caller may have several.
type known struct {
	sum   digest
	who   mapping.Principal
	until time.Time // zero means forever
	life  life
}

// NewKeys returns the keys of a validated configuration.
func NewKeys(keys []config.Key) (*Keys, error) {
	verified, err := lru.New[digest, *known](keptVerified)
	if err != nil {
		return nil, err
	}
	k := &Keys{verified: verified}
	for _, c := range keys {
		for _, secret := range c.Secrets() {
			sum, err := sumOf(secret.Reveal())
			if err != nil {
				return nil, fmt.Errorf("key %s: %w", c.ID, err)
			}
			k.known = append(k.known, &known{sum, c.Access().Principal(c.ID), c.Ends(), newLife()})
		}
	}
	return k, nil
}

func sumOf(key string) (digest, error) {
	encoded, hashed := strings.CutPrefix(key, "sha256:")
	if !hashed {
		return digestOf(key), nil
	}
	raw, err := hex.DecodeString(encoded)
	if err != nil || len(raw) != sha256.Size {
		return digest{}, fmt.Errorf("sha256: must have %d hexadecimal digits", 2*sha256.Size)
	}
	return digest(raw), nil
}

func digestOf(key string) digest { return sha256.Sum256([]byte(key)) }

// Verify returns the Pass of a key. ok is false for an unknown key. It compares all known digests, so it takes the same
// time for every key that is not cached. The error has class Unauthorized if the key was once valid.
func (k *Keys) Verify(key string) (pass Pass, ok bool, err error) {
	one := k.find(digestOf(key))
	switch {
	case one == nil:
		return Pass{}, false, nil
	case expired(one.until):
		return Pass{}, true, errKeyOver
	}
	return Pass{one.who, one.life, one.until}, true, nil
}

func (k *Keys) find(sum digest) *known {
	if one, ok := k.verified.Get(sum); ok {
		return one
	}
	found := -1
	for i := range k.known {
		if subtle.ConstantTimeCompare(sum[:], k.known[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	k.verified.Add(sum, k.known[found])
	return k.known[found]
}

// usable reports whether a key has access to more than metrics.
func (k *Keys) usable() bool {
	for _, one := range k.known {
		if !expired(one.until) && opens(one.who) {
			return true
		}
	}
	return false
}

// succeed continues with the unchanged keys of an earlier configuration, and ends the requests of its other keys.
func (k *Keys) succeed(before *Keys) {
	for _, was := range before.known {
		now := k.find(was.sum)
		if now != nil && now.until.Equal(was.until) && same(now.who, was.who) {
			now.life = was.life
		} else {
			was.life.end(errGone)
		}
	}
}
