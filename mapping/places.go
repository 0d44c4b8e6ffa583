package mapping

import (
	"hash/maphash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// places finds where a key stands in a list that is kept elsewhere. It is a table of
// positions hashed by key: 16 to 32 bytes a key, whatever its length. To look a key up
// changes nothing, so that many may at a time.
type places struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most half full
	used  int
}

type slot struct {
	hash uint32
	next int32 // the position, from 1; 0: the slot is free
}

// firstSlots is the size of the smallest table.
const firstSlots = 64

// newPlaces has room for n keys, and grows.
func newPlaces(n int) *places {
	size := firstSlots
	for size < 2*n {
		size *= 2
	}
	return &places{seed: maphash.MakeSeed(), slots: make([]slot, size)}
}

// hash is that of a key, text of a string with the same bytes.
func (p *places) hash(key []byte) uint32 { return uint32(maphash.Bytes(p.seed, key)) }

func (p *places) text(key string) uint32 { return uint32(maphash.String(p.seed, key)) }

// find returns the position of a key with this hash, or -1; is reports whether the
// key at a position is the one.
func (p *places) find(hash uint32, is func(at int) bool) int {
	return int(p.slot(hash, is).next) - 1
}

// put notes the position of a key, which may have had another one.
func (p *places) put(hash uint32, at int, is func(at int) bool) {
	if 2*p.used >= len(p.slots) {
		p.grow()
	}
	s := p.slot(hash, is)
	if s.next == 0 {
		p.used++
	}
	*s = slot{hash, int32(at) + 1}
}

// slot is the one that holds a key, else the free one for it.
func (p *places) slot(hash uint32, is func(at int) bool) *slot {
	mask := uint32(len(p.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &p.slots[i]
		if s.next == 0 || s.hash == hash && is(int(s.next)-1) {
			return s
		}
	}
}

func (p *places) grow() {
	old := p.slots
	p.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.next > 0 {
			*p.slot(s.hash, nothing) = s
		}
	}
}

// clone is a copy that may be changed; nil of nil.
func (p *places) clone() *places {
	if p == nil {
		return nil
	}
	return &places{seed: p.seed, slots: slices.Clone(p.slots), used: p.used}
}

// keyBytes is the key of a name as written, with quotes: decoded in place where
// that is the same.
func keyBytes(name []byte) []byte {
	if plain(name) {
		return name[1 : len(name)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, name)
	return b
}
