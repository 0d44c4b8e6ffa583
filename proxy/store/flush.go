package store

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping/failpoint"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Flush returns when all that was committed before the call is on the disk. Where
// nothing waits for that it costs two looks at memory, and callers that wait at the same
// time share a flush. What is read from the store, and what a write that is not
// relaxed has answered, is on the disk without it: it is for what is told from memory.
//
// With SQLite and `synchronous: normal` it does nothing: SQLite flushes at its
// checkpoints. Nor does it with PostgreSQL, where every commit is flushed, or none is.
func (s *Store) Flush() error { return s.db.classify(s.db.flush()) }

// flushes knows which commits of a SQLite file may not be on the disk yet. Relaxed
// operations are counted before their commit, so that none is seen that is not counted.
// Safe for concurrent use; its zero value counts nothing and never flushes.
type flushes struct {
	log     string       // path of SQLite's write-ahead log; "": nothing is flushed here
	begun   atomic.Int64 // relaxed operations, also those whose commit failed
	over    atomic.Int64 // how many of them were begun when a commit was over last
	flushed atomic.Int64 // how many of them are on the disk, or came to nothing

	mu     sync.Mutex // held during a flush
	file   *os.File
	failed error // why nothing is flushed any more; see sync
}

// begin has f flush the log of the database at path. What an earlier process left in
// the log may not be on the disk.
func (f *flushes) begin(path string) {
	f.log = path + "-wal"
	f.begun.Store(1)
	f.over.Store(1)
}

// counted is do, counted. carried is set when its commit has flushed it, and all before
// it: a commit that has nothing to write flushes nothing. Operations run one at a
// time, and with them what they leave to be done after their commit.
func (f *flushes) counted(relaxed bool, do func(*tx) error, carried *bool) func(*tx) error {
	switch {
	case f.log == "":
		return do
	case relaxed:
		return func(t *tx) error {
			t.after(func() { f.over.Store(f.begun.Load()) })
			err := do(t)
			if err == nil {
				f.begun.Add(1)
			}
			return err
		}
	}
	return func(t *tx) error {
		before := f.stand()
		t.after(func() {
			if f.stand() != before {
				f.carried()
				*carried = true
			}
		})
		return do(t)
	}
}

// stand is what changes when SQLite writes to its log. The rows that an operation has
// changed do not tell: SQLite writes no page for a row that is put as it was. A clock
// that is too coarse to tell two writes apart costs a flush.
type stand struct {
	size int64
	time time.Time
}

func (f *flushes) stand() (s stand) {
	if info, err := os.Stat(f.log); err == nil {
		s = stand{info.Size(), info.ModTime()}
	}
	return s
}

// carried notes that a commit was flushed, and with it all before it.
func (f *flushes) carried() {
	failpoint.Flushed(f.size())
	n := f.begun.Load()
	f.over.Store(n)
	raise(&f.flushed, n)
}

// flush returns when every commit that anybody can have seen by now is on the disk.
func (f *flushes) flush() error {
	seen := f.begun.Load()
	if f.flushed.Load() >= seen {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flushed.Load() >= seen { // by the flush that was waited for
		return nil
	}
	if f.failed != nil {
		return f.failed
	}
	over, size := f.over.Load(), f.size()
	if err := f.sync(); err != nil {
		f.failed = fmt.Errorf("flushing %s: %w (%w)", f.log, err, sqlite3.ResultIOErrFsync.ToError())
		return f.failed
	}
	failpoint.Flushed(size)
	raise(&f.flushed, over)
	return nil
}

// sync flushes the log itself: a commit by which SQLite would do it needs something to
// write, and room on the disk. One that fails is the last: the kernel tells of it once, and
// the next would succeed without what it has dropped.
func (f *flushes) sync() (err error) {
	if f.file == nil {
		if f.file, err = os.OpenFile(f.log, os.O_RDWR, 0); err != nil {
			return err
		}
	}
	return f.file.Sync()
}

// size is what a test that simulates a power cut leaves of the log.
func (f *flushes) size() int64 {
	if !failpoint.Enabled {
		return 0
	}
	info, err := os.Stat(f.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// close has what is asked for later fail: the log may be another's by then.
func (f *flushes) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = errClosed
	}
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// raise sets a number that only grows.
func raise(at *atomic.Int64, n int64) {
	for was := at.Load(); was < n && !at.CompareAndSwap(was, n); was = at.Load() {
	}
}
