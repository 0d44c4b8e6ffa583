package sqldb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// fileLock keeps a second process away from a database: two writers over one
// file would each believe in leases the other cannot see. It is two locks. The
// system gives both back when the process ends, however it ends.
type fileLock struct {
	// name is PATH-lock, which stays behind: its content says that there is a
	// database, so that a missing one is noticed. It guards the making of a new file.
	name *os.File
	// file is the database itself, locked as what it is and not by a name, since
	// names can be deleted and there may be several. See lockWhole for what the
	// lock is.
	//
	// POSIX locks, which SQLite uses, end when the process closes any descriptor of
	// the file. So this one is closed after SQLite's, and nothing else may open the
	// database's file while it is in use.
	file *os.File
}

var (
	errLocked   = errors.New("another process holds the lock")
	errUnlocked = errors.New("the file system, or this kind of system, has no lock of that kind")
)

// lockDatabase takes the lock of the name.
func lockDatabase(path string) (*fileLock, error) {
	f, err := os.OpenFile(path+"-lock", os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noFolder(path, filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse(path, "the folder %s cannot be written to by this user. Change that, or set database to another path", filepath.Dir(path))
	case err != nil:
		return nil, refuse(path, "%v", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		if errors.Is(err, errLocked) {
			return nil, inUse(path)
		}
		return nil, refuse(path, "%s-lock cannot be locked (%v), so that nothing would keep a second process away. Some network file systems have no locks; set database to a path on a local disk", path, err)
	}
	return &fileLock{name: f}, nil
}

// hold opens the database's file and locks it. errUnlocked: it is open, and can be
// locked by its name only.
func (l *fileLock) hold(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return readOnly(path)
	case err != nil:
		return refuse(path, "%v", err)
	}
	l.file = f
	if names := linkCount(f); names > 1 {
		return refuse(path, "the file has %d names (hard links), and SQLite keeps what it has not moved into the file yet beside one of them only. Delete the other names, or use a copy: with no bridge running, cp %s COPY, and set database to that", names, path)
	}
	err = lockWhole(f)
	if errors.Is(err, errLocked) {
		return inUse(path)
	}
	return err
}

func inUse(path string) error {
	return refuse(path, "another process is using it. Stop that one first, or give this one a database of its own")
}

func noFolder(path, folder string) error {
	return refuse(path, "the folder %s does not exist. Make it, or set database to another path", folder)
}

// Abandoned reports whether the SQLite database at path has been used and no process
// uses it now.
func Abandoned(path string) bool {
	f, err := os.OpenFile(path+"-lock", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return tryLock(f) == nil
}

func (l *fileLock) marked() bool {
	info, err := l.name.Stat()
	return err == nil && info.Size() > 0
}

// mark notes that the database exists.
func (l *fileLock) mark() error {
	if l.marked() {
		return nil
	}
	if _, err := l.name.WriteString("There is a database beside this file. It is locked while a bridge uses it.\n"); err != nil {
		return err
	}
	return l.name.Sync()
}

func (l *fileLock) release() {
	if l == nil {
		return
	}
	if l.file != nil {
		_ = l.file.Close()
	}
	_ = l.name.Close()
}
