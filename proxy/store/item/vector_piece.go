package item

import (
	"bytes"
	"cmp"
	"container/heap"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/mapping/vectorindex"
)

// pieceShift is how often the pieces of a tenant double, from the first one of one vector.
const pieceShift = 7

// vectorPiece is some items' vectors beside each other, so that they are passed quickly.
type vectorPiece struct {
	flat    []float32
	entries []*vectorEntry
}

// vectorEntry is an item with its vectors, behind each other; none: it has other ones by now.
type vectorEntry struct {
	namespace []byte
	key       string
	numbers   []float32
}

// full reports whether a piece has no room for n numbers more. Its memory grows once, as its
// items refer to it.
func (p *vectorPiece) full(n int) bool { return len(p.flat)+n > cap(p.flat) }

func (p *vectorPiece) add(at itemName, numbers []float32) *vectorEntry {
	from := len(p.flat)
	p.flat = append(p.flat, numbers...)
	e := &vectorEntry{namespace: at.namespace, key: at.key, numbers: p.flat[from:len(p.flat):len(p.flat)]}
	p.entries = append(p.entries, e)
	return e
}

// wanted is what a search by meaning looks at: what the filter let pass, or all that is below
// one of the prefixes.
type wanted struct {
	query    []float32
	prefixes [][]byte        // paths; an empty one is above all
	passed   map[string]bool // by candidate.id; nil: there is no filter
	most     int             // of the best that are kept
}

func (w *wanted) has(namespace []byte, key string, id []byte) ([]byte, bool) {
	if w.passed != nil {
		id = append(append(append(id[:0], namespace...), 0), key...)
		return id, w.passed[string(id)]
	}
	for _, p := range w.prefixes {
		if len(p) == 0 || bytes.HasPrefix(namespace, p) && (len(namespace) == len(p) || namespace[len(p)] == '.') {
			return id, true
		}
	}
	return id, false
}

// score is the best of an item's vectors.
func (w *wanted) score(numbers []float32) float32 {
	best, dims := float32(-2), len(w.query)
	for ; len(numbers) >= dims; numbers = numbers[dims:] {
		best = max(best, vectorindex.Near(w.query, numbers[:dims]))
	}
	return best
}

// hit is an item that is near a query.
type hit struct {
	namespace []byte
	key       string
	score     float32
}

func (h hit) id() string { return string(h.namespace) + "\x00" + h.key }

// compareHits puts the best first, and what is alike in the order of namespaces and keys.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), bytes.Compare(a.namespace, b.namespace), strings.Compare(a.key, b.key))
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
func (w *wanted) look(p *vectorPiece, found *nearest, id []byte) []byte {
	for _, e := range p.entries {
		var ok bool
		if id, ok = w.has(e.namespace, e.key, id); ok && len(e.numbers) > 0 {
			found.offer(hit{e.namespace, e.key, w.score(e.numbers)}, w.most)
		}
	}
	return id
}

// atOnce is how many processors one search uses, where there is much to be looked at.
const atOnce = 2

// lookAll scores the items of many pieces.
func (w *wanted) lookAll(pieces []*vectorPiece) (found nearest) {
	var parts [atOnce]nearest
	var wg sync.WaitGroup
	for n := range atOnce {
		wg.Go(func() {
			var id []byte
			for i := n; i < len(pieces); i += atOnce {
				id = w.look(pieces[i], &parts[n], id)
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
