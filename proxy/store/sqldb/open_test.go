package sqldb

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// openDB opens and recovers a database. It is closed at the end of the test.
func openDB(t testing.TB, dsn string, o Options) *DB {
	t.Helper()
	db, err := Open(context.Background(), dsn, o, zap.NewNop())
	if err == nil {
		err = db.Recover(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fresh returns a new SQLite database.
func fresh(t testing.TB) *DB {
	t.Helper()
	return openDB(t, filepath.Join(t.TempDir(), "apbridge.db"), Options{})
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filled creates a database with a few rows, closes it and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	db := openDB(t, path, Options{})
	for i := range 20 {
		ok(t, putItem(db, strconv.Itoa(i), make([]byte, 500)))
	}
	ok(t, db.Close())
	return path
}

func refused(t *testing.T, path string, words ...string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	s, err := Open(context.Background(), path, Options{}, zap.NewNop())
	if err == nil {
		_ = s.Close()
		t.Fatal("the database was opened")
	}
	for _, w := range append(words, path) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not contain %q", err, w)
		}
	}
	if after, _ := os.ReadFile(path); string(before) != string(after) {
		t.Error("the file was changed")
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	b := openDB(t, path, Options{})
	refused(t, path, "another process", "Stop that one")
	ok(t, b.Close())
	openDB(t, path, Options{})
}

func TestDamagedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	write := func(path string, at int64, data []byte) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt(data, at)
		return err
	}
	for name, c := range map[string]struct {
		harm  func(path string) error
		words []string
	}{
		"deleted":      {os.Remove, []string{"missing", "backup", "-lock"}},
		"empty":        {func(p string) error { return os.Truncate(p, 0) }, []string{"empty"}},
		"truncated":    {func(p string) error { return os.Truncate(p, 8192) }, []string{"truncated", "backup"}},
		"cut short":    {func(p string) error { return os.Truncate(p, 50) }, []string{"not a SQLite database"}},
		"read-only":    {func(p string) error { return os.Chmod(p, 0o444) }, []string{"read-only", "writable"}},
		"other file":   {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("hello ", 999)), 0o600) }, []string{"not a SQLite database"}},
		"first page":   {func(p string) error { return write(p, 100, []byte(strings.Repeat("\xff", 3000))) }, []string{"damaged"}},
		"second page":  {func(p string) error { return write(p, 4096, []byte(strings.Repeat("\xff", 4096*6))) }, []string{"damaged"}},
		"other schema": {func(p string) error { return execOn(p, "DROP TABLE links") }, []string{"damaged"}},
		"newer schema": {func(p string) error {
			return execOn(p, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
		}, []string{"newer", "999"}},
		"other program": {func(p string) error { return execOn(p, "PRAGMA application_id = 7") }, []string{"another program"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			if err := c.harm(path); err != nil {
				t.Fatal(err)
			}
			refused(t, path, c.words...)
		})
	}
}

func execOn(path, text string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		return err
	}
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func TestOpenRefusesInvalidPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, word := range map[string]string{
		"":                                   "a path to a file",
		":memory:":                           "a path to a file",
		dir:                                  "folder",
		filepath.Join(dir, "no", "a.db"):     "does not exist",
		"postgres://u:secret@127.0.0.1:1/db": "cannot be reached",
	} {
		_, err := Open(context.Background(), path, Options{}, zap.NewNop())
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", path, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q contains the password", err)
		}
	}
}

// A crash while a new database is created leaves a draft. The next start discards it.
func TestIncompleteDatabaseIsRecreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	if err := os.WriteFile(path+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok(t, putItem(openDB(t, path, Options{}), "k", []byte("v")))
}

func TestPingNoticesThatTheFileIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	b := openDB(t, path, Options{})
	ok(t, b.Ping(t.Context()))
	ok(t, os.Rename(path, path+".away"))
	if err := b.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "moved or deleted") {
		t.Fatal(err)
	}
	if err := putItem(b, "k", []byte("v")); err == nil || mapping.Classify(err).Class != mapping.Unavailable {
		t.Fatalf("written: %v", err)
	}
	ok(t, os.Rename(path+".away", path))
	ok(t, putItem(b, "k", []byte("v")))
}

// Other users must not be able to read conversations.
func TestNewDatabaseIsPrivateToItsUser(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files on Windows have no modes")
	}
	path := filepath.Join(t.TempDir(), "own.db")
	b := openDB(t, path, Options{Synchronous: "normal"})
	ok(t, putItem(b, "k", []byte("v")))
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 4 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

// A store may be closed twice. By then another store may have opened the file, and its lock must stay.
func TestSecondCloseLeavesTheNextStoreAlone(t *testing.T) {
	t.Parallel()
	path := filled(t)
	first := openDB(t, path, Options{})
	ok(t, first.Close())
	second := openDB(t, path, Options{})
	ok(t, first.Close())
	refused(t, path)
	ok(t, putItem(second, "k", []byte("v")))
}
