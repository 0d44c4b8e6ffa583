package sqldb

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping/failpoint"
	sqlite3 "zombiezen.com/go/sqlite"
)

// flushes flushes the log of a SQLite file, and knows which commits may not be on the disk yet. SQLite itself flushes
// at its checkpoints only (synchronous NORMAL). Callers that wait at the same time share a flush. Safe for concurrent
// use; its zero value counts nothing and never flushes.
type flushes struct {
	log     string       // path of SQLite's write-ahead log; "": nothing is flushed here
	begun   atomic.Int64 // commits; each is counted before it can be seen
	over    atomic.Int64 // how many of them are over
	flushed atomic.Int64 // how many of them are on the disk, or came to nothing

	mu     sync.Mutex // held during a flush
	file   *os.File
	failed error // why nothing is flushed any more; see sync
}

// start has f flush the log of the database at path. What an earlier process left in the log may not be on the disk.
func (f *flushes) start(path string) {
	f.log = path + "-wal"
	f.commitBegins()
	f.commitEnds()
}

// commitBegins counts a commit that is about to be made, commitEnds one that is over. One goroutine makes all commits.
func (f *flushes) commitBegins() { f.begun.Add(1) }
func (f *flushes) commitEnds()   { f.over.Store(f.begun.Load()) }

// seen is the newest commit that can have been seen by now.
func (f *flushes) seen() int64 { return f.begun.Load() }

// flush returns when a commit, and all before it, are on the disk.
func (f *flushes) flush(commit int64) error {
	if f.log == "" || f.flushed.Load() >= commit {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flushed.Load() >= commit { // by the flush that was waited for
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

// sync flushes the log. One that fails is the last: the kernel tells of it once, and the next would succeed without
// what it has dropped.
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
