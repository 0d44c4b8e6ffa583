package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Lock prevents a second process from using a database. Two writers on one file would each trust leases that the other
// cannot see. Not safe for concurrent use.
type Lock struct {
	path string
	// name is PATH-lock, which is never deleted. Its content shows that a database exists, so that a missing one is
	// noticed. It guards the creation of a new file.
	name *os.File
	// file is the database itself. The lock is on the open file and not on a name, since names can be deleted and a
	// file can have several. See lockWhole for the kind of lock.
	//
	// POSIX locks, which SQLite uses, end when the process closes any descriptor of the file. So this descriptor is
	// closed after SQLite's, and nothing else may open the database's file while it is in use.
	file *os.File
}

// Errors of Take and Hold.
var (
	ErrLocked   = errors.New("another process holds the lock")
	ErrUnlocked = errors.New("the file system or the operating system does not support this kind of lock")
)

// unlocked is an ErrUnlocked with the system's message.
type unlocked struct{ error }

func (unlocked) Is(target error) bool { return target == ErrUnlocked }

// ManyNames is the error for a file with hard links. Its value is the number of names.
type ManyNames uint64

func (n ManyNames) Error() string {
	return fmt.Sprintf("the file has %d names (hard links)", uint64(n))
}

// Take locks the name of the database at path, which need not exist. It returns ErrLocked if another process has the
// lock, and ErrUnlocked if the file system has no such locks. Other errors are those of opening PATH-lock.
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

// Hold opens the database's file and locks it. It returns ErrLocked if another process has locked it under another
// name. It returns ErrUnlocked if the file is open but only its name can be locked, and ManyNames if the file has hard
// links. Other errors are those of opening the file.
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

// File returns the database's file as opened by Hold. Reads continue at its current offset.
func (l *Lock) File() io.Reader { return l.file }

// Marked reports whether the database has existed.
func (l *Lock) Marked() bool {
	info, err := l.name.Stat()
	return err == nil && info.Size() > 0
}

// Mark records that the database exists.
func (l *Lock) Mark() error {
	if l.Marked() {
		return nil
	}
	if _, err := l.name.WriteString("There is a database next to this file. It is locked while a bridge uses it.\n"); err != nil {
		return err
	}
	return l.name.Sync()
}

// Close releases both locks. It does nothing on a nil Lock.
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
