package sqldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
)

// lastWithRedo is the newest build that reads such a log.
const lastWithRedo = "the build of commit 09ca291d (22 November 2026), or an older one,"

// Earlier versions wrote some runs to a log of their own, FILE-redo, a moment before the database had them, and removed
// it when they stopped in order. This version writes no such log. One that is found is the work of a process that died.
//
// The log has two areas. Each begins with a record of the batch in it: the record's length, the number of the batch and
// a checksum, four bytes each, little endian. The database notes the number of the newest batch that it has, as its
// user_version.
const (
	redoArea   = 512 << 10
	redoRecord = 12
)

func (f *sqliteFile) redoPath() string { return f.path + "-redo" }

// clearRedo removes a redo log of which the database has everything, and refuses one with runs that are nowhere else.
// It comes before the migrations: the version that can take those runs over must still find its own tables.
func (f *sqliteFile) clearRedo(ctx context.Context, pool *sql.DB) error {
	log, err := os.ReadFile(f.redoPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse(f.path, "%s, which an earlier version left here, cannot be read: %v", f.redoPath(), err)
	}
	var newest int64
	if err := pool.QueryRowContext(ctx, "PRAGMA user_version").Scan(&newest); err != nil {
		return unreadable(f.path, err)
	}
	if redoNewer(log, uint32(newest)) {
		return refuse(f.path, "%s holds runs that an earlier version has begun or acknowledged and that are not in the database. Start the version that wrote it, "+
			lastWithRedo+" once with this database and stop it with SIGTERM, which moves them there; to give those runs up, delete that file", f.redoPath())
	}
	return removeAll(f.redoPath())
}

// redoNewer reports whether an area of the log holds a batch after the given one. Numbers start anew after the largest
// one. Bytes too few for a record were acknowledged to no client.
func redoNewer(log []byte, batch uint32) bool {
	for ; len(log) >= redoRecord; log = log[min(redoArea, len(log)):] {
		length, number := binary.LittleEndian.Uint32(log), binary.LittleEndian.Uint32(log[4:])
		if length > 0 && int32(number-batch) > 0 {
			return true
		}
	}
	return false
}
