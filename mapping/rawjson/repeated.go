package rawjson

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// RepeatedName finds a duplicate name in an object at any depth, and returns the offset of the second one. b must be
// one JSON value in valid UTF-8. It takes linear time and ten bytes for each name, with or without escapes.
func RepeatedName(b []byte) (offset int, found bool) {
	// A name with its colon and value has at least four bytes.
	c := nameCheck{b: b, names: make([]int32, 0, min(bytes.Count(b, []byte{':'}), len(b)/4))}
	c.value(SkipSpace(b, 0), 0)
	return c.at, c.found
}

// nameCheck compares the names of an object after reading all of them, so that its table has the right size from the
// start.
type nameCheck struct {
	b     []byte
	names []int32 // offsets of the names of the open objects
	// table is for one object at a time. Each entry has a position in its names, from 1, and in the remaining bits a
	// part of the name's hash.
	table []uint32
	below int // number of bits of a position
	seed  maphash.Seed
	text  [2][]byte // decoded names
	at    int
	found bool
}

// value returns the index after the value at i, or false to stop.
func (c *nameCheck) value(i, depth int) (int, bool) {
	switch {
	case i >= len(c.b) || depth > maxDepth:
		return i, false
	case c.b[i] == '{':
		return c.object(i, depth)
	case c.b[i] == '[':
		return ScanArray(c.b, i, func(_ []byte, i int) (int, bool) { return c.value(i, depth+1) })
	}
	return scanValue(c.b, i, depth)
}

func (c *nameCheck) object(i, depth int) (end int, ok bool) {
	from := len(c.names)
	if end, ok = c.members(i, depth); ok {
		ok = !c.repeats(c.names[from:])
	}
	c.names = c.names[:from]
	return end, ok
}

// members records the offsets of the names of the object at i.
func (c *nameCheck) members(i, depth int) (int, bool) {
	i, done := enter(c.b, i, '}')
	for !done {
		_, at, ok := scanName(c.b, i)
		if !ok {
			return at, false
		}
		c.names = append(c.names, int32(i))
		if i, ok = c.value(at, depth+1); !ok {
			return i, false
		}
		if i, done, ok = next(c.b, i, '}'); !ok {
			return i, false
		}
	}
	return i, true
}

// repeats searches for two equal names of one object.
func (c *nameCheck) repeats(names []int32) bool {
	if len(names) > ManyKeys {
		return c.repeatsOfMany(names)
	}
	for i := 1; i < len(names); i++ {
		key := c.key(names[i], 0)
		for _, other := range names[:i] {
			if bytes.Equal(c.key(other, 1), key) {
				c.at, c.found = int(names[i]), true
				return true
			}
		}
	}
	return false
}

func (c *nameCheck) repeatsOfMany(names []int32) bool {
	if size := len(names) + len(names)/2; cap(c.table) < size {
		c.table, c.seed = make([]uint32, size), maphash.MakeSeed()
	} else {
		c.table = c.table[:size]
		clear(c.table)
	}
	c.below = bits.Len(uint(len(names)))
	for i := range names {
		if c.noted(names, i) {
			c.at, c.found = int(names[i]), true
			return true
		}
	}
	return false
}

// noted adds a name to the table, and reports whether an equal one is already there.
func (c *nameCheck) noted(names []int32, i int) bool {
	key := c.key(names[i], 0)
	hash := maphash.Bytes(c.seed, key)
	tag, at := uint32(hash)>>c.below, hash>>32*uint64(len(c.table))>>32
	for ; ; at = (at + 1) % uint64(len(c.table)) {
		switch other := c.table[at]; {
		case other == 0:
			c.table[at] = tag<<c.below | uint32(i+1)
			return false
		case other>>c.below == tag && bytes.Equal(c.key(names[other&(1<<c.below-1)-1], 1), key):
			return true
		}
	}
}

// key returns the name at an offset. It is valid until the next call for the same place.
func (c *nameCheck) key(at int32, place int) []byte {
	end, _ := scanString(c.b, int(at))
	name := Quoted(c.b[at:end])
	if name.plain() {
		return name[1 : len(name)-1]
	}
	c.text[place], _ = jsontext.AppendUnquote(c.text[place][:0], []byte(name))
	return c.text[place]
}
