package seal

import (
	"crypto/sha256"
	"encoding/hex"
)

// KeyBytes is the size of a key.
const KeyBytes = 32

// KeyID names a key without telling it: the first bytes of a digest of it. The zero KeyID is no key's.
type KeyID [8]byte

// String returns the id in hexadecimal.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// IDOf returns the id of a key.
func IDOf(key []byte) (id KeyID) {
	sum := sha256.Sum256(append([]byte("apbridge: the id of a key\x00"), key...))
	copy(id[:], sum[:])
	return id
}
