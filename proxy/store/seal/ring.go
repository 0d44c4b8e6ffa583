package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
)

// mark begins a body that is not what it seems. Its first byte begins no JSON and no UTF-8.
var mark = []byte{0xa9, 'a', 'b', 0x01}

// headSize is the length of the mark and the id of a key.
const headSize = 4 + len(KeyID{})

// Overhead is how much longer a sealed body is.
const Overhead = headSize + nonceSize + tagSize

// Ring has the keys of a database. A nil Ring has none: it writes bodies as they are, and reads those. Safe for
// concurrent use.
type Ring struct {
	writes *KeyID // nil: bodies are written as they are
	keys   map[KeyID]*xaes
	ids    []KeyID
}

// New returns a ring of keys of KeyBytes each. All of them read. The first seals what is written, or with plain none
// does.
func New(keys [][]byte, plain bool) (*Ring, error) {
	r := &Ring{keys: map[KeyID]*xaes{}}
	for _, key := range keys {
		id := IDOf(key)
		if r.keys[id] != nil {
			return nil, fmt.Errorf("the key %s is there twice", id)
		}
		if len(key) != KeyBytes {
			return nil, fmt.Errorf("a key has %d bytes, and not %d", KeyBytes, len(key))
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

// Seals reports whether the ring seals bodies that it writes.
func (r *Ring) Seals() bool { return r != nil && r.writes != nil }

// Keys returns the ids of the keys, the first one first.
func (r *Ring) Keys() []KeyID {
	if r == nil {
		return nil
	}
	return r.ids
}

// Has reports whether the ring has a key.
func (r *Ring) Has(id KeyID) bool { return r != nil && r.keys[id] != nil }

// Wanted returns how every body begins that the ring has written itself: nil where bodies stay as they are.
func (r *Ring) Wanted() []byte {
	if !r.Seals() {
		return nil
	}
	return headOf(*r.writes)
}

// Mark returns how every body begins that is sealed under any key.
func Mark() []byte { return bytes.Clone(mark) }

// Literally returns how a body begins that is not sealed, and only looks so.
func Literally() []byte { return headOf(KeyID{}) }

func headOf(id KeyID) []byte { return append(bytes.Clone(mark), id[:]...) }

// Sealed returns the id of the key of a body, and false for one that stands as it is.
func Sealed(body []byte) (id KeyID, ok bool) {
	if len(body) < headSize || !bytes.HasPrefix(body, mark) {
		return id, false
	}
	copy(id[:], body[len(mark):])
	return id, id != KeyID{}
}

// Seal returns a body as it is written, bound to a place. Nothing stays nothing. What a ring without a key writes is
// the body itself, but for one that looks as if it were sealed: that gets a head that says that it is not.
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
	_, _ = rand.Read(nonce) // never fails: it ends the program where there is no randomness
	return r.keys[*r.writes].seal(out, nonce, body, place)
}

// Why a body is not opened.
var (
	// ErrNoKey: it is sealed under a key that the ring has not got.
	ErrNoKey = errors.New("its key is not there")
	// ErrBroken: it was changed, cut, or stood at another place when it was sealed.
	ErrBroken = errors.New("it is not what was written there")
)

// Open returns the body that Seal was given, in the memory of what it is read from. Errors wrap ErrNoKey or ErrBroken.
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
