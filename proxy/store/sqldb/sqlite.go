package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/proxy/store/clock"
	"go.uber.org/zap"
	sqlite3 "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// busyTimeout is the time for which connections wait for each other during checkpoints and recovery, the only times
// SQLite makes them wait.
const busyTimeout = 5 * time.Second

// sqlite is the part specific to SQLite: the file, its lock, its pragmas and the way transactions begin. Keep it small,
// since the SQL of operations is shared with PostgreSQL.
type sqlite struct {
	sqliteFile
	owner    string
	holdings Holdings
	full     bool  // commits wait for the disk
	zeros    bool  // deleted data is overwritten
	limit    int64 // bytes of the file; 0 for none
	wall     func() time.Time
	time     *clock.Clock
	told     func(operations int, took time.Duration) // Options.Committed
	changed  int64                                    // total changes of the writer when its transaction began
	disk     flushes
	probe    probe

	writer  *writer
	readers *sqlitex.Pool
	files   *sqlitex.Pool // one connection, for the contents of files
	closed  atomic.Bool
}

// openSQLite takes the lock, checks or creates the file, and migrates it.
func openSQLite(ctx context.Context, path string, o Options, log *zap.Logger) (_ *sqlite, err error) {
	if path == "" || path == ":memory:" {
		return nil, refuse(`"`+path+`"`, "a path to a file is needed, since the records must outlive the process")
	}
	if path, err = realPath(path); err != nil {
		return nil, err
	}
	d := &sqlite{
		sqliteFile: sqliteFile{path: path, zap: log}, owner: o.Owner, holdings: o.Holdings,
		full: o.Synchronous != "normal", zeros: o.SecureDelete, limit: o.Limit, wall: o.Now, time: o.clock(clock.Patience), told: o.Committed,
	}
	if d.wall == nil {
		d.wall = time.Now
	}
	if d.lock, err = lockDatabase(path); err != nil {
		return nil, err
	}
	if err = d.prepare(ctx); err == nil {
		err = d.serve()
	}
	if err != nil {
		_ = d.close()
		return nil, err
	}
	return d, nil
}

// secureDelete sets the pragma explicitly, because SQLite's default depends on the build.
func secureDelete(on bool) string {
	if on {
		return "secure_delete = ON"
	}
	return "secure_delete = OFF"
}

// readersMost is the maximum number of concurrent reads. Files are read on a separate connection, because their
// contents would fill the caches of the others.
const readersMost = 4

// serve opens the writer and the pools of readers. Their cache sizes, in KiB, are about half of the memory used: SQLite
// does not count its overhead per page, and its allocator rounds a 2 KiB page with overhead up to 4 KiB.
func (d *sqlite) serve() error {
	conn, err := sqlite3.OpenConn(d.path, sqlite3.OpenReadWrite)
	if err != nil {
		return err
	}
	if err = setUp(conn, "synchronous = NORMAL", "cache_size = -4000", "journal_size_limit = 67108864", secureDelete(d.zeros)); err == nil {
		err = bound(conn, d.limit)
	}
	if err != nil {
		_ = conn.Close()
		return err
	}
	if d.full {
		d.disk.start(d.path)
	}
	d.writer = newWriter(d, conn, d.told)
	if d.readers, err = d.pool(readersMost, "cache_size = -2000"); err == nil {
		d.files, err = d.pool(1, "cache_size = -256")
	}
	return err
}

// pool returns a pool of read-only connections. They are set up on first use, so that on a full disk reads fail but the
// start does not.
func (d *sqlite) pool(size int, cache string) (*sqlitex.Pool, error) {
	return sqlitex.NewPool(d.path, sqlitex.PoolOptions{Flags: sqlite3.OpenReadWrite, PoolSize: size,
		PrepareConn: func(conn *sqlite3.Conn) error { return setUp(conn, cache, "query_only = 1") }})
}

// setUp sets the pragmas of a new connection. Memory-mapped reading stays off, because a file that shrinks while mapped
// kills the process instead of failing a read.
func setUp(conn *sqlite3.Conn, pragmas ...string) error {
	conn.SetBusyTimeout(busyTimeout)
	for _, p := range append(pragmas, "temp_store = MEMORY") {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+p, nil); err != nil {
			return err
		}
	}
	return nil
}

// logUsual is the size of the log, in bytes, at which it is checkpointed into the file.
const logUsual = 16 << 20

// bound sets how large the log may grow before a checkpoint, and makes writes fail that would grow the file beyond
// limit. SQLite counts both in pages, whose size was chosen by the program that created the file.
func bound(conn *sqlite3.Conn, limit int64) error {
	x, page := sqliteTx{conn}, int64(0)
	if err := x.get("PRAGMA page_size", nil, []any{&page}); err != nil {
		return err
	}
	if err := x.put("PRAGMA wal_autocheckpoint = "+strconv.FormatInt(logUsual/page, 10), nil); err != nil || limit <= 0 {
		return err
	}
	return x.put("PRAGMA max_page_count = "+strconv.FormatInt(max(limit/page, 1), 10), nil)
}

func openPool(path string) *sql.DB {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds())}
	pool, err := sql.Open("sqlite", u.String())
	if err != nil {
		panic(err) // the driver is linked in
	}
	return pool
}

func (d *sqlite) begin(conn *sqlite3.Conn) error {
	err := d.exec(conn, "BEGIN IMMEDIATE")
	if err == nil {
		d.changed, err = changes(conn)
	}
	return err
}

// changes returns how many rows a connection has changed so far.
func changes(conn *sqlite3.Conn) (n int64, err error) {
	err = sqliteTx{conn}.get(`SELECT total_changes()`, nil, []any{&n})
	return n, err
}

// committing counts a transaction before readers can see it. A transaction that changed no rows does not count.
func (d *sqlite) committing(conn *sqlite3.Conn) error {
	n, err := changes(conn)
	if err == nil && n != d.changed {
		d.disk.commitBegins()
	}
	return err
}

func (d *sqlite) committed(relaxed bool) error {
	d.disk.commitEnds()
	if relaxed {
		return nil
	}
	return d.disk.flush(d.disk.seen())
}

func (d *sqlite) exec(conn *sqlite3.Conn, text string) error { return sqlitex.Execute(conn, text, nil) }

func (d *sqlite) clock() clock.Reading {
	d.time.Hear(d.wall())
	return d.time.Read()
}

func (d *sqlite) setClock(*Tx) error { return nil } // the clock always has the machine's time

func (d *sqlite) write(ctx context.Context, relaxed bool, do func(*Tx) error) error {
	return d.writer.write(ctx, relaxed, failing(do))
}

func (d *sqlite) read(ctx context.Context, do func(*Tx) error) error {
	return d.lend(ctx, d.readers, func(conn *sqlite3.Conn) (err error) {
		defer sqlitex.Transaction(conn)(&err)
		return doSafely(do, d.tx(conn))
	})
}

func (d *sqlite) readOne(ctx context.Context, do func(*Tx) error) error {
	return d.lend(ctx, d.readers, func(conn *sqlite3.Conn) error { return do(d.tx(conn)) })
}

func (d *sqlite) readBlob(ctx context.Context, do func(*Tx) error) error {
	return d.lend(ctx, d.files, func(conn *sqlite3.Conn) error { return do(d.tx(conn)) })
}

func (d *sqlite) tx(conn *sqlite3.Conn) *Tx { return &Tx{on: sqliteTx{conn}, Reading: d.clock()} }

// lend calls do with a connection of the pool, interrupts it when ctx ends, and returns once the data read is on disk.
func (d *sqlite) lend(ctx context.Context, of *sqlitex.Pool, do func(*sqlite3.Conn) error) error {
	if err := d.use(ctx, of, do); err != nil {
		return err
	}
	return d.flush()
}

// use is like lend, without the flush. A reader that finds the file damaged also stops further writes: the writer would
// find the damage only later, after acknowledging more.
func (d *sqlite) use(ctx context.Context, of *sqlitex.Pool, do func(*sqlite3.Conn) error) error {
	conn, err := of.Take(ctx)
	if err == nil {
		defer of.Put(conn)
		err = do(conn)
	}
	switch code := codeOf(err) & 0xff; {
	case err == nil:
		return nil
	case conn == nil && d.closed.Load(), code == sqliteInterrupt && ctx.Err() == nil:
		return errClosed
	case code == sqliteInterrupt:
		return ctx.Err()
	case code == sqliteCorrupt, code == sqliteNotADB:
		return d.writer.notice(err)
	}
	return err
}

// flush flushes all commits that may have been seen. After a failed flush, these commits and all later ones may be
// lost.
func (d *sqlite) flush() error {
	if err := d.disk.flush(d.disk.seen()); err != nil {
		return d.writer.notice(err)
	}
	return nil
}

// broken reports whether err means that the file can no longer be trusted. After a failed write or flush the content of
// the disk is unknown, and data written on top of a damaged page is lost with it. No further write is acknowledged
// until an operator has checked the file and restarted the bridge. A full disk is different, because space may become
// available again.
func (d *sqlite) broken(err error) bool {
	switch codeOf(err) & 0xff {
	case sqliteIOErr, sqliteCorrupt, sqliteNotADB:
		return true
	}
	return false
}

// notices returns nil, because there are no other processes.
func (d *sqlite) notices() *notices { return nil }

// close waits for writes and interrupts reads.
func (d *sqlite) close() (err error) {
	if d.closed.CompareAndSwap(false, true) {
		err = d.closeConns()
	}
	d.lock.Close()
	return err
}

func (d *sqlite) closeConns() (err error) {
	if d.writer == nil {
		return nil
	}
	d.writer.close()
	for _, pool := range []*sqlitex.Pool{d.readers, d.files} {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
	}
	d.disk.close()
	return errors.Join(err, d.writer.conn.Close())
}
