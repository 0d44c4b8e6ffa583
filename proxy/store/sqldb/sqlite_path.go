package sqldb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// linksMost bounds the symbolic links that lead to a file which is not there yet.
const linksMost = 40

// realPath is where a database's file is, or is to be made, whatever symbolic links lead there: SQLite's files, ours,
// and the lock stand beside the file itself, so that all of its names mean one database.
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
		return "", refuse(path, "the file's path cannot be followed: %v. Let the user that runs the bridge into its folders, or set database to another path", err)
	}
	return futurePath(path)
}

// futurePath is realPath of a file that does not exist.
func futurePath(path string) (string, error) {
	at := path
	for range linksMost {
		folder, err := filepath.EvalSymlinks(filepath.Dir(at))
		if errors.Is(err, fs.ErrNotExist) {
			return "", noFolder(path, filepath.Dir(at))
		}
		if err != nil {
			return "", refuse(path, "the file's path cannot be followed: %v. Let the user that runs the bridge into its folders, or set database to another path", err)
		}
		at = filepath.Join(folder, filepath.Base(at))
		target, err := os.Readlink(at)
		if err != nil { // no link: this is the place
			return at, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(folder, target)
		}
		at = target
	}
	return "", refuse(path, "the symbolic link leads to itself")
}
