package eventlog

import (
	"sort"
	"sync"

	"github.com/apbridge/apbridge/mapping"
)

// tailEntries and tailBytes bound what a tail holds; readers further behind
// read the store until they reach it. The newest entry is always held.
const (
	tailEntries = 2048
	tailBytes   = 16 << 20
)

// Tail is the newest part of one run's log, with the state folded at every
// entry. One writer publishes, any number of readers follow. Safe for
// concurrent use.
type Tail struct {
	run       mapping.Run // as it was when the tail was made
	published func()      // called when entries are published, without the lock; nil: no call
	users     int         // readers and executions; guarded by Log.mu

	mu      sync.Mutex
	base    *mapping.Fold // state before the run's first event; nil until known
	entries []*mapping.Entry
	bytes   int           // what entries weigh
	dropped bool          // entries before the first one held exist in the store only
	last    int64         // newest Seq published
	ended   bool          // the end event is published
	gone    bool          // the run was deleted
	stalled error         // why the run's end cannot be written at the moment; nil: nothing is known of that
	owners  int           // executions in this process that publish
	readers int           // who of this process follows entry by entry
	changed chan struct{} // closed at every publication
	settled chan struct{} // closed when the run ends or goes, or its execution leaves it
}

func newTail(run *mapping.Run) *Tail {
	return &Tail{run: *run, changed: make(chan struct{}), settled: make(chan struct{})}
}

// Begin says what there is before an execution publishes anything: the state
// before the run's first event and, when the run is picked up again, the
// entries already logged.
func (t *Tail) Begin(base *mapping.Fold, logged []*mapping.Entry) {
	t.setBase(base)
	t.Publish(logged)
}

// Publish appends entries that are durable and wakes the readers. Entries that
// are not newer than what is there are left out.
func (t *Tail) Publish(entries []*mapping.Entry) {
	if len(entries) == 0 {
		return
	}
	t.publish(entries)
	if t.published != nil {
		t.published()
	}
}

func (t *Tail) publish(entries []*mapping.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		if e.Seq <= t.last {
			continue
		}
		t.entries = append(t.entries, e)
		t.bytes += weight(e)
		t.last = e.Seq
		t.ended = t.ended || e.Kind == mapping.KindEnd
	}
	t.stalled = nil
	t.cut()
	t.wake()
	if t.ended {
		t.settle()
	}
}

// Stall tells readers why the end of the run, which its execution goes on trying to write, does not come: they get
// what there is, and then err. It is over with what is published next, or when the execution leaves.
func (t *Tail) Stall(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stalled = err
	t.wake()
	t.settle()
}

// settle must be called with the lock held.
func (t *Tail) settle() {
	close(t.settled)
	t.settled = make(chan struct{})
}

// cut drops the older half when there is too much.
func (t *Tail) cut() {
	if len(t.entries) <= tailEntries && t.bytes <= tailBytes {
		return
	}
	from := 0
	for ; from < len(t.entries)-1; from++ {
		if len(t.entries)-from <= tailEntries/2 && t.bytes <= tailBytes/2 {
			break
		}
		t.bytes -= weight(t.entries[from])
	}
	if from == 0 {
		return
	}
	t.entries, t.dropped = append([]*mapping.Entry(nil), t.entries[from:]...), true
}

// weight is about how many bytes an entry holds on to once its state was read.
func weight(e *mapping.Entry) int {
	n := len(e.Data)
	if e.After != e.Before && e.After != nil {
		n += e.After.Size()
	}
	return n
}

// wake must be called with the lock held.
func (t *Tail) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// ring wakes the readers although nothing was published.
func (t *Tail) ring() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wake()
}

// view is what a reader sees of a tail at one moment.
type view struct {
	entries []*mapping.Entry // after the asked position, as far as they are held
	gap     bool             // entries between the position and those may be in the store only
	ended   bool
	gone    bool
	stalled error
	owned   bool
	changed <-chan struct{}
	settled <-chan struct{}
}

// after returns the entries with Seq > seq.
func (t *Tail) after(seq int64) view {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := view{ended: t.ended, gone: t.gone, stalled: t.stalled, owned: t.owners > 0, changed: t.changed, settled: t.settled}
	i := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].Seq > seq })
	v.gap = i == 0 && t.dropped && !t.begins(seq+1)
	v.entries = t.entries[i:len(t.entries):len(t.entries)]
	return v
}

// begins reports whether the first entry held has this number.
func (t *Tail) begins(seq int64) bool { return len(t.entries) > 0 && t.entries[0].Seq == seq }

// newest returns the fold after the newest entry, and its Seq. needed is false
// when the store has nothing to add: the run has ended, or is executed here.
func (t *Tail) newest() (f *mapping.Fold, last int64, needed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	needed = t.owners == 0 && !t.ended && !t.gone
	if n := len(t.entries); n > 0 {
		return t.entries[n-1].After, t.last, needed
	}
	return t.base, t.last, needed
}

// setBase notes the state before the run's first event, and returns what was
// noted first: a reader that looked before the run began may come late.
func (t *Tail) setBase(f *mapping.Fold) *mapping.Fold {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base == nil {
		t.base = f
	}
	return t.base
}

// own counts executions: the one that parked a run may leave after the one
// that goes on with it has come.
func (t *Tail) own(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owners += n
	t.wake()
	if t.owners == 0 {
		t.stalled = nil
		t.settle()
	}
}

// follow is called by a reader that wants every entry as it comes, before it flushes
// and reads; a call of unfollow must come later.
func (t *Tail) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers++
}

func (t *Tail) unfollow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers--
}

// Followed reports whether a reader in this process wants every entry as it comes,
// and not just the end.
func (t *Tail) Followed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.readers > 0
}

// weighs is what is kept when the tail is, and whether it is worth keeping.
func (t *Tail) weighs() (bytes int, worth bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bytes = t.bytes + len(t.run.Kwargs) + len(t.run.Options.Input) + len(t.run.Options.Config) + len(t.run.Options.Context)
	if t.dropped && len(t.entries) > 0 {
		bytes += t.entries[0].Before.Size() // what the entries before it weighed is in this state
	}
	return bytes + len(t.entries)*entryBytes, !t.gone && t.last > 0 && bytes <= keptTail
}

// remove ends every reader: the run is no more.
func (t *Tail) remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.wake()
	t.settle()
}
