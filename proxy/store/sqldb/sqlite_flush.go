package sqldb

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping/failpoint"
	sqlite3 "zombiezen.com/go/sqlite"
)

// flushes flushes the log of a SQLite file and tracks which commits may not be on disk yet. SQLite itself flushes only
// at its checkpoints (synchronous NORMAL). Concurrent callers share a flush. The zero value counts nothing and never
// flushes. Safe for concurrent use.
type flushes struct {
	log     string       // path of SQLite's write-ahead log; "" disables flushing
	begun   atomic.Int64 // commits; each is counted before it can be seen
	over    atomic.Int64 // number of them that have ended
	flushed atomic.Int64 // number of them that are on disk or failed

	mu     sync.Mutex // held during a flush
	file   *os.File
	failed error // why flushing has stopped; see sync
}

// start enables flushing of the log of the database at path. The log of an earlier process counts as not flushed.
func (f *flushes) start(path string) {
	f.log = path + "-wal"
	f.commitBegins()
	f.commitEnds()
}

// commitBegins counts a commit that is about to be made, commitEnds one that has ended. All commits are made by one
// goroutine.
func (f *flushes) commitBegins() { f.begun.Add(1) }
func (f *flushes) commitEnds()   { f.over.Store(f.begun.Load()) }

// seen returns the newest commit that may have been seen so far.
func (f *flushes) seen() int64 { return f.begun.Load() }

// flush returns once a commit and all earlier ones are on disk.
func (f *flushes) flush(commit int64) error {
	if f.log == "" || f.flushed.Load() >= commit {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flushed.Load() >= commit { // flushed while waiting for the lock
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
	f.flushed.Store(over)
	return nil
}

// sync flushes the log. After a failure it never flushes again: the kernel reports an error once, and the next fsync
// would succeed although dirty pages have been dropped.
func (f *flushes) sync() (err error) {
	if f.file == nil {
		if f.file, err = os.OpenFile(f.log, os.O_RDWR, 0); err != nil {
			return err
		}
	}
	return f.file.Sync()
}

// size returns the size of the log for tests that simulate a power failure.
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

// close makes later flushes fail, because the log may then belong to another process.
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
