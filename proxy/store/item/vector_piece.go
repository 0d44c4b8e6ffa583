package item

import (
	"cmp"
	"container/heap"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/mapping/vectorindex"
)

// pieceShift is how often the pieces of a tenant double, from the first one of one vector.
const pieceShift = 7

// vectorPiece is some items' vectors beside each other, so that they are passed quickly: as they are, or each of their
// numbers in a byte.
type vectorPiece struct {
	exact     []float32
	rounded   []int8
	roundings []vectorindex.Rounding // one for each rounded vector
	entries   []vectorEntry
}

// vectorEntry is an item with the place of its vectors in a piece.
type vectorEntry struct {
	id          string // see itemName.id
	from, count int32  // in vectors; a count of 0: the item has other ones by now
}

// full reports whether a piece of vectors of so many numbers has no room for n numbers more.
func (p *vectorPiece) full(n int) bool {
	return len(p.exact)+n > cap(p.exact) && len(p.rounded)+n > cap(p.rounded)
}

// newVectorPiece has room for so many numbers.
func newVectorPiece(room, dims int, rounded bool) *vectorPiece {
	if rounded {
		return &vectorPiece{rounded: make([]int8, 0, room), roundings: make([]vectorindex.Rounding, 0, room/dims)}
	}
	return &vectorPiece{exact: make([]float32, 0, room)}
}

// roundingSize is the memory of a vectorindex.Rounding.
const roundingSize = 8

// size is what the vectors take.
func (p *vectorPiece) size() int64 {
	return int64(cap(p.exact)*vectorindex.Size + cap(p.rounded) + cap(p.roundings)*roundingSize)
}

// add puts an item's vectors, of dims numbers each, after the others.
func (p *vectorPiece) add(id string, numbers []float32, dims int) {
	from := (len(p.exact) + len(p.rounded)) / dims
	p.entries = append(p.entries, vectorEntry{id, int32(from), int32(len(numbers) / dims)})
	if p.rounded == nil {
		p.exact = append(p.exact, numbers...)
		return
	}
	for ; len(numbers) > 0; numbers = numbers[dims:] {
		var r vectorindex.Rounding
		p.rounded, r = vectorindex.AppendRounded(p.rounded, numbers[:dims])
		p.roundings = append(p.roundings, r)
	}
}

// replace writes as many vectors over those of an item.
func (p *vectorPiece) replace(e *vectorEntry, numbers []float32, dims int) {
	at := int(e.from)
	if p.rounded == nil {
		copy(p.exact[at*dims:], numbers)
		return
	}
	for ; len(numbers) > 0; numbers, at = numbers[dims:], at+1 {
		_, p.roundings[at] = vectorindex.AppendRounded(p.rounded[:at*dims], numbers[:dims]) // in its place, as there is room
	}
}

// round keeps the vectors of a piece in a quarter of their room.
func (p *vectorPiece) round(dims int) {
	r := newVectorPiece(cap(p.exact), dims, true)
	for _, e := range p.entries {
		r.add(e.id, p.exact[int(e.from)*dims:][:int(e.count)*dims], dims)
	}
	*p = *r
}

// wanted is what a search by meaning looks at: what the filter let pass, or all that is below one of the prefixes.
type wanted struct {
	query    []float32
	bounds   vectorindex.Bounds // of the query
	prefixes []string           // paths; an empty one is above all
	passed   map[string]bool    // by itemName.id; nil: there is no filter
	most     int                // of the best that are kept
}

func (w *wanted) has(id string) bool {
	if w.passed != nil {
		return w.passed[id]
	}
	for _, p := range w.prefixes {
		if rest, ok := strings.CutPrefix(id, p); ok && (p == "" || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "\x00")) {
			return true
		}
	}
	return false
}

// score is the best of an item's vectors.
func (w *wanted) score(numbers []float32) float32 {
	best, dims := float32(-2), len(w.query)
	for ; len(numbers) >= dims; numbers = numbers[dims:] {
		best = max(best, vectorindex.Near(w.query, numbers[:dims]))
	}
	return best
}

// scoreIn is the best of the vectors that an item has in a piece; where they are rounded, a bound of it.
func (w *wanted) scoreIn(p *vectorPiece, e *vectorEntry) float32 {
	dims := len(w.query)
	from, to := int(e.from), int(e.from+e.count)
	if p.rounded == nil {
		return w.score(p.exact[from*dims : to*dims])
	}
	best := float32(-2)
	for i := from; i < to; i++ {
		best = max(best, w.bounds.AtMost(p.rounded[i*dims:(i+1)*dims], p.roundings[i]))
	}
	return best
}

// hit is an item that is near a query.
type hit struct {
	id    string // see itemName.id
	score float32
}

// name is where the item stands.
func (h hit) name(tenant string) itemName {
	namespace, key, _ := strings.Cut(h.id, "\x00")
	return itemName{tenant, []byte(namespace), key}
}

// compareHits puts the best first, and what is alike in the order of namespaces and keys.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.id, b.id))
}

// nearest keeps the best hits, the worst of them on top.
type nearest []hit

func (n nearest) Len() int           { return len(n) }
func (n nearest) Less(i, j int) bool { return compareHits(n[i], n[j]) > 0 }
func (n nearest) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *nearest) Push(x any)        { *n = append(*n, x.(hit)) }

// Pop implements heap.Interface.
func (n *nearest) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}

func (n *nearest) offer(h hit, most int) {
	switch {
	case len(*n) < most:
		heap.Push(n, h)
	case compareHits(h, (*n)[0]) < 0:
		(*n)[0] = h
		heap.Fix(n, 0)
	}
}

// look scores the items of a piece.
func (w *wanted) look(p *vectorPiece, found *nearest) {
	for i := range p.entries {
		if e := &p.entries[i]; e.count > 0 && w.has(e.id) {
			found.offer(hit{e.id, w.scoreIn(p, e)}, w.most)
		}
	}
}

// atOnce is how many processors one search uses, where there is much to be looked at.
const atOnce = 2

// lookAll scores the items of many pieces.
func (w *wanted) lookAll(pieces []*vectorPiece) (found nearest) {
	var parts [atOnce]nearest
	var wg sync.WaitGroup
	for n := range atOnce {
		wg.Go(func() {
			for i := n; i < len(pieces); i += atOnce {
				w.look(pieces[i], &parts[n])
			}
		})
	}
	wg.Wait()
	for _, part := range parts {
		for _, h := range part {
			found.offer(h, w.most)
		}
	}
	return found
}
