package sqldb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// addRow adds another row each time it runs.
func addRow(d *DB) error {
	return d.Write(context.Background(), func(t *Tx) error {
		_, err := t.Insert(`INSERT INTO blobs (created_us, loose) VALUES ($1, 0)`, t.Now)
		return err
	})
}

// wantRows checks the number of rows added by addRow.
func wantRows(t *testing.T, d *DB, want int) {
	t.Helper()
	var n int
	ok(t, d.ReadOne(t.Context(), func(t *Tx) error { return t.Get(`SELECT count(*) FROM blobs`, nil, []any{&n}) }))
	if n != want {
		t.Errorf("%d rows, want %d: one was lost or written twice", n, want)
	}
}

// TestOutcomeOfACommitWithoutResponseIsQueried covers a commit that succeeded, but whose answer was lost (C9).
func TestOutcomeOfACommitWithoutResponseIsQueried(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	a := openDB(t, dsn, Options{})
	for range 10 {
		w.CutAnswer()
		ok(t, addRow(a))
	}
	if n := w.Cuts(); n != 10 {
		t.Fatalf("%d commits were cut", n)
	}
	wantRows(t, a, 10)
}

// quiet prevents the server from flushing its log by itself, so that a crash loses everything that no commit waited
// for.
var quiet = []string{"wal_writer_delay=10s", "autovacuum=off"}

// TestCommitLostInACrash crashes the server during a commit. The server gives the number of the lost transaction to
// another one, which commits. Acknowledged data exists exactly once (C9).
func TestCommitLostInACrash(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*storetest.Cluster, uint32){
		"immediate shutdown": func(c *storetest.Cluster, _ uint32) { c.Crash(); c.Start() },
		"server killed":      func(c *storetest.Cluster, _ uint32) { c.Kill(); c.Start() },
		"backend killed":     func(c *storetest.Cluster, pid uint32) { c.KillBackend(pid) },
	}
	for name, crash := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := storetest.Private(t, quiet...)
			w, dsn := storetest.Through(t, cluster.URL())
			a := openDB(t, dsn, Options{})
			ok(t, addRow(a))
			held := w.HoldCommits(1)
			acknowledged := make(chan error, 1)
			go func() { acknowledged <- addRow(a) }()
			await(t, held)
			crash(cluster, cluster.Backend())
			cluster.Exec("CREATE TABLE others (n INTEGER)")
			for n := range 40 {
				cluster.Exec(fmt.Sprintf("INSERT INTO others VALUES (%d)", n))
			}
			w.Cut()
			if err := <-acknowledged; err != nil {
				t.Fatal(err)
			}
			wantRows(t, a, 2)
		})
	}
}

// TestLateCommitIsRefused covers a commit that reaches the server only after it was given up and repeated (C9).
func TestLateCommitIsRefused(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	a := openDB(t, dsn, Options{})
	held := w.HoldCommits(1)
	acknowledged := make(chan error, 1)
	go func() { acknowledged <- addRow(a) }()
	await(t, held)
	answered := w.HangUp()
	ok(t, <-acknowledged) // by another commit
	w.Deliver()
	await(t, answered)
	wantRows(t, a, 1)
}

func count(t *testing.T, dsn, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(context.Background(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Every connection of the pool breaks in the middle of a commit. The outcome of the commits is queried at once: no
// operation waits for a connection that the others hold.
func TestAllConnectionsBreakInACommit(t *testing.T) {
	t.Parallel()
	const pool = 4
	w, dsn := storetest.Through(t, storetest.Schema(t))
	a := openDB(t, dsn+"&pool_max_conns="+fmt.Sprint(pool), Options{})
	for range pool {
		ok(t, addRow(a))
	}
	held := w.HoldCommits(pool)
	acknowledged := make(chan error, pool)
	for range pool {
		go func() { acknowledged <- addRow(a) }()
	}
	await(t, held)
	w.Cut()
	for range pool {
		ok(t, <-acknowledged)
	}
	wantRows(t, a, 2*pool)
}

// If the connection breaks between two statements of a read after a row was returned, the database is reported as
// unavailable, not as an internal error.
func TestConnectionBreaksAmidARead(t *testing.T) {
	t.Parallel()
	w, dsn := storetest.Through(t, storetest.Schema(t))
	a := openDB(t, dsn, Options{})
	ok(t, addRow(a))
	err := a.Read(t.Context(), func(tx *Tx) error {
		var n int
		if err := tx.Get("SELECT 1", nil, []any{&n}); err != nil {
			return err
		}
		w.Cut()
		return tx.Get("SELECT 2", nil, []any{&n})
	})
	if e := mapping.Classify(err); e.Class != mapping.Unavailable || e.Code != CodeUnavailable {
		t.Errorf("code %q: %v", e.Code, err)
	}
	wantRows(t, a, 1)
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("waited for a minute")
	}
}
