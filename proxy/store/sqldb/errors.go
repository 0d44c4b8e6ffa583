package sqldb

import (
	"errors"
	"fmt"

	"github.com/apbridge/apbridge/mapping"
	driver "modernc.org/sqlite"
	sqlite3 "zombiezen.com/go/sqlite"
)

var errClosed = mapping.Errorf(mapping.Unavailable, mapping.CodeShutdown, "The bridge is shutting down. Send the request again in a moment.")

// Codes of errors that come from the database itself.
const (
	CodeStorageFull = "storage_full"
	CodeUnavailable = "database_unavailable"
)

// Primary result codes of SQLite ("Result and Error Codes"). They are the low byte of an extended code.
const (
	sqliteReadonly  = 8
	sqliteIOErr     = 10
	sqliteCorrupt   = 11
	sqliteFull      = 13
	sqliteBusy      = 5
	sqliteInterrupt = 9
	sqliteCantOpen  = 14
	sqliteNotADB    = 26
	sqliteShmSize   = 4874 // SQLITE_IOERR_SHMSIZE
	sqliteDuplicate = 2067 // SQLITE_CONSTRAINT_UNIQUE
	sqliteSameKey   = 1555 // SQLITE_CONSTRAINT_PRIMARYKEY
)

func codeOf(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	if code := sqlite3.ErrCode(err); code != sqlite3.ResultError { // ErrCode returns ResultError for other errors, too
		return int(code)
	}
	return 0
}

// Duplicate reports whether a row was refused because it conflicts with an existing one.
func Duplicate(err error) bool {
	code := codeOf(err)
	return code == sqliteDuplicate || code == sqliteSameKey || stateOf(err) == pgDuplicate
}

// ofStorage reports whether an error comes from the disk, the files or other programs that use them, and not from the
// operation itself.
func ofStorage(err error) bool {
	switch codeOf(err) & 0xff {
	case sqliteFull, sqliteBusy, sqliteReadonly, sqliteIOErr, sqliteCorrupt, sqliteCantOpen, sqliteNotADB:
		return true
	}
	return mapping.Classify(err).Code == CodeUnavailable
}

// classify gives errors of the database a class. Other errors, and those that already have a class, are returned
// unchanged.
func (d *sqlite) classify(err error) error {
	if e := (*mapping.Error)(nil); errors.As(err, &e) {
		return err
	}
	switch codeOf(err) & 0xff {
	case sqliteFull:
		return caused(err, mapping.StorageFull, CodeStorageFull, "The bridge's database cannot grow: "+d.fullness()+" Nothing was written; reading still works. Free some space and try again.")
	case sqliteBusy:
		return caused(err, mapping.Unavailable, CodeUnavailable, "The bridge's database is busy with another program. Try again.")
	case sqliteReadonly, sqliteIOErr, sqliteCorrupt, sqliteCantOpen, sqliteNotADB:
		return caused(err, mapping.Unavailable, CodeUnavailable, "The bridge's database cannot be used. An operator must check its file and disk; the cause is in the bridge's log.")
	}
	return err
}

// fullness describes the cause of a full database. SQLite does not distinguish the limit from a full disk.
func (d *sqlite) fullness() string {
	if d.limit > 0 {
		return fmt.Sprintf("it has reached limits.database (%d bytes), or its disk is full.", d.limit)
	}
	return "its disk is full."
}

func caused(err error, class mapping.Class, code, message string) error {
	e := mapping.Errorf(class, code, "%s", message)
	e.Err = err
	return e
}

// refuse returns an error with the reason why a database cannot be opened and how to fix that.
func refuse(path, format string, args ...any) error {
	return mapping.Errorf(mapping.Unavailable, CodeUnavailable, "database %s: %s", path, fmt.Sprintf(format, args...))
}
