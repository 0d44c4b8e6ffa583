package store

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/store/redo"
	"go.uber.org/zap"
)

// ahead is what was acknowledged and is not in the database yet. A run that begins and
// ends within a millisecond or two (NewRun.Brief) spends a third of that in two
// transactions, which write the same fifteen pages. Its statements go to a log of
// their own instead (package redo), and a moment later to the database, those of
// several runs in one transaction.
//
// Nobody sees the difference: whoever reads the database, or writes to it, has what
// waits here run first (catchUp). So statements may wait only where nothing has to
// be read to know what they do: see ahead_run.go. What a process leaves in the log is
// run before the database is used again (sqlite.recover).
//
// A nil *ahead is one in which nothing ever waits: with synchronous full, where a
// commit is acknowledged once the disk has it; with limits.database, which must be
// known to hold before something is acknowledged; on PostgreSQL. Safe for concurrent use.
type ahead struct {
	db   *sqlite
	zap  *zap.Logger
	keep func(r *briefRun, at runKey) // told of the keys that rows were given, after their commit
	keys atomic.Uint64                // the newest redo.Key
	turn chan struct{}                // holds one: who puts it there runs what waits
	some atomic.Bool                  // something waits, or is being run

	mu      sync.Mutex
	log     *redo.Log // nil: nothing was written to it
	number  uint32    // of the newest batch
	filling *batch    // nil: nothing waits
	running *batch    // is being run, or could not be
	tries   uint64    // how often next was asked
	fault   error     // of the newest attempt; nothing more may wait until one succeeds
	closed  bool
	timer   *time.Timer
	calm    time.Time // no run begins to wait before
	scratch []byte    // for one record
}

const (
	aheadLatest = 20 * time.Millisecond  // so long statements wait if nobody reads
	aheadAgain  = time.Second            // a failed attempt is repeated
	aheadCrowd  = 16                     // of so many runs at a time, one transaction has several anyway: they need not wait,
	aheadCalm   = 250 * time.Millisecond // nor do those that come so soon after
)

// scratchMost bounds what is kept in memory for writing records.
const scratchMost = 64 << 10

// batch is what is run in one transaction.
type batch struct {
	number  uint32
	encoder redo.Encoder
	records [][]byte
	runs    map[string]*briefRun // by id
	open    int                  // of them, those that have not left this process
	sealed  bool                 // takes no more
}

// newAhead begins behind the batch that the database has had run last.
func newAhead(db *sqlite, number uint32, log *zap.Logger) *ahead {
	return &ahead{db: db, zap: log, number: number, turn: make(chan struct{}, 1)}
}

// add lets statements wait, on behalf of a run. false: they cannot, nothing
// happened, and they are to be run in a transaction of their own. Those of one run wait in
// the same batch: they name keys of rows that it makes.
func (a *ahead) add(list []redo.Statement, run *briefRun) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.fault != nil || run.batch != nil && run.batch != a.filling {
		return false
	}
	if a.filling == nil && !a.begin() || a.filling.sealed {
		return false
	}
	b := a.filling
	record, err := b.encoder.Encode(a.scratch[:0], list)
	if err == nil {
		if a.scratch = record[:0]; cap(record) > scratchMost {
			a.scratch = nil
		}
		failpoint.Hit(failpoint.RedoBegun)
		err = a.log.Append(record)
	}
	if err != nil {
		b.sealed = true // its encoder has noted texts that are not there
		return false
	}
	failpoint.Hit(failpoint.RedoWritten)
	b.records = append(b.records, bytes.Clone(record))
	b.note(run)
	return true
}

// note counts a run when it comes and when it leaves.
func (b *batch) note(run *briefRun) {
	if run.batch == nil {
		b.runs[run.id], run.batch = run, b
		b.open++
	}
	if run.leaves {
		b.open--
	}
}

// welcome tells whether a further run had better wait: not where there are so many at a
// time.
func (a *ahead) welcome() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.filling != nil && a.filling.open >= aheadCrowd {
		a.calm = time.Now().Add(aheadCalm)
		return false
	}
	return a.calm.IsZero() || !time.Now().Before(a.calm)
}

// begin begins a batch, if the files are still where they were opened. One that goes
// while the batch is filled is noticed before the batch is run, and what is in the
// other one waits for it. The lock must be held.
func (a *ahead) begin() bool {
	if a.log == nil {
		log, err := redo.Open(a.db.redoPath())
		if err != nil {
			return false
		}
		a.log = log
	}
	if a.db.present() != nil || a.log.Begin(a.number+1) != nil {
		return false
	}
	a.number++
	a.filling = &batch{number: a.number, runs: make(map[string]*briefRun)}
	a.some.Store(true)
	a.wake(aheadLatest)
	return true
}

// wake has what waits run in a while. The lock must be held.
func (a *ahead) wake(in time.Duration) {
	if a.timer == nil {
		a.timer = time.AfterFunc(in, func() { _ = a.catchUp(context.Background()) })
		return
	}
	a.timer.Reset(in)
}

// catchUp returns when all that waited when it was called is in the database.
func (a *ahead) catchUp(ctx context.Context) error {
	if a == nil || !a.some.Load() {
		return nil
	}
	came := a.tried()
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.turn }()
	if done, err := a.since(came); done {
		return err
	}
	for again := true; again; {
		var b *batch
		if b, again = a.next(); b == nil {
			return nil
		}
		if err := a.done(b, a.run(context.WithoutCancel(ctx), b)); err != nil {
			return err
		}
	}
	return nil
}

func (a *ahead) tried() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tries
}

// since tells whether others have begun an attempt since it was so many, which took all
// that waited by then, and what became of it. Whoever waited for his turn meanwhile
// need not try again: where another program holds the file, that takes each of them seconds.
func (a *ahead) since(came uint64) (done bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tries > came, a.fault
}

// next is the batch to be run. again: it is one that could not be, so that there
// may be another one behind it.
func (a *ahead) next() (b *batch, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries++
	if a.running != nil {
		return a.running, true
	}
	a.running, a.filling = a.filling, nil
	if b = a.running; b != nil && len(b.records) == 0 { // not even its first record could be written
		a.running = nil
		a.number-- // no number is left out: see sqlite.redo
		a.some.Store(false)
		return nil, false
	}
	return b, false
}

// run runs a batch. Waiting for the disk would not help: the log did not either.
func (a *ahead) run(ctx context.Context, b *batch) error {
	return a.db.writer.write(ctx, true, failing(func(t *tx) error {
		made, err := rerun(t, b.number, b.records)
		if err != nil {
			return err
		}
		t.after(func() {
			for _, r := range b.runs {
				a.keep(r, runKey{run: made[keyOf(r.key.run)], thread: made[keyOf(r.key.thread)]})
			}
		})
		return nil
	}))
}

// done notes what became of a batch, and returns its error.
func (a *ahead) done(b *batch, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.running, a.fault = nil, nil
		a.some.Store(a.filling != nil)
		return nil
	}
	if a.fault == nil {
		a.zap.Error("runs that have been acknowledged are not in the database yet; they are in its redo log, and are tried again", zap.Int("runs", len(b.runs)), zap.Error(err))
	}
	a.fault = behind(err)
	if !a.closed {
		a.wake(aheadAgain)
	}
	return a.fault
}

// close has what waits run, and leaves the log only where that failed.
func (a *ahead) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	err := a.catchUp(context.Background())
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		return
	}
	log := a.log
	a.log = nil // who closes twice must not remove what the next store has there
	if err != nil {
		_ = log.Close()
		return
	}
	_ = log.Remove()
}
