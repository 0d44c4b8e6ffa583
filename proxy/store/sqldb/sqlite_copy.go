package sqldb

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/apbridge/apbridge/mapping"
	sqlite3 "zombiezen.com/go/sqlite"
)

// Progress is told how many pages of a database are copied, and how many there are.
type Progress func(done, all int)

// copyPages is how many pages are copied between two looks at the context.
const copyPages = 2048

// CopySQLite copies the SQLite database at from into the file to, which is empty or not there, as it is at one moment:
// the file and what its write-ahead log has. A process that uses the database goes on meanwhile; its log grows until
// the copy is made. The copy is one file without a log. It is looked through and is on the disk when CopySQLite
// returns; after an error it is of no use.
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
			_ = os.Remove(to + "-journal") // what a full disk made SQLite leave: nothing is to be rolled back
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
}

// copyInto copies what the transaction of src sees. Since it stays open, no commit of others has the copy begin anew.
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

// whole makes a copy one file, which needs no other beside it, and looks through it: pages are copied as they are,
// harmed ones too.
func whole(dst *sqlite3.Conn, from string) error {
	mode := ""
	if err := (sqliteTx{dst}).get("PRAGMA journal_mode = DELETE", nil, []any{&mode}); err != nil {
		return err
	}
	return sound(dst, from)
}

// CheckSQLite looks through all of the SQLite database at path.
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
		return caused(err, mapping.Unavailable, CodeUnavailable, "database "+path+": it is damaged ("+found+"). Use another backup; \"sqlite3 "+path+" .recover\" may save what is left")
	}
	return nil
}

func unwritable(to string, err error) error {
	if codeOf(err)&0xff == sqliteFull {
		return errors.New(to + " cannot be written: its disk is full. Free some space, or name a file elsewhere")
	}
	return err
}

// RestoreSQLite makes the SQLite database at path a copy of the one at from. There must be none at path, and no process
// that uses it. Until it returns nil there is no database at path.
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
			return refuse(path, "%s is there already, and nothing is written over it. Move it away first, with what stands beside it (mv %s* FOLDER), or restore to another path by --database", there, path)
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
