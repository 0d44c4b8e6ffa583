package rawjson

import (
	"hash/maphash"
	"slices"
)

// Index finds the position of a key in a list that is stored elsewhere. It is a table of positions hashed by key, with
// 16 to 32 bytes for each key of any length. Lookups are safe for concurrent use.
type Index struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most half full
	used  int
}

type slot struct {
	hash uint32
	next int32 // the position, from 1; 0 if the slot is free
}

// ManyKeys is the number of keys from which an Index is worthwhile. Fewer keys are found faster by comparison.
const ManyKeys = 16

// firstSlots is the size of the smallest table.
const firstSlots = 64

// NewIndex returns an empty Index with room for n keys, which grows.
func NewIndex(n int) *Index {
	size := firstSlots
	for size < 2*n {
		size *= 2
	}
	return &Index{seed: maphash.MakeSeed(), slots: make([]slot, size)}
}

// Find returns the position of a key, or -1. is reports whether the key at a position is the one to find.
func (x *Index) Find(key []byte, is func(at int) bool) int {
	return x.find(uint32(maphash.Bytes(x.seed, key)), is)
}

// FindText is Find for a key that is a string.
func (x *Index) FindText(key string, is func(at int) bool) int {
	return x.find(uint32(maphash.String(x.seed, key)), is)
}

func (x *Index) find(hash uint32, is func(at int) bool) int {
	return int(x.slot(hash, is).next) - 1
}

// Put sets or replaces the position of a key. is works as for Find. For a key that is certainly new, pass Nothing.
func (x *Index) Put(key []byte, at int, is func(at int) bool) {
	x.put(uint32(maphash.Bytes(x.seed, key)), at, is)
}

// PutText is Put for a key that is a string with the same bytes.
func (x *Index) PutText(key string, at int, is func(at int) bool) {
	x.put(uint32(maphash.String(x.seed, key)), at, is)
}

func (x *Index) put(hash uint32, at int, is func(at int) bool) {
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
	s := x.slot(hash, is)
	if s.next == 0 {
		x.used++
	}
	*s = slot{hash, int32(at) + 1}
}

// Nothing is an argument for Find and Put if the key is not in the index.
func Nothing(int) bool { return false }

// slot returns the slot of the key, or a free one for it.
func (x *Index) slot(hash uint32, is func(at int) bool) *slot {
	mask := uint32(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.next == 0 || s.hash == hash && is(int(s.next)-1) {
			return s
		}
	}
}

func (x *Index) grow() {
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.next > 0 {
			*x.slot(s.hash, Nothing) = s
		}
	}
}

// clone returns a copy that may be changed, or nil for nil.
func (x *Index) clone() *Index {
	if x == nil {
		return nil
	}
	return &Index{seed: x.seed, slots: slices.Clone(x.slots), used: x.used}
}
