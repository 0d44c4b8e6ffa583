package sqldb

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/proxy/store/clock"
	sqlite3 "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// groupMost is the maximum number of operations in one transaction.
const groupMost = 512

// op is an operation queued for the writer. do may be called a second time if its first transaction was lost, so it
// must rebuild its results on each call.
type op struct {
	do      func(*Tx) error
	alone   func(*sqlite3.Conn) error // instead of do: runs outside of transactions
	relaxed bool
	begun   atomic.Bool // set by the writer when it starts the operation, or by a caller that withdraws it
	err     error
	hooks   []func()
	done    chan struct{}
}

// committer is the part of a database that the writer needs, mainly the start and end of transactions.
type committer interface {
	begin(conn *sqlite3.Conn) error
	// committing is called just before a commit and committed just after it. committed returns once the commit is on
	// disk, or at once if relaxed.
	committing(conn *sqlite3.Conn) error
	committed(relaxed bool) error
	exec(conn *sqlite3.Conn, text string) error
	clock() clock.Reading
	// broken is called for every failed statement. It returns true if no more writes may be accepted.
	broken(err error) bool
	present() error // nil if the file is still where it was opened
	// intact is called at the start of each transaction. If lasting is true, the files are damaged and nothing more may
	// be written.
	intact(conn *sqlite3.Conn) (lasting bool, err error)
}

// writer changes the database on one goroutine. It runs one transaction at a time, which consists of the operations
// waiting at that moment. A failed operation does not affect the others.
type writer struct {
	db      committer
	conn    *sqlite3.Conn                            // used only by the goroutine
	told    func(operations int, took time.Duration) // called after commits
	failed  atomic.Pointer[error]                    // why no more writes are accepted
	refused atomic.Pointer[error]                    // why the last transaction was not written, if the cause may be temporary

	queue   chan *op
	stopped chan struct{} // closed when the goroutine has ended
	gate    sync.RWMutex  // read-locked while an operation is queued, so that it does not overlap with close
	closed  bool
}

func newWriter(db committer, conn *sqlite3.Conn, told func(int, time.Duration)) *writer {
	w := &writer{db: db, conn: conn, told: told, queue: make(chan *op, groupMost), stopped: make(chan struct{})}
	go w.work()
	return w
}

// write runs do and returns when it is committed, and also on disk unless it is relaxed. If ctx ends before the
// operation has started, it returns without running it. Once the operation has started, write waits for it.
func (w *writer) write(ctx context.Context, relaxed bool, do func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.await(ctx, &op{do: do, relaxed: relaxed, done: make(chan struct{})})
}

// betweenTransactions runs do on the writer's connection, between two transactions, and returns when do has ended. If
// ctx ends before do has started, it returns without running it.
func (w *writer) betweenTransactions(ctx context.Context, do func(*sqlite3.Conn) error) error {
	return w.await(ctx, &op{alone: do, done: make(chan struct{})})
}

// await queues an operation and waits for it.
func (w *writer) await(ctx context.Context, o *op) error {
	if err := w.enqueue(ctx, o); err != nil {
		return err
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.begun.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-o.done
	}
	return o.err
}

func (w *writer) enqueue(ctx context.Context, o *op) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.queue <- o:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close waits for queued operations.
func (w *writer) close() {
	w.gate.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.gate.Unlock()
	<-w.stopped
}

func (w *writer) work() {
	defer close(w.stopped)
	grouped := false // the last group had several operations
	for o := range w.queue {
		if grouped {
			// Let callers that the last commit has answered queue their next operation first. Four concurrent writers
			// are about 1.5 times as fast this way, and 16 are 1.1 times as fast (BenchmarkWriters). There is no timer
			// to wait for.
			runtime.Gosched()
		}
		group, alone := w.gather(o)
		grouped = len(group) > 1
		w.serve(group)
		if alone != nil {
			w.serveAlone(alone)
		}
	}
}

// gather returns the first operation and those waiting after it, without withdrawn ones. It stops at an operation that
// must run alone.
func (w *writer) gather(first *op) (group []*op, alone *op) {
	for o, more := first, true; more; {
		if o.alone != nil {
			return group, o
		}
		if o.begun.CompareAndSwap(false, true) {
			group = append(group, o)
		}
		if len(group) == groupMost {
			break
		}
		select {
		case o, more = <-w.queue:
		default:
			more = false
		}
	}
	return group, nil
}

// serveAlone runs an operation outside of transactions, unless it was withdrawn.
func (w *writer) serveAlone(o *op) {
	if !o.begun.CompareAndSwap(false, true) {
		return
	}
	defer close(o.done)
	if err := w.failed.Load(); err != nil {
		o.err = *err
		return
	}
	defer func() {
		if p := recover(); p != nil {
			o.err = fmt.Errorf("store: panic in an operation: %v", p)
		}
	}()
	o.err = w.notice(o.alone(w.conn))
}

// serve commits a group and answers its callers. A panic outside of an operation cannot be attributed to one, so
// nothing more is written after it.
func (w *writer) serve(group []*op) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("store: panic in the writer: %v", p)
			w.failed.CompareAndSwap(nil, &err)
			fail(group, err)
		}
		for _, o := range group {
			close(o.done)
		}
	}()
	if len(group) > 0 && w.commit(group) {
		for i := range group {
			w.commit(group[i : i+1])
		}
	}
	w.noteRefusal(group)
}

// noteRefusal records whether the disk or another program prevented an operation of the group from being written, and
// clears the record if an operation was written.
func (w *writer) noteRefusal(group []*op) {
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

// commit runs a group as one transaction. If lost is true, the database has rolled back the whole transaction because
// of one operation, and each must be run again by itself.
func (w *writer) commit(group []*op) (lost bool) {
	begun := time.Now()
	err := w.open()
	if err == nil {
		lost, err = w.run(group)
	}
	if err == nil && !lost {
		err = w.finish(relaxed(group))
	}
	switch {
	case lost:
		w.rollback()
	case err != nil:
		w.rollback()
		fail(group, w.notice(err))
	default:
		w.told(len(group), time.Since(begun))
		committed(group)
	}
	return lost
}

func (w *writer) open() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	if err := w.db.begin(w.conn); err != nil {
		return err
	}
	lasting, err := w.db.intact(w.conn)
	if lasting {
		w.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// run runs the operations. Unless it is alone, each has a savepoint, so that its error affects no other. err makes all
// of them fail.
func (w *writer) run(group []*op) (lost bool, err error) {
	if len(group) == 1 {
		w.do(group[0])
		return false, group[0].err
	}
	for _, o := range group {
		w.doInSavepoint(o)
		if w.db.broken(o.err) {
			return false, o.err // the other operations may depend on the same damaged pages
		}
		if w.conn.AutocommitEnabled() {
			return true, nil
		}
	}
	return false, nil
}

func (w *writer) doInSavepoint(o *op) {
	defer sqlitex.Save(w.conn)(&o.err)
	w.do(o)
}

func (w *writer) do(o *op) {
	t := &Tx{on: sqliteTx{w.conn}, Reading: w.db.clock()}
	o.err = doSafely(o.do, t)
	o.hooks = t.committed
}

// doSafely converts a panic of an operation into an error, because the writer serves all callers.
func doSafely(do func(*Tx) error, t *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: panic in an operation: %v", p)
		}
	}()
	return do(t)
}

// finish commits. Data written to a file that was deleted or moved is lost to the next process that opens the path, so
// it must not be acknowledged.
func (w *writer) finish(relaxed bool) error {
	if err := w.db.present(); err != nil {
		return err
	}
	if err := w.db.committing(w.conn); err != nil {
		return err
	}
	err := w.db.exec(w.conn, "COMMIT")
	if flushed := w.db.committed(relaxed || err != nil); err == nil {
		err = flushed
	}
	return err
}

// rollback ends a transaction unless the database has already ended it.
func (w *writer) rollback() {
	if !w.conn.AutocommitEnabled() {
		_ = w.notice(w.db.exec(w.conn, "ROLLBACK"))
	}
}

// committed runs the hooks of a group before its callers learn of the commit.
func committed(group []*op) {
	for _, o := range group {
		if o.err == nil {
			for _, f := range o.hooks {
				f()
			}
		}
	}
}

func fail(group []*op, err error) {
	for _, o := range group {
		o.err = err
	}
}

// notice records an error after which the database must not be trusted with further writes.
func (w *writer) notice(err error) error {
	if w.db.broken(err) {
		w.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// relaxed reports whether no operation of the group waits for the disk.
func relaxed(group []*op) bool {
	return !slices.ContainsFunc(group, func(o *op) bool { return !o.relaxed })
}
