package protocol

import "slices"

// blocks holds the unfinished blocks of a message. The first one is being emitted. Blocks must not interleave (CDDL,
// section 8), so the others wait until it ends. A call that arrives in pieces ends when its arguments are complete and
// another piece follows, or when the message ends.
type blocks struct {
	open   []*block
	count  int             // including finished blocks
	closed map[string]bool // keys of finished calls, and "id" with their ids
}

func (bs *blocks) add(b *block) *block {
	b.index = bs.count
	bs.count++
	bs.open = append(bs.open, b)
	return b
}

// shift removes the first block, which has ended.
func (bs *blocks) shift() {
	b := bs.open[0]
	bs.open = bs.open[1:]
	if b.kind == blockCall {
		bs.closed[b.key], bs.closed["id"+b.id] = true, true
	}
}

// last returns the last block if it has the key, or nil.
func (bs *blocks) last(key string) *block {
	if n := len(bs.open); n > 0 && bs.open[n-1].key == key {
		return bs.open[n-1]
	}
	return nil
}

// lastKey returns the key of the last block if it is of that kind, or else the kind.
func (bs *blocks) lastKey(kind string) string {
	if n := len(bs.open); n > 0 && bs.open[n-1].kind == kind {
		return bs.open[n-1].key
	}
	return kind
}

// broken returns the call with the id if its arguments are incomplete, or nil.
func (bs *blocks) broken(id string) *block {
	for _, b := range bs.open {
		if b.isBroken() && !b.atOnce && b.id == id {
			return b
		}
	}
	return nil
}

// call returns the call to which a piece with the key belongs, or nil. Some agents send all calls with the same index
// but different ids (merge_lists in langchain_core).
func (bs *blocks) call(key, id string) *block {
	for _, b := range slices.Backward(bs.open) {
		if b.key == key && (id == "" || b.id == "" || b.id == id) {
			return b
		}
	}
	return nil
}

// isTold reports whether a piece belongs to a finished call. Once its arguments are complete, a call accepts no further
// pieces.
func (bs *blocks) isTold(key, id string) bool {
	if id != "" {
		return bs.closed["id"+id]
	}
	return bs.closed[key]
}

// hasCall reports whether there is a call with the id, ended or not.
func (bs *blocks) hasCall(id string) bool {
	is := func(b *block) bool { return b.kind == blockCall && b.id == id }
	return bs.closed["id"+id] || slices.ContainsFunc(bs.open, is)
}
