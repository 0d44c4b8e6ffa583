package sqldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb/filelock"
	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

// applicationID marks a database file as ours ("PRAGMA application_id").
const applicationID = 0x41504247

// pageSize is the page size of new files, in bytes. Every commit writes each changed page completely, and a run changes
// thirty pages for its five kilobytes of data. With SQLite's default of 4 KiB a run takes a seventh longer. Larger rows
// use overflow pages in both cases, with the same number of bytes.
const pageSize = 2048

// sqliteFile is the locked file of a database and the files next to it. Safe for concurrent use once opened.
type sqliteFile struct {
	path   string
	lock   *filelock.Lock
	opened os.FileInfo // stat result at the time of opening
	seen   fileStat    // to detect damage
	zap    *zap.Logger
}

// prepare makes sure that there is a database of this version at the path.
func (f *sqliteFile) prepare(ctx context.Context) error {
	if err := f.ensureFile(ctx); err != nil {
		return err
	}
	if err := f.upgrade(ctx); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	f.opened = info
	f.seen.size.Store(info.Size())
	return nil
}

// upgrade checks the tables and brings them up to date, with the driver that migrations are written for.
func (f *sqliteFile) upgrade(ctx context.Context) error {
	pool := openPool(f.path)
	defer pool.Close()
	if err := checkTables(ctx, f.path, pool); err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return unreadable(f.path, err)
	}
	return migrate(ctx, f.path, pool, goose.DialectSQLite3, f.zap)
}

// ensureFile makes sure that there is a complete database at the path. A new one is created under another name first,
// so that a file at the path is never incomplete.
func (f *sqliteFile) ensureFile(ctx context.Context) error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.create(ctx); err != nil {
			return err
		}
		return f.holdFile()
	case err != nil:
		return refuse(f.path, "%v", err)
	case info.IsDir():
		return refuse(f.path, "this is a folder; set database to the path of a file in it")
	case info.Mode().Perm()&0o222 == 0:
		return readOnly(f.path)
	}
	if err := f.holdFile(); err != nil {
		return err
	}
	// Check for damage that SQLite itself would notice late or not at all.
	if err := checkHeader(f.path, f.lock.File(), info.Size()); err != nil {
		return err
	}
	return f.lock.Mark()
}

// holdFile takes the lock of the file itself.
func (f *sqliteFile) holdFile() error {
	err := holdDatabase(f.lock, f.path)
	if errors.Is(err, filelock.ErrUnlocked) {
		f.zap.Warn("the database's file is locked only by its name, because its file system or this operating system cannot lock open files. Do not use it under another name or mount at the same time, and do not delete the -lock file beside it while a bridge runs", zap.String("database", f.path))
		return nil
	}
	return err
}

func (f *sqliteFile) create(ctx context.Context) error {
	if f.lock.Marked() || exists(f.path+"-wal") {
		return refuse(f.path, "the file is missing, although there was a database here before. Put it back, or restore a backup; to start with an empty one, delete %s-lock and %s-wal", f.path, f.path)
	}
	draft := f.path + ".new"
	if err := removeAll(draft, draft+"-journal"); err != nil {
		return refuse(f.path, "%v", err)
	}
	if err := build(ctx, draft); err != nil {
		return err
	}
	// Conversations are private. SQLite gives the files next to this one the same mode.
	if err := os.Chmod(draft, 0o600); err != nil {
		return refuse(f.path, "%v", err)
	}
	if err := os.Rename(draft, f.path); err != nil {
		return refuse(f.path, "%v", err)
	}
	syncFolder(filepath.Dir(f.path))
	f.zap.Info("creating a new database", zap.String("database", f.path))
	return f.lock.Mark()
}

func (f *sqliteFile) size() (bytes int64, ok bool) {
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, true
	}
	return info.Size(), true
}

// logSize returns the size of the write-ahead log. SQLite overwrites the log from the beginning after a checkpoint has
// copied all of it, which is only possible if no reader uses an older state. Our own readers are brief, but another
// program can delay that indefinitely. No operation waits for that. Until then the log grows, and afterwards it is
// truncated to journal_size_limit.
func (f *sqliteFile) logSize() (bytes int64, ok bool) {
	info, err := os.Stat(f.path + "-wal")
	if err != nil {
		return 0, true
	}
	return info.Size(), true
}

// build creates a complete, empty database, which is durable when build returns. No other program can know the draft
// before that, so it is flushed only once, at the end.
func build(ctx context.Context, draft string) error {
	if err := fill(ctx, draft); err != nil {
		return err
	}
	f, err := os.OpenFile(draft, os.O_RDWR, 0)
	if err != nil {
		return refuse(draft, "%v", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return refuse(draft, "%v", err)
	}
	return nil
}

// fill creates the tables of a draft.
func fill(ctx context.Context, draft string) error {
	pool := openPool(draft)
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for _, first := range []string{fmt.Sprintf("PRAGMA page_size = %d", pageSize), fmt.Sprintf("PRAGMA application_id = %d", applicationID), "PRAGMA synchronous = off", "PRAGMA journal_mode = memory"} {
		if _, err := pool.ExecContext(ctx, first); err != nil {
			return unreadable(draft, err)
		}
	}
	return migrate(ctx, draft, pool, goose.DialectSQLite3, zap.NewNop())
}

// checkHeader checks the first 100 bytes ("Database File Format", section 1.3).
func checkHeader(path string, f io.Reader, size int64) error {
	if size == 0 {
		return refuse(path, "the file is empty. Restore a backup, or delete it together with %s-lock to start with an empty one", path)
	}
	var h [100]byte
	if _, err := io.ReadFull(f, h[:]); err != nil || string(h[:16]) != "SQLite format 3\x00" {
		return refuse(path, "this is not a SQLite database, or its beginning is damaged. Restore a backup, or set database to another path")
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	// An interrupted checkpoint leaves the file short while the log has the rest. A short file means data loss only if
	// there is no log.
	if pages := int64(binary.BigEndian.Uint32(h[28:])); size < pages*page && emptyOrAbsent(path+"-wal") {
		return refuse(path, "the file is truncated: %d of %d bytes are left. Restore a backup", size, pages*page)
	}
	return nil
}

// checkTables reads a little of each table to detect damage that the header does not show.
func checkTables(ctx context.Context, path string, pool *sql.DB) error {
	var id, tables int64
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return unreadable(path, err)
	}
	if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return unreadable(path, err)
	}
	if id != applicationID {
		return refuse(path, "this is the database of another program. Set database to another path")
	}
	for _, table := range []string{"threads", "thread_seq", "runs", "tasks", "events", "links", "artifacts"} {
		var n int64
		if err := pool.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM "+table).Scan(&n); err != nil {
			return unreadable(path, err)
		}
	}
	return nil
}

func readOnly(path string) error {
	return refuse(path, "this user cannot write to the file. Make it and its folder writable, or set database to another path")
}

func unreadable(path string, err error) error {
	if code := codeOf(err); code == sqliteShmSize || code&0xff == sqliteFull {
		return caused(err, mapping.StorageFull, CodeStorageFull, "database "+path+": its disk is full, and there is no room for the files next to it that SQLite needs to read it. Nothing is lost; free some space and start again")
	}
	return caused(err, mapping.Unavailable, CodeUnavailable, "database "+path+": it cannot be read and is probably damaged. Restore a backup; \"sqlite3 "+path+" .recover\" may recover the remaining data")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func emptyOrAbsent(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Size() == 0
}

func removeAll(paths ...string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFolder makes a rename durable on systems that support it.
func syncFolder(path string) {
	if f, err := os.Open(path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
