package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
	sqlite3 "zombiezen.com/go/sqlite"
)

// busyTimeout is how long connections wait for each other where SQLite has them
// wait at all: at checkpoints and recovery.
const busyTimeout = 5 * time.Second

// sqlite is what is particular to SQLite: the file, its lock, its pragmas and
// how transactions begin. Keep it small: the SQL of the other files is meant
// for PostgreSQL too.
type sqlite struct {
	path  string
	owner string
	lock  *fileLock
	file  os.FileInfo // of the database when it was opened
	full  bool        // commits wait for the disk
	limit int64       // bytes of the file; 0 for none
	zap   *zap.Logger
	now   func() time.Time
	level string // what "synchronous" is set to on the writer's connection
	seen  seen   // of the files, to notice when they are harmed
	disk  flushes
	probe probe

	writer  *writer
	readers *readers
	fetcher *readers // of files, which would fill the others' caches and be of no use there
}

// openSQLite takes the lock, checks or makes the file, and migrates it.
func openSQLite(ctx context.Context, path, owner string, o Options, log *zap.Logger) (_ *sqlite, err error) {
	if path == "" || path == ":memory:" {
		return nil, refuse(`"`+path+`"`, "a path to a file is needed: the record must outlive the process")
	}
	if path, err = realPath(path); err != nil {
		return nil, err
	}
	d := &sqlite{path: path, owner: owner, full: o.Synchronous != "normal", limit: o.Limit, now: o.Now, zap: log}
	if d.now == nil {
		d.now = time.Now
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

// serve opens the writer and the pool of readers.
func (d *sqlite) serve() error {
	first, err := d.session("PRAGMA cache_size = -8000", "PRAGMA journal_size_limit = 67108864")
	if err != nil {
		return err
	}
	if err := bound(first, d.limit); err != nil {
		_ = first.close()
		return err
	}
	if d.full {
		d.disk.begin(d.path)
	}
	d.writer = newWriter(d, first)
	d.readers, d.fetcher = newReaders(4, d.reader("PRAGMA cache_size = -4000")), newReaders(1, d.reader("PRAGMA cache_size = -256"))
	return nil
}

// logUsual is how much of the log is gathered, in bytes, before it is taken over into
// the file.
const logUsual = 16 << 20

// bound says how much of the log a session gathers, and has its writes fail where the
// file would grow beyond a limit. SQLite counts both in pages, which are as large as
// the program had them that made the file.
func bound(s *session, limit int64) error {
	var page int64
	if err := s.get("PRAGMA page_size", nil, out{&page}); err != nil {
		return err
	}
	if err := s.put("PRAGMA wal_autocheckpoint = "+strconv.FormatInt(logUsual/page, 10), nil); err != nil || limit <= 0 {
		return err
	}
	return s.put("PRAGMA max_page_count = "+strconv.FormatInt(max(limit/page, 1), 10), nil)
}

func (d *sqlite) prepare(ctx context.Context) error {
	if err := d.ensureFile(ctx); err != nil {
		return err
	}
	if err := d.upgrade(ctx); err != nil {
		return err
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	d.file = info
	d.seen.size.Store(info.Size())
	return nil
}

// upgrade looks at the tables and brings them up to date, by the driver that
// migrations are written for.
func (d *sqlite) upgrade(ctx context.Context) error {
	pool := openPool(d.path)
	defer pool.Close()
	if err := checkTables(ctx, d.path, pool); err != nil {
		return err
	}
	if err := d.clearRedo(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return unreadable(d.path, err)
	}
	return migrate(ctx, d.path, pool, goose.DialectSQLite3, sqliteWords)
}

func openPool(path string) *sql.DB {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds())}
	pool, err := sql.Open("sqlite", u.String())
	if err != nil {
		panic(err) // the driver is linked in
	}
	return pool
}

// session opens a connection of its own. Memory-mapped reading stays off: a
// file that shrinks under a map kills the process instead of failing a read.
func (d *sqlite) session(pragmas ...string) (*session, error) {
	conn, err := sqlite3.OpenConn(d.path, sqlite3.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	s := newSession(conn)
	for _, p := range append(pragmas, "PRAGMA temp_store = MEMORY") {
		if err := s.put(p, nil); err != nil {
			_ = s.close()
			return nil, err
		}
	}
	return s, nil
}

// reader opens sessions that change nothing.
func (d *sqlite) reader(cache string) func() (*session, error) {
	return func() (*session, error) { return d.session(cache, "PRAGMA query_only = 1") }
}

// begin starts a transaction of the writer. With synchronous NORMAL a commit is
// in the log file but not flushed; the next FULL commit flushes it too.
func (d *sqlite) begin(s *session, relaxed bool) error {
	level := "NORMAL"
	if d.full && !relaxed {
		level = "FULL"
	}
	if level != d.level {
		if err := d.exec(s, "PRAGMA synchronous = "+level); err != nil {
			return err
		}
		d.level = level
	}
	return d.exec(s, "BEGIN IMMEDIATE")
}

func (d *sqlite) exec(s *session, text string) error { return s.put(text, nil) }

func (d *sqlite) clock() int64 { return d.now().UnixMicro() }

func (d *sqlite) write(ctx context.Context, relaxed bool, do func(*tx) error) error {
	carried := relaxed
	err := d.writer.write(ctx, relaxed, failing(d.disk.counted(relaxed, do, &carried)))
	if err != nil || carried {
		return err
	}
	return d.flush() // it has changed nothing, and what it has found may be in the log alone
}

func (d *sqlite) view(ctx context.Context, do func(*tx) error) error {
	return d.reading(ctx, d.readers, func(s *session) error {
		if err := d.exec(s, "BEGIN"); err != nil {
			return err
		}
		err := guard(do, &tx{on: s, now: d.clock()}) // the session must not stay in a transaction
		if e := d.exec(s, "COMMIT"); e != nil && err == nil {
			err = e
		}
		return err
	})
}

func (d *sqlite) look(ctx context.Context, do func(*tx) error) error {
	return d.reading(ctx, d.readers, func(s *session) error { return do(&tx{on: s, now: d.clock()}) })
}

func (d *sqlite) fetch(ctx context.Context, do func(*tx) error) error {
	return d.reading(ctx, d.fetcher, func(s *session) error { return do(&tx{on: s, now: d.clock()}) })
}

// reading lends a session, and returns when what was read is on the disk. A reader that
// finds the file damaged ends writing, too: the writer would only find it later, with
// more acknowledged by then.
func (d *sqlite) reading(ctx context.Context, of *readers, do func(*session) error) error {
	err := of.lend(ctx, do)
	switch codeOf(err) & 0xff {
	case sqliteCorrupt, sqliteNotADB:
		return d.writer.notice(err)
	}
	if err != nil {
		return err
	}
	return d.flush()
}

// flush is as of flushes. What could not be flushed may be lost with all that follows it.
func (d *sqlite) flush() error {
	if err := d.disk.flush(); err != nil {
		return d.writer.notice(err)
	}
	return nil
}

// broken: after a failed write or flush nobody can say what the disk holds, and
// what was written on top of a damaged page is lost with it, so no further write is
// acknowledged until somebody has looked and started again. A full disk is not
// that: it may have room again.
func (d *sqlite) broken(err error) bool {
	switch codeOf(err) & 0xff {
	case sqliteIOErr, sqliteCorrupt, sqliteNotADB:
		return true
	}
	return false
}

// logSize is the size of the write-ahead log. It is written anew from its beginning
// when a checkpoint has seen all of it, which needs that nobody reads what is older: our own
// readers are brief, but another program may hold it up for as long as it likes.
// Nothing waits for that; the log grows meanwhile, and is cut to
// journal_size_limit when it can be.
func (d *sqlite) logSize() (bytes int64, ok bool) {
	info, err := os.Stat(d.path + "-wal")
	if err != nil {
		return 0, true
	}
	return info.Size(), true
}

// arrive frees the runs of all other processes: they are gone, since this one
// holds the file's lock. This one may hold some already: on a full disk it arrives
// when there is room.
func (d *sqlite) arrive(ctx context.Context) error {
	return d.write(ctx, false, func(t *tx) error {
		if _, err := t.exec(`UPDATE runs SET holder = '' WHERE ended_us = 0 AND status = 'running' AND parked = 0 AND holder <> '' AND holder <> $1`, d.owner); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM updates WHERE holder <> $1`, d.owner); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM processes WHERE owner <> $1`, d.owner)
		return err
	})
}

// beat notes that this process lives. Nobody else could take its runs.
func (d *sqlite) beat(ctx context.Context, ttl time.Duration) error {
	return d.write(ctx, true, func(t *tx) error {
		_, err := t.exec(`INSERT INTO processes (owner, until_us) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET until_us = excluded.until_us`,
			d.owner, t.now+ttl.Microseconds())
		return err
	})
}

// notices: there is nobody to hear or to tell.
func (d *sqlite) notices() *notices { return nil }

func (d *sqlite) leave(context.Context) {}

func (d *sqlite) close() (err error) {
	if d.writer != nil {
		d.writer.close()
		d.readers.close()
		d.fetcher.close()
		d.disk.close()
		err = d.writer.session.close()
	}
	d.lock.release()
	return err
}
