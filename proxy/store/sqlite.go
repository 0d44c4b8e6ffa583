package store

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
)

// sqlite is what is particular to SQLite: the file, its lock, its pragmas and
// how transactions begin. Keep it small: the SQL of the other files is meant
// for PostgreSQL too.
type sqlite struct {
	path  string
	lock  *fileLock
	pool  *sql.DB
	file  os.FileInfo // of the database when it was opened
	full  bool        // commits wait for the disk
	now   func() int64
	level string // what "synchronous" is set to on the writer's connection
}

// openSQLite takes the lock, checks or makes the file, and migrates it.
func openSQLite(ctx context.Context, path string, full bool, now func() int64) (_ *sqlite, err error) {
	if path == "" || path == ":memory:" {
		return nil, refuse(`"`+path+`"`, "a path to a file is needed: the record must outlive the process")
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	d := &sqlite{path: path, full: full, now: now}
	if d.lock, err = lockDatabase(path); err != nil {
		return nil, err
	}
	if err = d.prepare(ctx); err != nil {
		_ = d.close()
		return nil, err
	}
	return d, nil
}

func (d *sqlite) prepare(ctx context.Context) error {
	if err := d.ensureFile(ctx); err != nil {
		return err
	}
	d.pool = openPool(d.path)
	if err := checkTables(ctx, d.path, d.pool); err != nil {
		return err
	}
	if _, err := d.pool.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return unreadable(d.path, err)
	}
	if err := migrate(ctx, d.path, d.pool); err != nil {
		return err
	}
	info, err := os.Stat(d.path)
	d.file = info
	return err
}

// openPool makes the pool all sessions are taken from. The connections wait for
// each other where SQLite has them wait at all: at checkpoints and recovery.
func openPool(path string) *sql.DB {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: "_pragma=busy_timeout(5000)"}
	pool, err := sql.Open("sqlite", u.String())
	if err != nil {
		panic(err) // the driver is linked in
	}
	pool.SetMaxIdleConns(8)
	return pool
}

// session opens a connection of its own. Memory-mapped reading stays off: a
// file that shrinks under a map kills the process instead of failing a read.
func (d *sqlite) session(ctx context.Context, readOnly bool) (*session, error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	pragmas := []string{"PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -8000",
		"PRAGMA wal_autocheckpoint = 4000", "PRAGMA journal_size_limit = 67108864"}
	if readOnly {
		pragmas = []string{"PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -4000", "PRAGMA query_only = 1"}
	}
	for _, p := range pragmas {
		if _, err := conn.ExecContext(ctx, p); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return newSession(conn), nil
}

// begin starts a transaction of the writer. With synchronous NORMAL a commit is
// in the log file but not flushed; the next FULL commit flushes it too.
func (d *sqlite) begin(s *session, relaxed bool) error {
	level := "NORMAL"
	if d.full && !relaxed {
		level = "FULL"
	}
	if level != d.level {
		if _, err := s.conn.ExecContext(context.Background(), "PRAGMA synchronous = "+level); err != nil {
			return err
		}
		d.level = level
	}
	return d.exec(s, "BEGIN IMMEDIATE")
}

func (d *sqlite) exec(s *session, text string) error {
	st, err := s.stmt(text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(context.Background())
	return err
}

func (d *sqlite) clock() int64 { return d.now() }

// view runs do in a read transaction.
func (d *sqlite) view(s *session, do func() error) error {
	if err := d.exec(s, "BEGIN"); err != nil {
		return err
	}
	err := do()
	if e := d.exec(s, "COMMIT"); e != nil && err == nil {
		err = e
	}
	return err
}

// broken: after a failed write or flush nobody can say what the disk holds, so
// no further write is acknowledged. A full disk is not that: it may have room
// again.
func (d *sqlite) broken(err error) bool {
	switch codeOf(err) & 0xff {
	case sqliteIOErr, sqliteCorrupt, sqliteNotADB:
		return true
	}
	return false
}

// present tells whether the file at the path is still the one that is open.
func (d *sqlite) present() error {
	info, err := os.Stat(d.path)
	if err == nil && os.SameFile(info, d.file) {
		return nil
	}
	return refuse(d.path, "the file was moved or deleted while in use; stop the bridge, put the file back and start again")
}

func (d *sqlite) close() (err error) {
	if d.pool != nil {
		err = d.pool.Close()
	}
	d.lock.release()
	return err
}
