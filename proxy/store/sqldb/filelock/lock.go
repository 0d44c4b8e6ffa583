package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Lock keeps a second process away from a database: two writers over one file would each believe in leases the other
// cannot see. Not safe for concurrent use.
type Lock struct {
	path string
	// name is PATH-lock, which stays behind: its content says that there is a database, so that a missing one is
	// noticed. It guards the making of a new file.
	name *os.File
	// file is the database itself, locked as what it is and not by a name, since names can be deleted and there may be
	// several. See lockWhole for what the lock is.
	//
	// POSIX locks, which SQLite uses, end when the process closes any descriptor of the file. So this one is closed
	// after SQLite's, and nothing else may open the database's file while it is in use.
	file *os.File
}

// Reasons why a lock is not had.
var (
	ErrLocked   = errors.New("another process holds the lock")
	ErrUnlocked = errors.New("the file system, or this kind of system, has no lock of that kind")
)

// unlocked is ErrUnlocked in the words of the system.
type unlocked struct{ error }

func (unlocked) Is(target error) bool { return target == ErrUnlocked }

// ManyNames refuses a file with hard links: it is how many names the file has.
type ManyNames uint64

func (n ManyNames) Error() string {
	return fmt.Sprintf("the file has %d names (hard links)", uint64(n))
}

// Take takes the lock of the name of the database at path, which need not be there. ErrLocked: another process has it.
// ErrUnlocked: there are no such locks here. Other errors are those of opening PATH-lock.
func Take(path string) (*Lock, error) {
	f, err := os.OpenFile(nameOf(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		if !errors.Is(err, ErrLocked) {
			err = unlocked{err}
		}
		return nil, err
	}
	return &Lock{path: path, name: f}, nil
}

func nameOf(path string) string { return path + "-lock" }

// Hold opens the database's file and locks it. ErrLocked: another process has it, under another name. ErrUnlocked: it
// is open, and can be locked by its name only. ManyNames: it has hard links. Other errors are those of opening the
// file.
func (l *Lock) Hold() error {
	f, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	l.file = f
	if names := linkCount(f); names > 1 {
		return ManyNames(names)
	}
	return lockWhole(f)
}

// File returns the database's file as Hold has opened it, to be read from where the last read ended.
func (l *Lock) File() io.Reader { return l.file }

// Marked reports whether the database has existed.
func (l *Lock) Marked() bool {
	info, err := l.name.Stat()
	return err == nil && info.Size() > 0
}

// Mark notes that the database exists.
func (l *Lock) Mark() error {
	if l.Marked() {
		return nil
	}
	if _, err := l.name.WriteString("There is a database beside this file. It is locked while a bridge uses it.\n"); err != nil {
		return err
	}
	return l.name.Sync()
}

// Close gives both locks back. A nil Lock has none.
func (l *Lock) Close() {
	if l == nil {
		return
	}
	if l.file != nil {
		unlockWhole(l.file)
		_ = l.file.Close()
	}
	unlock(l.name)
	_ = l.name.Close()
}

// Abandoned reports whether the database at path has been used and no process uses it now.
func Abandoned(path string) bool {
	f, err := os.OpenFile(nameOf(path), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return tryLock(f) == nil
}
