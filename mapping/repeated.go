package mapping

import "bytes"

// RepeatedName finds an object, at any depth, that names one key twice, and returns
// the offset of the second name. b must be one JSON value in valid UTF-8. It takes linear
// time, and up to 24 bytes for each name of the objects that are open at a time.
func RepeatedName(b []byte) (offset int, found bool) {
	c := nameCheck{b: b}
	c.value(skipSpace(b, 0), 0)
	return c.at, c.found
}

type nameCheck struct {
	b     []byte
	names []span // of the open objects
	at    int
	found bool
}

type span struct{ from, to int32 }

// value returns the index behind the value at i; false: give up.
func (c *nameCheck) value(i, depth int) (int, bool) {
	switch {
	case i >= len(c.b) || depth > maxDepth:
		return i, false
	case c.b[i] == '{':
		return c.object(i, depth)
	case c.b[i] == '[':
		return walkElements(c.b, i, func(_ []byte, i int) (int, bool) { return c.value(i, depth+1) })
	}
	return scanValue(c.b, i, depth)
}

func (c *nameCheck) object(i, depth int) (int, bool) {
	from := len(c.names)
	var many *places
	defer func() { c.names = c.names[:from] }()
	i = skipSpace(c.b, i+1)
	if i < len(c.b) && c.b[i] == '}' {
		return i + 1, true
	}
	for {
		end, ok := scanString(c.b, i)
		if !ok || c.repeats(from, &many, span{int32(i), int32(end)}) {
			return i, false
		}
		if i = skipSpace(c.b, end); i >= len(c.b) || c.b[i] != ':' {
			return i, false
		}
		if i, ok = c.value(skipSpace(c.b, i+1), depth+1); !ok {
			return i, false
		}
		if i = skipSpace(c.b, i); i >= len(c.b) || c.b[i] != ',' {
			return i + 1, i < len(c.b)
		}
		i = skipSpace(c.b, i+1)
	}
}

// repeats notes a name of the object whose names begin at from; many is used
// once they are.
func (c *nameCheck) repeats(from int, many **places, name span) bool {
	key := keyBytes(c.b[name.from:name.to])
	is := func(at int) bool { return bytes.Equal(c.key(from+at), key) }
	if n := len(c.names) - from; n >= manyMembers {
		if *many == nil {
			*many = newPlaces(n)
		}
		for at := (*many).used; at < n; at++ { // all differ
			(*many).put((*many).hash(c.key(from+at)), at, nothing)
		}
		c.found = (*many).find((*many).hash(key), is) >= 0
	} else {
		for at := 0; at < n && !c.found; at++ {
			c.found = is(at)
		}
	}
	if c.at = int(name.from); !c.found {
		c.names = append(c.names, name)
	}
	return c.found
}

func (c *nameCheck) key(i int) []byte {
	n := c.names[i]
	return keyBytes(c.b[n.from:n.to])
}

// nothing is no key: for one that is known not to be there.
func nothing(int) bool { return false }
