package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
)

// mark begins a sealed body. Its first byte is not the start of JSON or UTF-8.
var mark = []byte{0xa9, 'a', 'b', 0x01}

// headSize is the length of the mark and the id of a key.
const headSize = 4 + len(KeyID{})

// Overhead is the difference in length between a sealed body and its plaintext.
const Overhead = headSize + nonceSize + tagSize

// Ring holds the keys of a database. A nil Ring has none and writes and reads plain bodies. Safe for concurrent use.
type Ring struct {
	writes *KeyID // nil if bodies are written unsealed
	keys   map[KeyID]*xaes
	ids    []KeyID
}

// New returns a ring of keys of KeyBytes each. All of them can open bodies. The first one seals new bodies, unless
// plain is set.
func New(keys [][]byte, plain bool) (*Ring, error) {
	r := &Ring{keys: map[KeyID]*xaes{}}
	for _, key := range keys {
		id := IDOf(key)
		if r.keys[id] != nil {
			return nil, fmt.Errorf("key %s is given twice", id)
		}
		if len(key) != KeyBytes {
			return nil, fmt.Errorf("a key must have %d bytes, not %d", KeyBytes, len(key))
		}
		x, err := newXAES(key)
		if err != nil {
			return nil, err
		}
		r.keys[id], r.ids = x, append(r.ids, id)
	}
	if !plain && len(keys) > 0 {
		r.writes = &r.ids[0]
	}
	return r, nil
}

// Seals reports whether the ring seals new bodies.
func (r *Ring) Seals() bool { return r != nil && r.writes != nil }

// Keys returns the ids of the keys, in the order given to New.
func (r *Ring) Keys() []KeyID {
	if r == nil {
		return nil
	}
	return r.ids
}

// Has reports whether the ring contains a key.
func (r *Ring) Has(id KeyID) bool { return r != nil && r.keys[id] != nil }

// Wanted returns the prefix of every body that the ring seals. It returns nil if the ring does not seal.
func (r *Ring) Wanted() []byte {
	if !r.Seals() {
		return nil
	}
	return headOf(*r.writes)
}

// Mark returns the prefix of every body sealed under any key.
func Mark() []byte { return bytes.Clone(mark) }

// Literally returns the prefix of an unsealed body that would otherwise look sealed.
func Literally() []byte { return headOf(KeyID{}) }

func headOf(id KeyID) []byte { return append(bytes.Clone(mark), id[:]...) }

// Sealed returns the id of a body's key. ok is false if the body is not sealed.
func Sealed(body []byte) (id KeyID, ok bool) {
	if len(body) < headSize || !bytes.HasPrefix(body, mark) {
		return id, false
	}
	copy(id[:], body[len(mark):])
	return id, id != KeyID{}
}

// Seal returns a body in stored form, bound to a place. An empty body stays empty. A ring that does not seal returns
// the body itself, unless it looks sealed; then it gets a prefix that marks it as not sealed.
func (r *Ring) Seal(body, place []byte) []byte {
	switch {
	case len(body) == 0:
		return body
	case !r.Seals() && !bytes.HasPrefix(body, mark):
		return body
	case !r.Seals():
		return append(headOf(KeyID{}), body...)
	}
	out := make([]byte, headSize+nonceSize, Overhead+len(body))
	copy(out, headOf(*r.writes))
	nonce := out[headSize:]
	_, _ = rand.Read(nonce) // never fails: without randomness it ends the program
	return r.keys[*r.writes].seal(out, nonce, body, place)
}

// Reasons why a body cannot be opened.
var (
	// ErrNoKey means that the body is sealed under a key that is not in the ring.
	ErrNoKey = errors.New("its key is missing")
	// ErrBroken means that the body was changed or cut, or was sealed for another place.
	ErrBroken = errors.New("it was changed after it was written")
)

// Open returns the body that was passed to Seal. It reuses the memory of body. Errors wrap ErrNoKey or ErrBroken.
func (r *Ring) Open(body, place []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, mark) {
		return body, nil
	}
	if len(body) < headSize {
		return nil, ErrBroken
	}
	id, sealed := Sealed(body)
	rest := body[headSize:]
	switch {
	case !sealed:
		return rest, nil
	case !r.Has(id):
		return nil, fmt.Errorf("%w: %s", ErrNoKey, id)
	case len(rest) < nonceSize+tagSize:
		return nil, ErrBroken
	}
	nonce, rest := rest[:nonceSize], rest[nonceSize:]
	plain, err := r.keys[id].open(rest[:0], nonce, rest, place)
	if err != nil {
		return nil, ErrBroken
	}
	return plain, nil
}
