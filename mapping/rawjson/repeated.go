package rawjson

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// RepeatedName finds an object, at any depth, that names one key twice, and returns the offset of the second name. b
// must be one JSON value in valid UTF-8. It takes linear time and ten bytes for each name, whatever is escaped in them.
func RepeatedName(b []byte) (offset int, found bool) {
	// A name with its colon and value is four bytes long at least.
	c := nameCheck{b: b, names: make([]int32, 0, min(bytes.Count(b, []byte{':'}), len(b)/4))}
	c.value(SkipSpace(b, 0), 0)
	return c.at, c.found
}

// nameCheck compares the names of an object when it has all of them, so that its table has the right size at once.
type nameCheck struct {
	b     []byte
	names []int32 // where the names of the open objects begin
	// table is that of one object at a time: each entry a position in its names, from 1, below as much of the name's
	// hash as there is room for.
	table []uint32
	below int // bits of a position
	seed  maphash.Seed
	text  [2][]byte // decoded names
	at    int
	found bool
}

// value returns the index after the value at i; false: give up.
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

// members notes where the names of the object at i begin.
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

// repeats looks for two equal names of one object.
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

// noted enters a name into the table, and reports whether an equal one is there.
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

// key is the name that begins at an offset, valid until the next one in the same place.
func (c *nameCheck) key(at int32, place int) []byte {
	end, _ := scanString(c.b, int(at))
	name := Quoted(c.b[at:end])
	if name.plain() {
		return name[1 : len(name)-1]
	}
	c.text[place], _ = jsontext.AppendUnquote(c.text[place][:0], []byte(name))
	return c.text[place]
}
