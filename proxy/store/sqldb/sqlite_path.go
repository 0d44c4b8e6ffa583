package sqldb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// linksMost limits the chain of symbolic links to a file that does not exist yet.
const linksMost = 40

// realPath returns the path of a database's file, or where it will be created, with symbolic links resolved. SQLite's
// files, ours and the lock are next to the file itself, so all of its names refer to one database.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", refuse(path, "the file's path cannot be followed: %v. Give the user that runs the bridge access to its folders, or set database to another path", err)
	}
	return futurePath(path)
}

// futurePath is like realPath, for a file that does not exist yet.
func futurePath(path string) (string, error) {
	at := path
	for range linksMost {
		folder, err := filepath.EvalSymlinks(filepath.Dir(at))
		if errors.Is(err, fs.ErrNotExist) {
			return "", noFolder(path, filepath.Dir(at))
		}
		if err != nil {
			return "", refuse(path, "the file's path cannot be followed: %v. Give the user that runs the bridge access to its folders, or set database to another path", err)
		}
		at = filepath.Join(folder, filepath.Base(at))
		target, err := os.Readlink(at)
		if err != nil { // not a link
			return at, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(folder, target)
		}
		at = target
	}
	return "", refuse(path, "the symbolic link points to itself")
}
