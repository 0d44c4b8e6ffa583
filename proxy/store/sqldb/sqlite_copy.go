package sqldb

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/apbridge/apbridge/mapping"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Progress receives the number of pages copied so far and in total.
type Progress func(done, all int)

// copyPages is the number of pages copied between two checks of the context.
const copyPages = 2048

// CopySQLite copies the SQLite database at from, with the content of its write-ahead log, into the file to, which must
// be empty or missing. The copy is a consistent snapshot. A process may keep using the database; its log grows until
// the copy is complete. The copy is one file without a log. When CopySQLite returns, the copy has been checked and is
// on disk. After an error it is unusable.
func CopySQLite(ctx context.Context, from, to string, said Progress) error {
	return besideSQLite(ctx, from, func(src *sqlite3.Conn) error {
		dst, err := sqlite3.OpenConn(to, sqlite3.OpenReadWrite|sqlite3.OpenCreate)
		if err != nil {
			return unwritable(to, err)
		}
		dst.SetInterrupt(ctx.Done())
		if err = copyInto(ctx, dst, src, said); err != nil {
			err = unwritable(to, err)
		} else {
			err = whole(dst, from)
		}
		if err = errors.Join(err, dst.Close()); err != nil {
			_ = os.Remove(to + "-journal") // left behind by SQLite on a full disk; there is nothing to roll back
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
}

// copyInto copies the data visible to the transaction of src. Since that stays open, commits of others do not restart
// the copy.
func copyInto(ctx context.Context, dst, src *sqlite3.Conn, said Progress) error {
	b, err := sqlite3.NewBackup(dst, "", src, "")
	if err != nil {
		return err
	}
	defer b.Close()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = b.Step(copyPages); err != nil {
			return err
		}
		said(b.PageCount()-b.Remaining(), b.PageCount())
	}
	return nil
}

// whole makes a copy a single file without a log and checks it, because pages are copied unchanged, even damaged ones.
func whole(dst *sqlite3.Conn, from string) error {
	mode := ""
	if err := (sqliteTx{dst}).get("PRAGMA journal_mode = DELETE", nil, []any{&mode}); err != nil {
		return err
	}
	return sound(dst, from)
}

// CheckSQLite checks the integrity of the SQLite database at path.
func CheckSQLite(ctx context.Context, path string) error {
	return besideSQLite(ctx, path, func(conn *sqlite3.Conn) error {
		err := sound(conn, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
}

func sound(conn *sqlite3.Conn, path string) error {
	found := ""
	err := sqliteTx{conn}.get("PRAGMA integrity_check(1)", nil, []any{&found})
	if err != nil {
		found = err.Error()
	}
	if found != "ok" {
		return caused(err, mapping.Unavailable, CodeUnavailable, "database "+path+": it is damaged ("+found+"). Use another backup; \"sqlite3 "+path+" .recover\" may recover the remaining data")
	}
	return nil
}

func unwritable(to string, err error) error {
	if codeOf(err)&0xff == sqliteFull {
		return errors.New(to + " cannot be written: its disk is full. Free some space, or choose a file elsewhere")
	}
	return err
}

// RestoreSQLite copies the SQLite database at from to path. There must be no database at path and no process using it.
// The new database appears at path only once it is complete.
func RestoreSQLite(ctx context.Context, from, path string, said Progress) error {
	path, err := realPath(path)
	if err != nil {
		return err
	}
	lock, err := lockDatabase(path)
	if err != nil {
		return err
	}
	defer lock.Close()
	f := sqliteFile{path: path}
	for _, there := range []string{path, path + "-wal"} {
		if exists(there) {
			return refuse(path, "%s already exists and is not overwritten. Move it away first, together with the files next to it (mv %s* FOLDER), or restore to another path with --database", there, path)
		}
	}
	draft := path + ".new"
	if err := removeAll(draft, draft+"-journal"); err != nil {
		return refuse(path, "%v", err)
	}
	if err := f.restoreBy(ctx, from, draft, said); err != nil {
		return errors.Join(err, removeAll(draft, draft+"-journal"))
	}
	return lock.Mark()
}

func (f *sqliteFile) restoreBy(ctx context.Context, from, draft string, said Progress) error {
	if err := CopySQLite(ctx, from, draft, said); err != nil {
		return err
	}
	if err := os.Chmod(draft, 0o600); err != nil {
		return err
	}
	if err := os.Rename(draft, f.path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(f.path))
	return nil
}
