package eventlog

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// bufferEntries and bufferBytes limit a buffer. Readers that lag further behind read the store until they catch up. The
// newest entry is always held. While there are followers, at most twice bufferTail of the entries that all of them have
// read are held, because a stream may last for hours.
const (
	bufferEntries = 2048
	bufferBytes   = 16 << 20
	bufferTail    = 128
)

// RunBuffer holds the newest part of one run's log, with the state folded at every entry. One writer publishes to any
// number of readers. Safe for concurrent use.
type RunBuffer struct {
	run       mapping.Run // as it was at the buffer's creation
	published func()      // called without the lock when entries are published; may be nil
	users     int         // readers and executions; guarded by Log.mu

	mu      sync.Mutex
	base    *state.Fold // state before the run's first event; nil until known
	entries []*state.Entry
	bytes   int           // weight of entries
	last    int64         // newest Seq published
	dropped bool          // earlier entries exist only in the store
	ended   bool          // the end event has been published
	gone    bool          // the run was deleted
	stalled error         // why the run's end cannot be written at the moment, or nil
	owners  int           // executions in this process that publish
	begun   chan struct{} // closed by the first Begin, or when the execution has left; nil afterwards
	places  []*cursor     // readers of this process that follow entry by entry
	changed *signal       // for the next publication
	settled chan struct{} // closed when the run ends or is deleted, or its execution leaves it
}

func newRunBuffer(run *mapping.Run) *RunBuffer {
	return &RunBuffer{run: *run, changed: newSignal(), settled: make(chan struct{})}
}

// Begin records what exists before an execution publishes: the state before the run's first event and, if the run is
// resumed, the entries already logged.
func (b *RunBuffer) Begin(base *state.Fold, logged []*state.Entry) {
	b.setBase(base)
	b.Publish(logged)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
}

// begin releases the waiters of awaitBegin. The lock must be held.
func (b *RunBuffer) begin() {
	if b.begun != nil {
		close(b.begun)
		b.begun = nil
	}
}

// awaitBegin waits until a newly started execution has called Begin. Until then the buffer may lack entries that other
// processes have logged, and the store may not be read instead.
func (b *RunBuffer) awaitBegin(ctx context.Context) error {
	b.mu.Lock()
	begun := b.begun
	b.mu.Unlock()
	if begun == nil {
		return nil
	}
	select {
	case <-begun:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Publish appends durable entries and wakes the readers. It ignores entries that are not newer than the present ones.
func (b *RunBuffer) Publish(entries []*state.Entry) {
	if len(entries) == 0 {
		return
	}
	b.publish(entries)
	if b.published != nil {
		b.published()
	}
}

func (b *RunBuffer) publish(entries []*state.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range entries {
		if e.Seq <= b.last {
			continue
		}
		b.entries = append(b.entries, e)
		b.bytes += weight(e)
		b.last = e.Seq
		b.ended = b.ended || e.Kind == mapping.KindEnd
	}
	b.stalled = nil
	b.trim()
	b.wakeLocked()
	if b.ended {
		b.notifyDone()
	}
}

// Stall gives readers the reason why the end of the run, which its execution keeps trying to write, is delayed. They
// get the present entries and then err. This ends with the next publication, or when the execution leaves.
func (b *RunBuffer) Stall(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stalled = err
	b.wakeLocked()
	b.notifyDone()
}

// notifyDone must be called with the lock held.
func (b *RunBuffer) notifyDone() {
	close(b.settled)
	b.settled = make(chan struct{})
}

// trim drops entries that every follower has read. If the buffer is still too large, it drops the older half.
func (b *RunBuffer) trim() {
	b.drop(b.readByAll())
	if len(b.entries) <= bufferEntries && b.bytes <= bufferBytes {
		return
	}
	from, left := 0, b.bytes
	for ; from < len(b.entries)-1 && (len(b.entries)-from > bufferEntries/2 || left > bufferBytes/2); from++ {
		left -= weight(b.entries[from])
	}
	b.drop(from)
}

// readByAll returns the number of entries, from the first, that no follower still needs. It returns 0 if they are only
// a few, because dropping some copies the others. A new follower may want the newest.
func (b *RunBuffer) readByAll() int {
	if len(b.places) == 0 || len(b.entries) < 2*bufferTail {
		return 0
	}
	least := b.last
	for _, p := range b.places {
		least = min(least, p.seq)
	}
	if n := min(b.index(least), len(b.entries)-bufferTail); n >= bufferTail {
		return n
	}
	return 0
}

func (b *RunBuffer) drop(n int) {
	if n == 0 {
		return
	}
	for _, e := range b.entries[:n] {
		b.bytes -= weight(e)
	}
	b.entries, b.dropped = slices.Clone(b.entries[n:]), true
}

// index returns the index of the first entry with Seq > seq.
func (b *RunBuffer) index(seq int64) int {
	return sort.Search(len(b.entries), func(i int) bool { return b.entries[i].Seq > seq })
}

// weight returns the approximate number of bytes that an entry keeps in memory once its state was read.
func weight(e *state.Entry) int {
	n := len(e.Data) + len(e.Head.Native)
	if e.After != e.Before && e.After != nil {
		n += e.After.Size()
	}
	return n
}

// wakeLocked must be called with the lock held.
func (b *RunBuffer) wakeLocked() {
	b.changed.at = time.Now()
	close(b.changed.done)
	b.changed = newSignal()
}

// wake wakes the readers without a publication.
func (b *RunBuffer) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeLocked()
}

// signal wakes readers once.
type signal struct {
	done chan struct{} // closed when it fires
	at   time.Time     // the time at which it fired; may be read after done
}

func newSignal() *signal { return &signal{done: make(chan struct{})} }

// view is a snapshot of a buffer for a reader.
type view struct {
	entries []*state.Entry // after the requested position, if held
	gap     bool           // entries between the position and entries may exist only in the store
	ended   bool
	gone    bool
	stalled error
	owned   bool
	changed <-chan struct{}
	ring    *signal // of changed
	settled <-chan struct{}
}

// after returns the entries with Seq > seq. by, which may be nil, is the cursor of a follower that has read everything
// up to seq.
func (b *RunBuffer) after(seq int64, by *cursor) view {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by != nil {
		by.seq = seq
	}
	v := view{ended: b.ended, gone: b.gone, stalled: b.stalled, owned: b.owners > 0, changed: b.changed.done, ring: b.changed, settled: b.settled}
	i := b.index(seq)
	v.gap = i == 0 && b.dropped && !b.begins(seq+1)
	v.entries = b.entries[i:len(b.entries):len(b.entries)]
	return v
}

// begins reports whether the first held entry has this number.
func (b *RunBuffer) begins(seq int64) bool { return len(b.entries) > 0 && b.entries[0].Seq == seq }

// newest returns the fold after the newest entry and its Seq. needed is false if the store cannot have more: the run
// has ended, or is executed here.
func (b *RunBuffer) newest() (f *state.Fold, last int64, needed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	needed = b.owners == 0 && !b.ended && !b.gone
	if n := len(b.entries); n > 0 {
		return b.entries[n-1].After, b.last, needed
	}
	return b.base, b.last, needed
}

// setBase records the state before the run's first event and returns the one recorded first, because a reader that
// queried before the run began may be late.
func (b *RunBuffer) setBase(f *state.Fold) *state.Fold {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == nil {
		b.base = f
	}
	return b.base
}

// own counts executions. The one that parked a run may leave after the one that continues it has started.
func (b *RunBuffer) own(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owners == 0 {
		b.begun = make(chan struct{})
	}
	b.owners += n
	b.wakeLocked()
	if b.owners == 0 {
		b.begin()
		b.stalled = nil
		b.notifyDone()
	}
}

// cursor is the position up to which a follower has read. Only the buffer uses it.
type cursor struct{ seq int64 }

// follow registers a reader that wants every entry after seq as it is published. It is called before the reader flushes
// and reads; the caller must call unfollow.
func (b *RunBuffer) follow(seq int64) *cursor {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &cursor{seq}
	b.places = append(b.places, p)
	return p
}

func (b *RunBuffer) unfollow(p *cursor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places = slices.DeleteFunc(b.places, func(q *cursor) bool { return q == p })
}

// Followed reports whether a reader in this process wants every entry as it is published, and not only the end.
func (b *RunBuffer) Followed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.places) > 0
}

// cacheCost returns the size of a kept buffer in bytes, and whether it is worth keeping.
func (b *RunBuffer) cacheCost() (bytes int, worth bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes = b.bytes + len(b.run.Kwargs) + len(b.run.Options.Input) + len(b.run.Options.Config) + len(b.run.Options.Context)
	if b.dropped && len(b.entries) > 0 {
		bytes += b.entries[0].Before.Size() // this state includes the weight of the dropped entries
	}
	return bytes + len(b.entries)*entryBytes, !b.gone && b.last > 0 && bytes <= keptBuffer
}

// remove ends every reader because the run was deleted.
func (b *RunBuffer) remove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	b.wakeLocked()
	b.notifyDone()
}
