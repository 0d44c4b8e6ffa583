package filelock_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/sqldb/filelock"
)

func take(t *testing.T, path string) *filelock.Lock {
	t.Helper()
	l, err := filelock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// file creates a file in place of a database and returns its path.
func file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, []byte("a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNameIsLockedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if filelock.Abandoned(path) {
		t.Error("a database that never existed is reported as abandoned")
	}
	first := take(t, path)
	if second, err := filelock.Take(path); !errors.Is(err, filelock.ErrLocked) || second != nil {
		t.Errorf("taken twice: %v", err)
	}
	if filelock.Abandoned(path) {
		t.Error("the database is reported as abandoned while it is locked")
	}
	first.Close()
	if !filelock.Abandoned(path) {
		t.Error("the database is not reported as abandoned after Close")
	}
	take(t, path)
}

func TestFileIsLockedUnderAllItsNames(t *testing.T) {
	t.Parallel()
	path, other := file(t), filepath.Join(t.TempDir(), "b.db")
	if err := os.Symlink(path, other); err != nil {
		t.Skipf("symbolic links cannot be created here: %v", err)
	}
	first, second := take(t, path), take(t, other)
	if err := first.Hold(); errors.Is(err, filelock.ErrUnlocked) {
		t.Skip("this system only locks file names")
	} else if err != nil {
		t.Fatal(err)
	}
	if read, err := io.ReadAll(first.File()); string(read) != "a database" || err != nil {
		t.Errorf("read %q, %v", read, err)
	}
	if err := second.Hold(); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("held twice: %v", err)
	}
	first.Close()
	if err := second.Hold(); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestUnlockableFiles(t *testing.T) {
	t.Parallel()
	path := file(t)
	l := take(t, path)
	if err := os.Link(path, path+".other"); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	if err := l.Hold(); err != error(filelock.ManyNames(2)) {
		t.Errorf("a file with two names: %v", err)
	}
	if err := take(t, filepath.Join(t.TempDir(), "none.db")).Hold(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := filelock.Take(filepath.Join(t.TempDir(), "none", "a.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestMarkIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	l := take(t, path)
	if l.Marked() {
		t.Error("a new lock is marked")
	}
	for range 2 {
		if err := l.Mark(); err != nil || !l.Marked() {
			t.Errorf("not marked: %v", err)
		}
	}
	l.Close()
	if !take(t, path).Marked() {
		t.Error("the mark did not survive Close")
	}
}
