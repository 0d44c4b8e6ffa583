package sqldb

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping"
	sqlite3 "zombiezen.com/go/sqlite"
)

// spaceQuota records whether writes are refused because the database file reached its limit or the disk is full. It is
// safe for concurrent use.
type spaceQuota struct {
	full atomic.Bool
	mu   sync.Mutex
	used int64 // what the file was filled with when a write was refused; 0: its disk was full
}

// Full reports whether writes are refused because the file has reached its limit, or the disk of the database is full,
// as far as the newest writes tell.
func (d *DB) Full() bool { return d.room.full.Load() }

// wrote classifies what a write has ended with, and notes whether there is room.
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

// refused notes that a write found no room.
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

// took is called for every write that found room, so that it mostly only looks.
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

// filled counts what is in use: what was deleted makes room, though the file stays as it is.
func (d *sqlite) filled() (used, limit int64, err error) {
	if d.limit <= 0 {
		return 0, 0, nil
	}
	err = d.use(context.Background(), d.readers, func(conn *sqlite3.Conn) error {
		return sqliteTx{conn}.get(`SELECT page_size * (page_count - freelist_count) FROM pragma_page_size, pragma_page_count, pragma_freelist_count`, nil, []any{&used})
	})
	return used, d.limit, err
}

// filled: there is no limit.
func (p *postgres) filled() (used, limit int64, err error) { return 0, 0, nil }
