package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// fileLock keeps a second process away from a database: two writers over one
// file would each believe in leases the other cannot see. It is a file of its
// own, PATH-lock, which stays behind: its content says that there is a database,
// so that one that vanished is noticed.
type fileLock struct{ file *os.File }

// lockDatabase takes the lock. The system gives it back when the process ends,
// however it ends.
func lockDatabase(path string) (*fileLock, error) {
	f, err := os.OpenFile(path+"-lock", os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(path, "the folder %s does not exist. Make it, or set database to another path", filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse(path, "the folder %s cannot be written to by this user. Change that, or set database to another path", filepath.Dir(path))
	case err != nil:
		return nil, refuse(path, "%v", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		return nil, refuse(path, "another process is using it. Stop that one first, or give this one a database of its own")
	}
	return &fileLock{file: f}, nil
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
	info, err := l.file.Stat()
	return err == nil && info.Size() > 0
}

// mark notes that the database exists.
func (l *fileLock) mark() error {
	if l.marked() {
		return nil
	}
	if _, err := l.file.WriteString("There is a database beside this file. It is locked while a bridge uses it.\n"); err != nil {
		return err
	}
	return l.file.Sync()
}

func (l *fileLock) release() {
	if l != nil {
		_ = l.file.Close()
	}
}
