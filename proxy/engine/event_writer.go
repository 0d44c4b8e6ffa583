package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

const (
	maxQueued  = 256 // pieces; a faster backend waits
	maxBatched = 64  // pieces that are written without waiting for more
)

// How long an event may wait to be written together with others. A token does not wait. If many arrive, they are
// batched anyway because each write takes a while. A link of a stateful agent is needed only for the first output and
// is written with it.
const (
	stepDelay = 2 * time.Millisecond
	linkDelay = 100 * time.Millisecond
)

// piece is one event to be stored, with everything that belongs to it.
type piece struct {
	entry     *state.Entry
	snapshot  []byte
	link      *mapping.Link
	files     []artifact.FileWrite
	drop      []string
	artifacts []string
	point     statePoint // state of the recorder after it
	late      bool       // written with the end, or when the queue is drained
	replaces  bool       // replaces the piece directly before it in the queue if that one also has replaces set
}

// eventWriter writes a run's events in order and publishes them when they are durable. One transaction contains all
// events that were queued during the previous one. push is called by one goroutine; the rest is safe for concurrent
// use.
type eventWriter struct {
	x    *execution
	hook store.WriteHook // for hooks that fire when the run begins

	mu      sync.Mutex
	queue   []piece
	phase   writerPhase
	due     time.Time   // when the timer fires; zero if it is not set
	timer   *time.Timer // nil if it was never needed
	err     error       // set if nothing but close may still write
	durable statePoint  // state of the recorder after the last piece written
	logged  int64       // number of that piece's event, or of the newest one found in the log
	idle    sync.Cond   // signalled when writing ends or the queue shrinks
}

type writerPhase int

const (
	writerIdle    writerPhase = iota // nothing is being written
	writerWriting                    // one goroutine commits pieces until none is ready
	writerClosing                    // only close commits
)

// errSettled replaces store.ErrUnknown once the log has shown whether the commit took place.
var errSettled = errors.New("the result of a commit was looked up in the log")

func newEventWriter(x *execution, at statePoint, logged int64) *eventWriter {
	w := &eventWriter{x: x, hook: x.e.hookWriter(&x.Run, mapping.Outcome{}, time.Time{}, nil), durable: at, logged: logged}
	w.idle.L = &w.mu
	return w
}

// push queues a piece to be written within delay. It returns the error of an earlier write.
func (w *eventWriter) push(p piece, delay time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.put(p); err != nil {
		return err
	}
	if delay > 0 && len(w.queue) < maxBatched {
		w.startIn(delay)
	} else {
		w.start()
	}
	return nil
}

// pushNow queues a piece and writes it, with all before it, on the caller's goroutine. It returns when they are
// committed, or an error.
func (w *eventWriter) pushNow(p piece) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.put(p); err != nil {
		return err
	}
	w.waitWritten()
	return w.err
}

// pushTogether queues pieces that must be durable together.
func (w *eventWriter) pushTogether(list []piece) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, list...)
	w.start()
	return w.err
}

// put queues a piece as soon as there is space. The lock must be held.
func (w *eventWriter) put(p piece) error {
	for len(w.queue) >= maxQueued && w.err == nil {
		w.start()
		w.idle.Wait()
	}
	if w.err != nil {
		return w.err
	}
	if n := len(w.queue); n > 0 && p.replaces && w.queue[n-1].replaces {
		w.queue = w.queue[:n-1]
	}
	w.queue = append(w.queue, p)
	return nil
}

// startIn and start must be called with the lock held.
func (w *eventWriter) startIn(delay time.Duration) {
	at := time.Now().Add(delay)
	switch {
	case w.phase != writerIdle || !w.due.IsZero() && w.due.Before(at):
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(delay, w.fired)
	default:
		w.timer.Reset(delay)
	}
	w.due = at
}

func (w *eventWriter) fired() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = time.Time{}
	w.start()
}

func (w *eventWriter) start() {
	if !w.mayWrite() {
		return
	}
	w.phase = writerWriting
	go func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.write()
	}()
}

func (w *eventWriter) mayWrite() bool {
	return w.phase == writerIdle && w.ready() > 0 && w.err == nil
}

// waitWritten returns when no ready piece is queued or being written. The lock must be held.
func (w *eventWriter) waitWritten() {
	for w.phase == writerWriting {
		w.idle.Wait()
	}
	if w.mayWrite() {
		w.phase = writerWriting
		w.write()
	}
}

// write writes the ready pieces of the queue. The lock must be held, and writerWriting be set for the caller; the lock
// is released during a commit.
func (w *eventWriter) write() {
	for w.err == nil {
		n := w.ready()
		if n == 0 {
			break
		}
		batch := w.queue[:n:n]
		if w.queue = w.queue[n:]; len(w.queue) == 0 {
			w.queue = nil // frees the written pieces
		}
		w.idle.Broadcast()
		w.mu.Unlock()
		err := w.commit(w.x.e.runContext(context.Background(), &w.x.Run), batch, nil)
		w.mu.Lock()
		w.wrote(batch, err)
	}
	w.phase = writerIdle
	w.idle.Broadcast()
}

// ready returns how many pieces may be written. A question is written together with the links after it and the end of
// its run, because a client that sees a question may answer at once and must find that the run has ended. Any other
// event after a question shows that the run continues. The lock must be held.
func (w *eventWriter) ready() int {
	n := len(w.queue)
	if n >= maxQueued {
		return n
	}
	for i := n - 1; i >= 0; i-- {
		switch p := &w.queue[i]; {
		case p.late:
			n = i
		case p.entry.Kind != mapping.KindLinked:
			return n
		}
	}
	return n
}

// wrote records the result of a batch. A batch that could not be written remains first in the queue, since later events
// build on it. The lock must be held.
func (w *eventWriter) wrote(batch []piece, err error) {
	if err != nil {
		w.err = err
		w.queue = append(batch[:len(batch):len(batch)], w.queue...)
	} else if n := len(batch); n > 0 {
		w.durable = batch[n-1].point
	}
}

// drain returns when nothing is queued or being written, including questions.
func (w *eventWriter) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.queue {
		w.queue[i].late = false
	}
	w.waitWritten()
}

// close writes the queue together with the last piece, if any, and the end of the run. It returns when they are
// durable. If it fails it may be called again.
func (w *eventWriter) close(ctx context.Context, last *piece, end *store.End) error {
	w.mu.Lock()
	for w.phase == writerWriting {
		w.idle.Wait()
	}
	w.phase = writerClosing // push is no longer called, but its timer may still fire
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	err := w.dropLogged(ctx)
	if err == nil {
		batch := w.queue
		if last != nil {
			batch = append(batch[:len(batch):len(batch)], *last)
		}
		err = w.commit(ctx, batch, end)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.queue = nil
	}
	return err
}

// dropLogged removes from the queue the pieces that were logged by a write with an unknown result. Such a write logged
// all of its batch or nothing. Nothing else may use the queue during that time.
func (w *eventWriter) dropLogged(ctx context.Context) error {
	if !w.unsure() {
		return nil
	}
	x := w.x
	logged, err := x.store.Events.Logged(ctx, x.Run.ID, x.Fence, w.logged)
	if err != nil {
		return err
	}
	there := w.queue[:min(len(logged), len(w.queue))]
	w.publish(there, logged)
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(there); n > 0 {
		w.durable = there[n-1].point
	}
	w.queue, w.err = w.queue[len(there):], errSettled
	return nil
}

// unsure reports whether it is unknown whether the first pieces of the queue were written.
func (w *eventWriter) unsure() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Is(w.err, store.ErrUnknown)
}

// giveUp drops the queue and returns the state of the recorder before it.
func (w *eventWriter) giveUp() statePoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = nil
	return w.durable
}

// commit runs one transaction and then publishes its entries. Entries of a followed run are flushed to disk before
// that. Others are flushed when a reader sees them, or with the end.
//
// Followed is checked again after the commit. A reader first sets that it follows, then flushes, then reads. So either
// it is noticed here, or its flush covers the commit.
func (w *eventWriter) commit(ctx context.Context, batch []piece, end *store.End) error {
	x, buffer := w.x, w.x.buffer
	tx := store.Append{ThreadID: x.Run.ThreadID, RunID: x.Run.ID, Fence: x.Fence, End: end, Relaxed: end == nil && !buffer.Followed()}
	tx.Events = make([]mapping.Event, 0, len(batch))
	for _, p := range batch {
		gather(&tx, p)
		if p.entry.Kind == mapping.KindStarted {
			tx.WriteHook = w.hook
		}
	}
	logged, _, err := x.store.Events.Append(ctx, tx)
	if err != nil {
		return err
	}
	x.countLogged(batch)
	if tx.Relaxed && buffer.Followed() {
		if err := x.store.Flush(); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnknown, err) // it is logged, but may be lost in a crash
		}
	}
	w.publish(batch, logged)
	return nil
}

// publish publishes logged pieces to readers.
func (w *eventWriter) publish(batch []piece, logged []mapping.Event) {
	entries := make([]*state.Entry, len(batch))
	for i := range batch {
		e := batch[i].entry
		e.Seq = logged[i].Seq
		e.Head.Checkpoint = logged[i].Head.Checkpoint
		entries[i] = e
		w.logged = e.Seq
	}
	w.x.buffer.Publish(entries)
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

// putLink adds a link, replacing an older one for the same thread or task.
func putLink(list []mapping.Link, l mapping.Link) []mapping.Link {
	for i := range list {
		if list[i].Agent == l.Agent && list[i].TaskID == l.TaskID {
			list[i] = l
			return list
		}
	}
	return append(list, l)
}

func (w *eventWriter) fenced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Is(w.err, store.ErrFenced)
}
