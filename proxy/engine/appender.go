package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

const (
	maxQueued  = 256                   // pieces; a backend that is faster waits
	tokenBatch = 64                    // tokens that are written together
	soonDelay  = 10 * time.Millisecond // how long a piece that may wait waits for company
)

// urgency says how long a piece may wait to be written together with others.
type urgency int

const (
	now  urgency = iota
	soon         // up to soonDelay
)

// piece is one event on its way into the store, with what belongs to it.
type piece struct {
	entry     *mapping.Entry
	snapshot  []byte
	link      *mapping.Link
	files     []store.FileWrite
	drop      []string
	artifacts []string
	again     bool // says all that one like it said that is queued right before
}

// appender writes a run's events in order, as many in one transaction as were
// queued while the one before was written, and publishes them when they are
// durable. push is called by one goroutine; the rest is safe for concurrent use.
type appender struct {
	x *execution

	mu      sync.Mutex
	queue   []piece
	writing bool // a goroutine is writing
	armed   bool // a timer will start one
	err     error
	idle    sync.Cond // signalled when writing ends, or the queue shrinks
}

func newAppender(x *execution) *appender {
	a := &appender{x: x}
	a.idle.L = &a.mu
	return a
}

// push queues a piece. It returns the error of an earlier write.
func (a *appender) push(p piece, u urgency) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) >= maxQueued && a.err == nil {
		a.start()
		a.idle.Wait()
	}
	if a.err != nil {
		return a.err
	}
	if n := len(a.queue); n > 0 && p.again && a.queue[n-1].again {
		a.queue = a.queue[:n-1]
	}
	a.queue = append(a.queue, p)
	if u == soon && len(a.queue) < tokenBatch {
		a.arm()
	} else {
		a.start()
	}
	return nil
}

// arm and start must be called with the lock held.
func (a *appender) arm() {
	if a.armed || a.writing {
		return
	}
	a.armed = true
	time.AfterFunc(soonDelay, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.armed = false
		a.start()
	})
}

func (a *appender) start() {
	if a.writing || len(a.queue) == 0 || a.err != nil {
		return
	}
	a.writing = true
	go a.write()
}

// write empties the queue.
func (a *appender) write() {
	a.mu.Lock()
	for len(a.queue) > 0 && a.err == nil {
		batch := a.queue
		a.queue = nil
		a.idle.Broadcast()
		a.mu.Unlock()
		err := a.commit(a.x.e.scope(context.Background(), a.x.run), batch, nil)
		a.mu.Lock()
		a.err = errors.Join(a.err, err)
	}
	a.writing = false
	a.idle.Broadcast()
	a.mu.Unlock()
}

// drain returns when nothing is queued or being written.
func (a *appender) drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.start()
	for a.writing {
		a.idle.Wait()
	}
}

// close writes what is queued together with the last piece, if any, and the
// end of the run, and returns when that is durable.
func (a *appender) close(ctx context.Context, last *piece, end *store.End) error {
	a.mu.Lock()
	for a.writing {
		a.idle.Wait()
	}
	batch, err := a.queue, a.err
	a.queue = nil
	a.mu.Unlock()
	if err != nil && !storeFull(err) {
		return err
	}
	if last != nil {
		batch = append(batch, *last)
	}
	return a.commit(ctx, batch, end)
}

func storeFull(err error) bool { return mapping.Classify(err).Class == mapping.StorageFull }

// commit is one transaction; its entries are published after it.
func (a *appender) commit(ctx context.Context, batch []piece, end *store.End) error {
	w := store.Append{ThreadID: a.x.run.ThreadID, RunID: a.x.run.ID, Fence: a.x.fence, End: end, Relaxed: end == nil}
	for _, p := range batch {
		gather(&w, p)
	}
	logged, _, err := a.x.e.st.AppendRun(ctx, w)
	if err != nil {
		return err
	}
	entries := make([]*mapping.Entry, len(batch))
	for i := range batch {
		e := batch[i].entry
		e.Seq = logged[i].Seq
		e.Head.Checkpoint = logged[i].Head.Checkpoint
		entries[i] = e
	}
	a.x.tail.Publish(entries)
	return nil
}

func gather(w *store.Append, p piece) {
	ev := p.entry.Event
	w.Events = append(w.Events, ev)
	w.Relaxed = w.Relaxed && ev.Kind == mapping.KindDelta
	if p.snapshot != nil {
		if w.Snapshots == nil {
			w.Snapshots = map[string][]byte{}
		}
		w.Snapshots[ev.Head.Checkpoint.ID] = p.snapshot
	}
	if ev.Kind == mapping.KindLinked {
		w.Links = putLink(w.Links, *ev.Head.Link)
	}
	if p.link != nil {
		w.Links = putLink(w.Links, *p.link)
	}
	w.Files = append(w.Files, p.files...)
	w.DropFiles = append(w.DropFiles, p.drop...)
	w.Artifacts = append(w.Artifacts, p.artifacts...)
}

// putLink adds a link in place of an older one of the same thread or task.
func putLink(list []mapping.Link, l mapping.Link) []mapping.Link {
	for i := range list {
		if list[i].Agent == l.Agent && list[i].TaskID == l.TaskID {
			list[i] = l
			return list
		}
	}
	return append(list, l)
}

func (a *appender) fenced() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Is(a.err, store.ErrFenced)
}
