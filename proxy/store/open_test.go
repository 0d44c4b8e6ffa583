package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	_ "modernc.org/sqlite"
)

// filled creates a database with a few rows, closes it and returns its path.
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
	got, err := b.Events.List(b.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
	b.ok(err)
	if len(got) != 2 {
		t.Fatalf("%d events", len(got))
	}
	next, _, err := b.Claims.ClaimNext(b.ctx, nil)
	b.ok(err)
	if next == nil || next.Run.ID != c.Run.ID || !next.Taken || next.Fence != 2 || len(next.Logged) != 2 || next.Run.TaskID != c.Run.TaskID {
		t.Fatalf("claimed %+v", next)
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

// A5 in small: a copy of the files taken between two writes is like the state after a crash. It contains everything
// acknowledged.
func TestCopyOfAnOpenDatabaseContainsAcknowledgedWrites(t *testing.T) {
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
	got, err := after.Events.List(after.ctx, c.Run.ThreadID, c.Run.ID, 0, 0)
	after.ok(err)
	if len(got) != 3 {
		t.Fatalf("%d events", len(got))
	}
}
