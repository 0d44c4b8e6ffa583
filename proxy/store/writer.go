package store

import (
	"context"
	"fmt"
	"runtime"
	"slices"
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
	err     error
	hooks   []func()
	turn    chan turn // one value: what its caller waits for
}

// turn is what becomes of an operation that waited.
type turn int

const (
	done  turn = iota // it was run
	leads             // its caller is to run it, with all that waits by then
)

// engine is what the writer needs of a database: how transactions begin and end.
type engine interface {
	begin(s *session, relaxed bool) error
	exec(s *session, text string) error
	clock() int64
	// broken is asked about every failed statement; true: accept no more writes.
	broken(err error) bool
	present() error // nil while the file is where it was opened
	// intact is asked at the start of each transaction. lasting: the files are harmed,
	// and nothing more may be written.
	intact(s *session) (lasting bool, err error)
}

// writer changes the database: one transaction at a time, made of whatever
// operations wait by then; one that fails leaves its neighbours alone.
//
// It has no goroutine of its own. The caller that comes first runs its operation
// itself, together with those that wait, and then has the first of the ones that
// came meanwhile go on: where there is one caller, nobody is woken.
type writer struct {
	db      engine
	session *session              // of who leads
	failed  atomic.Pointer[error] // why no writes are accepted any more
	refused atomic.Pointer[error] // why the newest transaction was not written, where the reason may pass

	mu     sync.Mutex
	queue  []*op // in the order of their coming
	led    bool  // somebody leads, or has been told to
	crowd  bool  // the newest group was of several
	closed bool
	idle   sync.Cond // signalled when nobody leads any more
}

func newWriter(db engine, s *session) *writer {
	w := &writer{db: db, session: s}
	w.idle.L = &w.mu
	return w
}

// write runs do and returns when it is committed. A caller whose context ends
// before its turn came leaves with nothing done; afterwards it waits.
func (w *writer) write(ctx context.Context, relaxed bool, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &op{do: do, relaxed: relaxed, turn: make(chan turn, 1)}
	if err := w.join(o); err != nil {
		return err
	}
	select {
	case is := <-o.turn:
		return w.follow(o, is)
	case <-ctx.Done():
		if w.withdraw(o) {
			return ctx.Err()
		}
		return w.follow(o, <-o.turn)
	}
}

// join queues an operation, which leads if nobody does.
func (w *writer) join(o *op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	w.queue = append(w.queue, o)
	if !w.led {
		w.led = true
		o.turn <- leads
	}
	return nil
}

// withdraw takes back an operation that nobody has begun with.
func (w *writer) withdraw(o *op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.Index(w.queue, o)
	if at < 0 || len(o.turn) > 0 {
		return false
	}
	w.queue = slices.Delete(w.queue, at, at+1)
	return true
}

func (w *writer) follow(o *op, is turn) error {
	if is == leads {
		w.lead()
	}
	return o.err
}

// lead runs what waits and passes the lead on.
func (w *writer) lead() {
	// Whoever was answered by the last commit and is about to write again gets to
	// queue its operation first. Nobody waits on a clock; and where everybody comes
	// alone, nobody else is woken to look for work.
	if w.crowded() {
		runtime.Gosched()
	}
	group := w.take()
	defer w.pass(group)
	w.serve(group)
}

func (w *writer) crowded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.crowd || len(w.queue) > 1
}

func (w *writer) take() []*op {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), groupMost)
	w.crowd = n > 1
	group := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	return group
}

// pass answers the group, but for its first, who led it, and lets the next one
// lead. A panic between operations is nobody's own: nothing more is written then.
func (w *writer) pass(group []*op) {
	if p := recover(); p != nil {
		err := fmt.Errorf("store: panic in the writer: %v", p)
		w.failed.CompareAndSwap(nil, &err)
		w.fail(group, err)
	}
	for _, o := range group[1:] {
		o.turn <- done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.led = len(w.queue) > 0; w.led {
		w.queue[0].turn <- leads
		return
	}
	w.idle.Broadcast()
}

// close lets what was queued finish.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.led {
		w.idle.Wait()
	}
}

func (w *writer) serve(group []*op) {
	defer w.look(group)
	// Savepoints cost about a tenth of a transaction, and operations seldom fail
	// after they have written: first it is tried without.
	if w.commit(group, false) && w.commit(group, true) {
		for _, o := range group {
			w.commit([]*op{o}, false)
		}
	}
}

// look notes whether the disk, or another program, kept something of a group from
// being written, or else that all of it was.
func (w *writer) look(group []*op) {
	for _, o := range group {
		if err := o.err; err != nil && ofStorage(err) {
			w.refused.Store(&err)
			return
		}
	}
	if slices.ContainsFunc(group, func(o *op) bool { return o.err == nil }) {
		w.refused.Store(nil)
	}
}

// commit runs a group as one transaction, its operations held apart by
// savepoints or not. It returns true when one of them cost the others the
// transaction: nothing happened, and they must be run again, better apart. With
// savepoints that is so only when the database itself undid everything.
func (w *writer) commit(group []*op, apart bool) (again bool) {
	if err := w.failed.Load(); err != nil {
		return w.fail(group, *err)
	}
	if err := w.db.begin(w.session, relaxed(group)); err != nil {
		return w.fail(group, w.notice(err))
	}
	if lasting, err := w.db.intact(w.session); err != nil {
		_ = w.db.exec(w.session, "ROLLBACK")
		if lasting {
			w.failed.CompareAndSwap(nil, &err)
		}
		return w.fail(group, w.notice(err))
	}
	for _, o := range group {
		lost := w.run(o, apart)
		if w.db.broken(o.err) {
			// What the others did stands on pages that cannot be trusted either.
			_ = w.db.exec(w.session, "ROLLBACK")
			return w.fail(group, w.notice(o.err))
		}
		if lost && len(group) > 1 {
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
	// What is written to a file that was deleted or moved is lost to whoever
	// opens the path next: it must not be acknowledged.
	err := w.db.present()
	if err == nil {
		err = w.db.exec(w.session, "COMMIT")
	}
	if err != nil {
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

// run runs one operation. Its error stays in o; lost says that the transaction
// must not be committed because of it.
func (w *writer) run(o *op, apart bool) (lost bool) {
	if apart && w.db.exec(w.session, "SAVEPOINT op") != nil {
		return true
	}
	w.session.wrote = false
	t := &tx{on: w.session, now: w.db.clock()}
	o.err = guard(o.do, t)
	o.hooks = t.committed
	if !apart {
		return o.err != nil && w.session.wrote
	}
	if o.err != nil && w.db.exec(w.session, "ROLLBACK TO op") != nil {
		return true
	}
	return w.db.exec(w.session, "RELEASE op") != nil
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
