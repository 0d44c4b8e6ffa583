package store

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// groupMost is how many operations one transaction takes at most.
const groupMost = 512

// op is an operation on its way through the writer. do may be called a second
// time when the transaction it ran in first was lost: it must build its results
// anew each time.
type op struct {
	do      func(*tx) error
	relaxed bool
	taken   atomic.Bool // by the writer, or by a caller that gave up
	err     error
	hooks   []func()
	done    chan struct{}
	told    func(error) // nil, or called when the operation is over: nobody waits for it
}

// engine is what the writer needs of a database: how transactions begin and end.
type engine interface {
	begin(s *session, relaxed bool) error
	exec(s *session, text string) error
	clock() int64
	// broken is asked about every failed commit; true: accept no more writes.
	broken(err error) bool
}

// writer is the one goroutine that changes the database. It takes whatever
// operations wait as one transaction; one that fails leaves its neighbours
// alone.
type writer struct {
	db      engine
	session *session
	ops     chan *op
	mu      sync.RWMutex // held for reading while an op is handed over
	closed  bool
	failed  atomic.Pointer[error] // why no writes are accepted any more
	done    chan struct{}
}

func startWriter(db engine, s *session) *writer {
	w := &writer{db: db, session: s, ops: make(chan *op, groupMost), done: make(chan struct{})}
	go w.loop()
	return w
}

// write runs do and returns when it is committed. A caller whose context ends
// before its turn came leaves with nothing done; afterwards it waits.
func (w *writer) write(ctx context.Context, relaxed bool, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &op{do: do, relaxed: relaxed, done: make(chan struct{})}
	if err := w.hand(ctx, o); err != nil {
		return err
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-o.done
	}
	return o.err
}

// later hands do over and does not wait: told hears how it went. Operations that
// are handed over afterwards see it done. An error says that it was not taken.
func (w *writer) later(ctx context.Context, do func(*tx) error, told func(error)) error {
	return w.hand(ctx, &op{do: do, told: told, done: make(chan struct{})})
}

func (w *writer) hand(ctx context.Context, o *op) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.ops <- o:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close lets what was handed over finish.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.ops)
	}
	w.mu.Unlock()
	<-w.done
}

func (w *writer) loop() {
	defer close(w.done)
	group := make([]*op, 0, groupMost)
	for o := range w.ops {
		group = append(group[:0], o)
		// Whoever was answered by the last commit and is about to write again
		// gets to hand its operation over first. Nobody waits on a clock.
		runtime.Gosched()
		group = w.fill(group)
		w.serve(group)
		clear(group)
	}
}

// fill takes what waits, without waiting for more.
func (w *writer) fill(group []*op) []*op {
	for len(group) < groupMost {
		select {
		case o, ok := <-w.ops:
			if !ok {
				return group
			}
			group = append(group, o)
		default:
			return group
		}
	}
	return group
}

func (w *writer) serve(group []*op) {
	live := group[:0]
	for _, o := range group {
		if o.taken.CompareAndSwap(false, true) {
			live = append(live, o)
		}
	}
	if again := w.commit(live); again {
		for _, o := range live {
			w.commit([]*op{o})
		}
	}
	for _, o := range live {
		close(o.done)
		if o.told != nil {
			o.told(o.err)
		}
	}
}

// commit runs a group as one transaction. It returns true when the database
// undid the whole transaction because of one operation: nothing happened and
// each must be run alone.
func (w *writer) commit(group []*op) (again bool) {
	if err := w.failed.Load(); err != nil {
		return w.fail(group, *err)
	}
	if err := w.db.begin(w.session, relaxed(group)); err != nil {
		return w.fail(group, w.notice(err))
	}
	for _, o := range group {
		if err := w.run(o, len(group) > 1); err != nil {
			_ = w.db.exec(w.session, "ROLLBACK")
			return true
		}
	}
	if len(group) == 1 && group[0].err != nil {
		if err := w.db.exec(w.session, "ROLLBACK"); err != nil {
			w.notice(err)
		}
		return false
	}
	if err := w.db.exec(w.session, "COMMIT"); err != nil {
		_ = w.db.exec(w.session, "ROLLBACK")
		return w.fail(group, w.notice(err))
	}
	for _, o := range group {
		if o.err == nil {
			for _, f := range o.hooks {
				f()
			}
		}
	}
	return false
}

// run runs one operation, with a savepoint around it when it has neighbours.
// Its own error stays in o; the returned one says that the transaction is lost.
func (w *writer) run(o *op, savepoint bool) (lost error) {
	if savepoint {
		if lost = w.db.exec(w.session, "SAVEPOINT op"); lost != nil {
			return lost
		}
	}
	t := &tx{on: w.session, now: w.db.clock()}
	o.err = guard(o.do, t)
	o.hooks = t.committed
	if !savepoint {
		return nil
	}
	if o.err != nil {
		if lost = w.db.exec(w.session, "ROLLBACK TO op"); lost != nil {
			return lost
		}
	}
	return w.db.exec(w.session, "RELEASE op")
}

// guard turns a panic of an operation into its error: the writer serves
// everybody.
func guard(do func(*tx) error, t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: panic in an operation: %v", p)
		}
	}()
	return do(t)
}

func (w *writer) fail(group []*op, err error) bool {
	for _, o := range group {
		o.err = err
	}
	return false
}

// notice remembers an error after which the database must not be trusted with
// further writes.
func (w *writer) notice(err error) error {
	if w.db.broken(err) {
		w.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// relaxed tells whether the whole group may be committed without waiting for
// the disk.
func relaxed(group []*op) bool {
	for _, o := range group {
		if !o.relaxed {
			return false
		}
	}
	return true
}
