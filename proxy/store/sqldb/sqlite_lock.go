package sqldb

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/apbridge/apbridge/proxy/store/sqldb/filelock"
)

func lockDatabase(path string) (*filelock.Lock, error) {
	lock, err := filelock.Take(path)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, filelock.ErrLocked):
		return nil, inUse(path)
	case errors.Is(err, filelock.ErrUnlocked):
		return nil, refuse(path, "%s-lock cannot be locked (%v), so a second process could use the database at the same time. Some network file systems have no locks; set database to a path on a local disk", path, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, noFolder(path, filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, refuse(path, "the folder %s cannot be written to by this user. Change that, or set database to another path", filepath.Dir(path))
	}
	return nil, refuse(path, "%v", err)
}

// holdDatabase takes the lock of the file itself. It returns filelock.ErrUnlocked if the file is open but can only be
// locked by name.
func holdDatabase(lock *filelock.Lock, path string) error {
	err := lock.Hold()
	var names filelock.ManyNames
	switch {
	case err == nil, errors.Is(err, filelock.ErrUnlocked):
		return err
	case errors.Is(err, filelock.ErrLocked):
		return inUse(path)
	case errors.As(err, &names):
		return refuse(path, "the file has %d names (hard links), but SQLite keeps its latest changes in a log next to only one of them. Delete the other names, or use a copy: with no bridge running, cp %s COPY, and set database to that", names, path)
	case errors.Is(err, fs.ErrPermission):
		return readOnly(path)
	}
	return refuse(path, "%v", err)
}

func inUse(path string) error {
	return refuse(path, "another process is using it. Stop that one first, or use a separate database")
}

func noFolder(path, folder string) error {
	return refuse(path, "the folder %s does not exist. Create it, or set database to another path", folder)
}

// Abandoned reports whether the SQLite database at path has been used and no process uses it now.
func Abandoned(path string) bool { return filelock.Abandoned(path) }
