package store

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

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
	begun   atomic.Int64 // relaxed operations, also those that came to nothing
	over    atomic.Int64 // how many of them were begun when a commit was over last
	flushed atomic.Int64 // how many of them are on the disk, or came to nothing

	mu   sync.Mutex // held during a flush
	file *os.File
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
			f.begun.Add(1)
			t.after(func() { f.over.Store(f.begun.Load()) })
			return do(t)
		}
	}
	return func(t *tx) error {
		before, err := changes(t)
		if err == nil {
			err = do(t)
		}
		if err != nil {
			return err
		}
		after, err := changes(t)
		if after != before {
			t.after(func() { f.carried(); *carried = true })
		}
		return err
	}
}

// changes is how many rows the writer's connection has changed so far.
func changes(t *tx) (n int64, err error) {
	err = t.get(`SELECT total_changes()`, nil, out{&n})
	return n, err
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
	over, size := f.over.Load(), f.size()
	if err := f.sync(); err != nil {
		return fmt.Errorf("flushing %s: %w (%w)", f.log, err, sqlite3.ResultIOErrFsync.ToError())
	}
	failpoint.Flushed(size)
	raise(&f.flushed, over)
	return nil
}

// sync flushes the log itself: a commit by which SQLite would do it needs something to
// write, and room on the disk.
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

func (f *flushes) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
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
