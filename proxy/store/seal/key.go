package seal

import (
	"crypto/sha256"
	"encoding/hex"
)

// KeyBytes is the size of a key.
const KeyBytes = 32

// KeyID identifies a key without revealing it. It is the start of a digest of the key. The zero KeyID belongs to no
// key.
type KeyID [8]byte

// String returns the id in hexadecimal.
func (id KeyID) String() string { return hex.EncodeToString(id[:]) }

// IDOf returns the id of a key.
func IDOf(key []byte) (id KeyID) {
	sum := sha256.Sum256(append([]byte("apbridge: the id of a key\x00"), key...))
	copy(id[:], sum[:])
	return id
}
