package item

import (
	"cmp"
	"container/heap"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/mapping/vectorindex"
)

// pieceShift is the number of times that the size of a tenant's pieces doubles, starting with one vector.
const pieceShift = 7

// vectorPiece stores the vectors of several items contiguously, so that scanning is fast.
type vectorPiece struct {
	numbers []float32
	entries []vectorEntry
}

// vectorEntry is the position of an item's vectors in a piece.
type vectorEntry struct {
	id          string // see itemName.id
	from, count int32  // in vectors; a count of 0 means that the item's vectors are elsewhere now
}

// full reports whether a piece has no space for n more numbers.
func (p *vectorPiece) full(n int) bool { return len(p.numbers)+n > cap(p.numbers) }

// newVectorPiece returns a piece with space for room numbers.
func newVectorPiece(room int) *vectorPiece { return &vectorPiece{numbers: make([]float32, 0, room)} }

// size returns the bytes used by the vectors.
func (p *vectorPiece) size() int64 { return int64(cap(p.numbers) * vectorindex.Size) }

// add appends an item's vectors, of dims numbers each.
func (p *vectorPiece) add(id string, numbers []float32, dims int) {
	p.entries = append(p.entries, vectorEntry{id, int32(len(p.numbers) / dims), int32(len(numbers) / dims)})
	p.numbers = append(p.numbers, numbers...)
}

// of returns the numbers of an item.
func (p *vectorPiece) of(e *vectorEntry, dims int) []float32 {
	return p.numbers[int(e.from)*dims:][:int(e.count)*dims]
}

// wanted describes a search by meaning: items that pass the filter, or all below one of the prefixes.
type wanted struct {
	query    []float32
	prefixes []string              // paths; an empty one contains all
	passed   map[string]bool       // by itemName.id; nil if there is no filter or it has not been applied yet
	text     map[string]*candidate // items with words of the query, by itemName.id
	most     int                   // number of best items kept
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

// offer scores an item by the best of its vectors and by its words.
func (w *wanted) offer(found *nearest, id string, numbers []float32) {
	text := w.text[id]
	if text != nil && !text.current {
		return // the vectors belong to an earlier value
	}
	near, dims := float32(-2), len(w.query)
	for ; len(numbers) >= dims; numbers = numbers[dims:] {
		near = max(near, vectorindex.Near(w.query, numbers[:dims]))
	}
	words := 0.0
	if text != nil {
		text.near, words = true, text.words
	}
	found.offer(hit{id, vectorindex.Fuse(near, words)}, w.most)
}

// hit is an item that matches a query.
type hit struct {
	id    string // see itemName.id
	score float64
}

func (h hit) name(tenant string) itemName {
	namespace, key, _ := strings.Cut(h.id, "\x00")
	return itemName{tenant, []byte(namespace), key}
}

// compareHits orders hits by descending score, then by namespace and key.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.id, b.id))
}

// nearest keeps the best hits as a heap with the worst on top.
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
			w.offer(found, e.id, p.of(e, len(w.query)))
		}
	}
}

// atOnce is the number of processors one search uses.
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

// search returns the best items. ok is false if their vectors are not in memory.
func (v *tenantVectors) search(w *wanted) (found nearest, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	switch {
	case !v.kept():
		return nil, false
	case w.passed == nil:
		return w.lookAll(v.pieces), true
	}
	for id := range w.passed {
		if place, ok := v.at[id]; ok {
			p := v.pieces[place.piece]
			w.offer(&found, id, p.of(&p.entries[place.entry], len(w.query)))
		}
	}
	return found, true
}

// count returns how many items have vectors. ok is false if the vectors are not in memory.
func (v *tenantVectors) count() (n int, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.at), v.kept()
}

// kept reports whether the vectors are in memory: they fit, and the last read succeeded.
func (v *tenantVectors) kept() bool { return !v.large && v.generation >= 0 }
