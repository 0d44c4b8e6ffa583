package eventlog

import (
	"sort"
	"sync"

	"github.com/apbridge/apbridge/mapping"
)

// tailKept bounds the entries a tail holds; readers further behind read the
// store until they reach it.
const tailKept = 2048

// Tail is the newest part of one run's log, with the state folded at every
// entry. One writer publishes, any number of readers follow. Safe for
// concurrent use.
type Tail struct {
	run mapping.Run // as it was when the tail was made

	mu      sync.Mutex
	base    *mapping.Fold // state before the run's first event; nil until known
	entries []*mapping.Entry
	dropped bool          // entries before the first one held exist in the store only
	last    int64         // newest Seq published
	ended   bool          // the end event is published
	gone    bool          // the run was deleted
	owned   bool          // an execution in this process publishes
	changed chan struct{} // closed at every publication
	settled chan struct{} // closed when the run ends or goes, or its execution leaves it
}

func newTail(run mapping.Run) *Tail {
	return &Tail{run: run, changed: make(chan struct{}), settled: make(chan struct{})}
}

// Publish appends entries that are durable and wakes the readers.
func (t *Tail) Publish(entries []*mapping.Entry) {
	if len(entries) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		if e.Seq <= t.last {
			continue
		}
		t.entries = append(t.entries, e)
		t.last = e.Seq
		t.ended = t.ended || e.Kind == mapping.KindEnd
	}
	if len(t.entries) > tailKept {
		kept := make([]*mapping.Entry, tailKept/2, tailKept)
		copy(kept, t.entries[len(t.entries)-tailKept/2:])
		t.entries, t.dropped = kept, true
	}
	t.wake()
	if t.ended {
		t.settle()
	}
}

// settle must be called with the lock held.
func (t *Tail) settle() {
	close(t.settled)
	t.settled = make(chan struct{})
}

// wake must be called with the lock held.
func (t *Tail) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// view is what a reader sees of a tail at one moment.
type view struct {
	entries []*mapping.Entry // after the asked position
	gap     bool             // entries between the position and the tail are in the store only
	ended   bool
	gone    bool
	owned   bool
	changed <-chan struct{}
	settled <-chan struct{}
}

// after returns the entries with Seq > seq.
func (t *Tail) after(seq int64) view {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := view{ended: t.ended, gone: t.gone, owned: t.owned, changed: t.changed, settled: t.settled}
	i := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].Seq > seq })
	v.gap = i == 0 && t.dropped
	if !v.gap {
		v.entries = t.entries[i:len(t.entries):len(t.entries)]
	}
	return v
}

// end is the newest entry of an ended run, its end event.
func (t *Tail) end() *mapping.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[len(t.entries)-1]
}

// newest returns the fold after the newest entry, and its Seq.
func (t *Tail) newest() (*mapping.Fold, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.entries); n > 0 {
		return t.entries[n-1].After, t.last
	}
	return t.base, t.last
}

// weight is about how many bytes the tail holds on to once every state in it
// was read.
func (t *Tail) weight() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		n += len(e.Data)
		if e.After != e.Before {
			n += e.After.Size()
		}
	}
	return n
}

func (t *Tail) setBase(f *mapping.Fold) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base = f
}

func (t *Tail) setOwned(owned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owned = owned
	t.wake()
	if !owned {
		t.settle()
	}
}

// remove ends every reader: the run is no more.
func (t *Tail) remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.wake()
	t.settle()
}
