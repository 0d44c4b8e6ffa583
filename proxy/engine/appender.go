package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

const (
	maxQueued = 256 // pieces; a backend that is faster waits
	enough    = 64  // pieces that wait for no more
)

// patience says how long a piece may wait to be written together with others. A token waits for none: readers see it as
// late as it is written, and those that come in a crowd are written together because each write takes a while. A
// stateful agent's own ids (links) are not needed before its first output, and are written with it.
type patience = time.Duration

const (
	tokens patience = 0
	steps  patience = 2 * time.Millisecond
	links  patience = 100 * time.Millisecond
)

// piece is one event on its way into the store, with what belongs to it.
type piece struct {
	entry     *state.Entry
	snapshot  []byte
	link      *mapping.Link
	files     []artifact.FileWrite
	drop      []string
	artifacts []string
	point     statePoint // where the recorder stands after it
	late      bool       // is written with the end, or when the queue is drained
	again     bool       // says all that one like it said that is queued right before
}

// appender writes a run's events in order, as many in one transaction as were queued while the one before was written,
// and publishes them when they are durable. push is called by one goroutine; the rest is safe for concurrent use.
type appender struct {
	run        *store.Claimed
	buffer     *eventlog.RunBuffer
	events     *store.Events
	flush      func() error
	background *background
	counted    func([]piece) // is told of what was committed

	mu      sync.Mutex
	queue   []piece
	doing   doing       // one of appenderWaits, appenderWrites, appenderCloses
	due     time.Time   // when timer has the queue written; zero: it does not
	timer   *time.Timer // nil: never needed so far
	err     error       // why nothing is written any more but by close
	durable statePoint  // where the recorder stood after the last piece written
	logged  int64       // number of that piece's event, or of the newest one found in the log
	idle    sync.Cond   // signalled when writing ends, or the queue shrinks
}

// doing is the state of an appender.
type doing int

const (
	appenderWaits  doing = iota // for pieces, or until they are due
	appenderWrites              // one goroutine commits what is ready, until nothing is
	appenderCloses              // only close commits
)

// errSettled takes the place of store.ErrUnknown once the log has shown whether the commit took place.
var errSettled = errors.New("it was found out whether a commit took place")

func newAppender(x *execution, at statePoint, logged int64) *appender {
	a := &appender{
		run: x.Claimed, buffer: x.buffer, events: x.works.events, flush: x.works.flush, background: x.works.background,
		counted: account{x}.countLogged, durable: at, logged: logged,
	}
	a.idle.L = &a.mu
	return a
}

// push queues a piece, to be written within wait. It returns the error of an earlier write.
func (a *appender) push(p piece, wait patience) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.put(p); err != nil {
		return err
	}
	if wait > 0 && len(a.queue) < enough {
		a.startIn(wait)
	} else {
		a.start()
	}
	return nil
}

// pushNow queues a piece and writes it, with all before it, on the caller's goroutine. It returns when that is
// committed, or why it is not.
func (a *appender) pushNow(p piece) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.put(p); err != nil {
		return err
	}
	a.waitWritten()
	return a.err
}

// put queues a piece when there is room. The lock must be held.
func (a *appender) put(p piece) error {
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
	return nil
}

// startIn and start must be called with the lock held.
func (a *appender) startIn(wait patience) {
	at := time.Now().Add(wait)
	switch {
	case a.doing != appenderWaits || !a.due.IsZero() && a.due.Before(at):
		return
	case a.timer == nil:
		a.timer = time.AfterFunc(wait, a.waited)
	default:
		a.timer.Reset(wait)
	}
	a.due = at
}

func (a *appender) waited() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = time.Time{}
	a.start()
}

func (a *appender) start() {
	if !a.mayWrite() {
		return
	}
	a.doing = appenderWrites
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.write()
	}()
}

func (a *appender) mayWrite() bool {
	return a.doing == appenderWaits && a.ready() > 0 && a.err == nil
}

// waitWritten returns when no ready piece is queued or being written. The lock must be held.
func (a *appender) waitWritten() {
	for a.doing == appenderWrites {
		a.idle.Wait()
	}
	if a.mayWrite() {
		a.doing = appenderWrites
		a.write()
	}
}

// write writes the ready pieces of the queue. The lock must be held, and appenderWrites be set for the caller; the lock
// is released during a commit.
func (a *appender) write() {
	for a.err == nil {
		n := a.ready()
		if n == 0 {
			break
		}
		batch := a.queue[:n:n]
		if a.queue = a.queue[n:]; len(a.queue) == 0 {
			a.queue = nil // else it keeps what was written for as long as nothing comes
		}
		a.idle.Broadcast()
		a.mu.Unlock()
		err := a.commit(a.background.scope(context.Background(), &a.run.Run), batch, nil)
		a.mu.Lock()
		a.wrote(batch, err)
	}
	a.doing = appenderWaits
	a.idle.Broadcast()
}

// ready is how many pieces may be written. A question, with the links after it, waits for the end of its run and is
// written with that: a client that is shown a question may answer at once, and finds the run ended. What else follows a
// question shows that the run goes on. The lock must be held.
func (a *appender) ready() int {
	n := len(a.queue)
	if n >= maxQueued {
		return n
	}
	for i := n - 1; i >= 0; i-- {
		switch p := &a.queue[i]; {
		case p.late:
			n = i
		case p.entry.Kind != mapping.KindLinked:
			return n
		}
	}
	return n
}

// wrote notes what became of a batch. One that could not be written stays the first of the queue: what follows stands
// on it. The lock must be held.
func (a *appender) wrote(batch []piece, err error) {
	if err != nil {
		a.err = err
		a.queue = append(batch[:len(batch):len(batch)], a.queue...)
	} else if n := len(batch); n > 0 {
		a.durable = batch[n-1].point
	}
}

// drain returns when nothing is queued or being written, questions included.
func (a *appender) drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.queue {
		a.queue[i].late = false
	}
	a.waitWritten()
}

// close writes what is queued together with the last piece, if any, and the end of the run, and returns when that is
// durable. Where it fails it may be called again.
func (a *appender) close(ctx context.Context, last *piece, end *store.End) error {
	a.mu.Lock()
	for a.doing == appenderWrites {
		a.idle.Wait()
	}
	a.doing = appenderCloses // push is not called any more, but its timer may still go off
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	err := a.dropLogged(ctx)
	if err == nil {
		batch := a.queue
		if last != nil {
			batch = append(batch[:len(batch):len(batch)], *last)
		}
		err = a.commit(ctx, batch, end)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.queue = nil
	}
	return err
}

// dropLogged takes out of the queue what a write with an unknown end has logged: all of its pieces, or none. Called
// while nothing else touches the queue.
func (a *appender) dropLogged(ctx context.Context) error {
	if !a.unsure() {
		return nil
	}
	logged, err := a.events.Logged(ctx, a.run.Run.ID, a.run.Fence, a.logged)
	if err != nil {
		return err
	}
	there := a.queue[:min(len(logged), len(a.queue))]
	a.publish(there, logged)
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(there); n > 0 {
		a.durable = there[n-1].point
	}
	a.queue, a.err = a.queue[len(there):], errSettled
	return nil
}

// unsure reports whether it is not known whether the first pieces of the queue were written.
func (a *appender) unsure() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Is(a.err, store.ErrUnknown)
}

// giveUp drops what could not be written, and tells where the recorder stood before it.
func (a *appender) giveUp() statePoint {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = nil
	return a.durable
}

// commit is one transaction; its entries are published after it. Entries of a followed run are on the disk by then;
// others are when they are told, or with the end.
//
// Followed is asked again after the commit. A reader first says that it follows, then flushes, then reads: so either it
// is seen here, or its flush covers the commit.
func (a *appender) commit(ctx context.Context, batch []piece, end *store.End) error {
	w := store.Append{ThreadID: a.run.Run.ThreadID, RunID: a.run.Run.ID, Fence: a.run.Fence, End: end, Relaxed: end == nil && !a.buffer.Followed()}
	w.Events = make([]mapping.Event, 0, len(batch))
	for _, p := range batch {
		gather(&w, p)
	}
	logged, _, err := a.events.Append(ctx, w)
	if err != nil {
		return err
	}
	a.counted(batch)
	if w.Relaxed && a.buffer.Followed() {
		if err := a.flush(); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnknown, err) // it is logged, and maybe not for long
		}
	}
	a.publish(batch, logged)
	return nil
}

// publish shows readers what was logged.
func (a *appender) publish(batch []piece, logged []mapping.Event) {
	entries := make([]*state.Entry, len(batch))
	for i := range batch {
		e := batch[i].entry
		e.Seq = logged[i].Seq
		e.Head.Checkpoint = logged[i].Head.Checkpoint
		entries[i] = e
		a.logged = e.Seq
	}
	a.buffer.Publish(entries)
}

func gather(w *store.Append, p piece) {
	ev := p.entry.Event
	w.Events = append(w.Events, ev)
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
