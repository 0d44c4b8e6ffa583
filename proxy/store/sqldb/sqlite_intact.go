package sqldb

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "zombiezen.com/go/sqlite"
)

// fileStat holds the last known facts about a database's files. Safe for concurrent use.
type fileStat struct {
	size atomic.Int64                // of the file, which only VACUUM shrinks
	log  atomic.Pointer[os.FileInfo] // of the write-ahead log; nil before the first transaction
}

// present returns an error if the file at the path is no longer the one that was opened.
func (f *sqliteFile) present() error {
	info, err := os.Stat(f.path)
	if err == nil && os.SameFile(info, f.opened) {
		return nil
	}
	return refuse(f.path, "the file was moved or deleted while in use; stop the bridge, put the file back and start the bridge again")
}

// intact checks, at the start of a write transaction, whether the file was truncated or the log removed. During the
// transaction no other program can change the database, so that a VACUUM by another program can be distinguished from
// data loss. If lasting is true, no further write can be trusted.
func (f *sqliteFile) intact(conn *sqlite3.Conn) (lasting bool, err error) {
	known := f.seen.size.Load()
	info, err := os.Stat(f.path)
	if err != nil {
		return false, nil // present reports that
	}
	size := info.Size()
	if size < known {
		var pages, page int64
		x := sqliteTx{conn}
		if err := x.get("PRAGMA page_count", nil, []any{&pages}); err != nil {
			return false, err
		}
		if err := x.get("PRAGMA page_size", nil, []any{&page}); err != nil {
			return false, err
		}
		if least := min(known, pages*page); size < least {
			return true, refuse(f.path, "the file was truncated while in use: %d of %d bytes are left. Writing has stopped. Stop the bridge and restore a backup", size, least)
		}
	}
	f.seen.size.Store(size)
	return false, f.logIntact()
}

// logIntact checks whether the write-ahead log is still the one that was opened. SQLite deletes the log only when the
// last connection is closed.
func (f *sqliteFile) logIntact() error {
	info, err := os.Stat(f.path + "-wal")
	known := f.seen.log.Load()
	switch {
	case known == nil && err == nil:
		f.seen.log.Store(&info)
		return nil
	case known == nil || err == nil && os.SameFile(info, *known):
		return nil
	}
	return refuse(f.path, "%s-wal was moved or deleted while in use, and a crash would now lose its contents. Stop the bridge with SIGTERM, which moves all of them into the file, and start it again", f.path)
}

// suspicious reports whether a write transaction might find the files damaged.
func (f *sqliteFile) suspicious() bool {
	known := f.seen.size.Load() // read before the file, which may grow in between
	info, err := os.Stat(f.path)
	return err != nil || info.Size() < known || f.logIntact() != nil
}

// probeEvery is the minimum time between two writes of ping.
const probeEvery = time.Second

// probe limits how often ping writes. Safe for concurrent use.
type probe struct {
	mu   sync.Mutex
	last time.Time
}

func (p *probe) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() && time.Since(p.last) < probeEvery {
		return false
	}
	p.last = time.Now()
	return true
}

// ping reads. If the last write was refused or the files have changed unexpectedly, it writes instead, at most once a
// second, to see whether the problem persists.
func (d *sqlite) ping(ctx context.Context, patience time.Duration) error {
	if err := d.present(); err != nil {
		return err
	}
	if err := d.writer.failed.Load(); err != nil {
		return *err
	}
	refused := d.writer.refused.Load()
	if (refused != nil || d.suspicious()) && d.probe.due() {
		_, err := d.renewLease(ctx, time.Minute)
		return err
	}
	if refused != nil {
		return *refused
	}
	return readWithin(ctx, patience, func(ctx context.Context) error {
		return d.readOne(ctx, func(t *Tx) error {
			var n int64
			return t.Get(`SELECT count(*) FROM processes`, nil, []any{&n})
		})
	})
}
