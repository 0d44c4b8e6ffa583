package sqldb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/apbridge/apbridge/proxy/store/clock"
	sqlite3 "zombiezen.com/go/sqlite"
)

func lookSQLite(ctx context.Context, path string, do func(*Tx) error) error {
	return besideSQLite(ctx, path, func(conn *sqlite3.Conn) error {
		err := doSafely(do, &Tx{on: sqliteTx{conn}, Reading: clock.At(time.Now())})
		switch code := codeOf(err) & 0xff; {
		case ctx.Err() != nil:
			return ctx.Err()
		case code == sqliteCorrupt, code == sqliteNotADB, code == sqliteIOErr:
			return unreadable(path, err)
		}
		return err
	})
}

// besideSQLite runs do in one transaction on a read-only connection, while another process may be using the database.
// It does not take that process's lock, which only excludes writers.
func besideSQLite(ctx context.Context, path string, do func(*sqlite3.Conn) error) (err error) {
	if path, err = realPath(path); err != nil {
		return err
	}
	if err := readable(path); err != nil {
		return err
	}
	conn, err := sqlite3.OpenConn(path, sqlite3.OpenReadWrite)
	if err != nil {
		return unreadable(path, err)
	}
	defer conn.Close()
	conn.SetInterrupt(ctx.Done())
	if err := beginBeside(path, conn); err != nil {
		return err
	}
	return do(conn)
}

// beginBeside begins the transaction with a first read. It refuses databases of other programs.
func beginBeside(path string, conn *sqlite3.Conn) error {
	if err := setUp(conn, "cache_size = -2000", "query_only = 1"); err != nil {
		return unreadable(path, err)
	}
	x, id := sqliteTx{conn}, int64(0)
	if err := x.put("BEGIN", nil); err != nil {
		return unreadable(path, err)
	}
	var tables int64
	if err := x.get("SELECT count(*) FROM sqlite_master", nil, []any{&tables}); err != nil {
		return unreadable(path, err)
	}
	if err := x.get("PRAGMA application_id", nil, []any{&id}); err != nil {
		return unreadable(path, err)
	}
	if id != applicationID {
		return refuse(path, "this is the database of another program")
	}
	return nil
}

// readable checks the file before SQLite opens it. Afterwards the file must not be opened again (see filelock.Lock).
func readable(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(path, "there is no such file; choose another")
	}
	if err != nil {
		return refuse(path, "%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return refuse(path, "%v", err)
	}
	if info.IsDir() {
		return refuse(path, "this is a folder; give the path of the file in it")
	}
	return checkHeader(path, f, info.Size())
}
