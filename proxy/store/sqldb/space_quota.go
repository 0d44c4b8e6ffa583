package sqldb

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping"
	sqlite3 "zombiezen.com/go/sqlite"
)

// spaceQuota records whether writes are refused because the database file reached its limit or the disk is full. Safe
// for concurrent use.
type spaceQuota struct {
	full atomic.Bool
	mu   sync.Mutex
	used int64 // bytes in use when a write was refused; 0 if the disk was full
}

// Full reports whether writes are refused because the file has reached its limit or the disk is full. It reflects the
// most recent writes.
func (d *DB) Full() bool { return d.room.full.Load() }

// wrote classifies the error of a write and records whether there is space.
func (d *DB) wrote(err error) error {
	err = d.on.classify(err)
	switch {
	case err == nil:
		d.room.took(d.on)
	case mapping.Classify(err).Class == mapping.StorageFull:
		d.room.refused(d.on)
	}
	return err
}

// refused records that a write failed for lack of space.
func (r *spaceQuota) refused(on database) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full.Load() {
		return
	}
	r.used = 0
	if used, limit, err := on.filled(); err == nil && used > limit/10*9 {
		r.used = used
	}
	r.full.Store(true)
}

// took records that a write had enough space. It is called for every such write, so it usually only checks a flag.
func (r *spaceQuota) took(on database) {
	if !r.full.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	used, limit, err := on.filled()
	if err == nil && (r.used == 0 || used < r.used || used > r.used+limit/100) {
		r.full.Store(false)
	}
}

// filled counts the pages in use. Deleted data frees space although the file does not shrink.
func (d *sqlite) filled() (used, limit int64, err error) {
	if d.limit <= 0 {
		return 0, 0, nil
	}
	err = d.use(context.Background(), d.readers, func(conn *sqlite3.Conn) error {
		return sqliteTx{conn}.get(`SELECT page_size * (page_count - freelist_count) FROM pragma_page_size, pragma_page_count, pragma_freelist_count`, nil, []any{&used})
	})
	return used, d.limit, err
}

// filled returns zero, because there is no limit.
func (p *postgres) filled() (used, limit int64, err error) { return 0, 0, nil }
