package protocol

import "slices"

// blocks are the blocks of a message that have not ended. The first is being told. Blocks do not interleave (CDDL,
// section 8), so the others wait until it ends: a call that comes in pieces when something came after it and its
// arguments are whole, at the latest with the message.
type blocks struct {
	open   []*block
	count  int             // with those that have ended
	closed map[string]bool // keys of calls, and "id" with their ids
}

func (bs *blocks) add(b *block) *block {
	b.index = bs.count
	bs.count++
	bs.open = append(bs.open, b)
	return b
}

// shift takes the first block away, which has ended.
func (bs *blocks) shift() {
	b := bs.open[0]
	bs.open = bs.open[1:]
	if b.kind == blockCall {
		bs.closed[b.key], bs.closed["id"+b.id] = true, true
	}
}

// last is the last block, where it has a key; else nil.
func (bs *blocks) last(key string) *block {
	if n := len(bs.open); n > 0 && bs.open[n-1].key == key {
		return bs.open[n-1]
	}
	return nil
}

// lastKey is the key of the last block if it is of that kind; else the kind.
func (bs *blocks) lastKey(kind string) string {
	if n := len(bs.open); n > 0 && bs.open[n-1].kind == kind {
		return bs.open[n-1].key
	}
	return kind
}

// broken is the call of that id whose arguments are not whole; nil if there is none.
func (bs *blocks) broken(id string) *block {
	for _, b := range bs.open {
		if b.isBroken() && !b.atOnce && b.id == id {
			return b
		}
	}
	return nil
}

// call is the call that a piece with a key belongs to; nil where there is none. Some agents have all calls come under
// the same index, each with an id of its own (merge_lists in langchain_core).
func (bs *blocks) call(key, id string) *block {
	for _, b := range slices.Backward(bs.open) {
		if b.key == key && (id == "" || b.id == "" || b.id == id) {
			return b
		}
	}
	return nil
}

// isTold reports whether a piece belongs to a call that has ended. Nothing can belong to arguments that are whole.
func (bs *blocks) isTold(key, id string) bool {
	if id != "" {
		return bs.closed["id"+id]
	}
	return bs.closed[key]
}

// hasCall reports whether there is a call of that id, told or not.
func (bs *blocks) hasCall(id string) bool {
	is := func(b *block) bool { return b.kind == blockCall && b.id == id }
	return bs.closed["id"+id] || slices.ContainsFunc(bs.open, is)
}
