package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
	_ "modernc.org/sqlite"
)

// filled makes a database with a little in it and returns its path, closed.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	b := openAt(t, path, store.Options{})
	for range 20 {
		b.end(b.create(newThreadRun()), mapping.RunSuccess)
	}
	b.ok(b.Close())
	return path
}

func refused(t *testing.T, path string, words ...string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	s, err := store.Open(context.Background(), path, store.Options{}, zap.NewNop())
	if err == nil {
		_ = s.Close()
		t.Fatal("it was opened")
	}
	for _, w := range append(words, path) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if after, _ := os.ReadFile(path); string(before) != string(after) {
		t.Error("the file was changed")
	}
}

func TestReopenedDatabaseHoldsEverything(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "with space?&#%.db")
	b := openAt(t, path, store.Options{})
	c := b.create(newThreadRun())
	b.append(c, update(`{"a":1}`))
	b.ok(b.Close())
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	b = openAt(t, path, store.Options{})
	got, err := b.Events(b.ctx, c.Thread.ID, c.Run.ID, 0, 0)
	b.ok(err)
	if len(got) != 2 {
		t.Fatalf("%d events", len(got))
	}
	next, ok, _, err := b.ClaimNext(b.ctx, nil)
	b.ok(err)
	if !ok || next.Run.ID != c.Run.ID || !next.Taken || next.Fence != 2 || len(next.Logged) != 2 || next.Task.ID != c.Run.TaskID {
		t.Fatalf("claimed %+v %v", next, ok)
	}
}

func TestC8SecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	b := openAt(t, path, store.Options{})
	refused(t, path, "another process", "Stop that one")
	b.ok(b.Close())
	openAt(t, path, store.Options{})
}

func TestD3DamagedDatabaseIsRefused(t *testing.T) {
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

func TestOpenRefusesWhatIsNoPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, word := range map[string]string{
		"":                                   "a path to a file",
		":memory:":                           "a path to a file",
		dir:                                  "folder",
		filepath.Join(dir, "no", "a.db"):     "does not exist",
		"postgres://u:secret@127.0.0.1:1/db": "cannot be reached",
	} {
		_, err := store.Open(context.Background(), path, store.Options{}, zap.NewNop())
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", path, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// A crash while a new database is made leaves a draft: the next start makes it
// anew.
func TestHalfMadeDatabaseIsMadeAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	if err := os.WriteFile(path+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	openAt(t, path, store.Options{}).thread()
}

// A5 in small: a copy of the files taken between two writes is what a crash
// leaves. Everything acknowledged is in it.
func TestCopyTakenWhileOpenHoldsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	b := openAt(t, path, store.Options{})
	c := b.create(newThreadRun())
	b.append(c, update(`{"a":1}`), token(`2`))
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		b.ok(err)
		b.ok(os.WriteFile(crashed+end, data, 0o600))
	}
	after := openAt(t, crashed, store.Options{})
	got, err := after.Events(after.ctx, c.Thread.ID, c.Run.ID, 0, 0)
	after.ok(err)
	if len(got) != 3 {
		t.Fatalf("%d events", len(got))
	}
}

func TestPingNoticesThatTheFileIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apbridge.db")
	b := openAt(t, path, store.Options{})
	b.ok(b.Ping(b.ctx))
	b.ok(os.Rename(path, path+".away"))
	if err := b.Ping(b.ctx); err == nil || !strings.Contains(err.Error(), "moved or deleted") {
		t.Fatal(err)
	}
	_, _, err := b.CreateThread(b.ctx, store.NewThread{Thread: mapping.Thread{ID: id()}})
	wantClass(t, err, mapping.Unavailable, "")
	b.ok(os.Rename(path+".away", path))
	b.thread()
}

// What people told their agents is nobody else's to read.
func TestANewDatabaseIsItsUsersOwn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("its files have no modes")
	}
	path := filepath.Join(t.TempDir(), "own.db")
	b := openAt(t, path, store.Options{Synchronous: "normal"})
	b.create(newThreadRun())
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

// A store may be closed twice, and another one may have the file by then: that one's lock
// stays.
func TestSecondCloseLeavesTheNextStoreAlone(t *testing.T) {
	t.Parallel()
	path := filled(t)
	first := openAt(t, path, store.Options{})
	first.ok(first.Close())
	second := openAt(t, path, store.Options{})
	first.ok(first.Close())
	refused(t, path)
	second.end(second.create(newThreadRun()), mapping.RunSuccess)
}
