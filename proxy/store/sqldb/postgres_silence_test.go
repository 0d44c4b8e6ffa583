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

// Connections that stop responding without being reset are abandoned within seconds. Their operations are repeated on
// new connections, and idle connections of the pool are not tried one by one.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	const many = 8
	server := storetest.Schema(t)
	w, dsn := storetest.Through(t, server)
	a := openDB(t, dsn, Options{})
	each := func() {
		t.Helper()
		done := make(chan error, many)
		for range many {
			go func() { done <- addRow(a) }()
		}
		late := time.After(30 * time.Second)
		for range many {
			select {
			case err := <-done:
				ok(t, err)
			case <-late:
				t.Fatal("an operation is still waiting after half a minute")
			}
		}
	}
	each() // uses that many connections
	w.Silence()
	brief, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if err := a.Ping(brief); err == nil || mapping.Classify(err).Class != mapping.Unavailable {
		t.Fatalf("got %v", err)
	}
	each()
	ok(t, a.Ping(t.Context()))
	wantRows(t, a, 2*many)
}

// A long statement is not mistaken for a connection that stopped responding.
func TestLongStatementIsNotInterrupted(t *testing.T) {
	t.Parallel()
	server := storetest.Schema(t)
	w, dsn := storetest.Through(t, server)
	a := openDB(t, dsn, Options{})
	ok(t, addRow(a))
	locker, let := lockRows(t, server)
	done := make(chan error, 1)
	go func() {
		done <- a.Write(context.Background(), func(t *Tx) error {
			_, err := t.Exec(`UPDATE blobs SET loose = 1`)
			return err
		})
	}()
	waits := fmt.Sprintf(`SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE %d = ANY (pg_blocking_pids(pid))`, locker)
	pid := 0
	for pid == 0 {
		pid = count(t, server, waits)
	}
	for before := w.Connections(); w.Connections() < before+3; { // the server is queried three times
		select {
		case err := <-done:
			t.Fatalf("the statement was cut: %v", err)
		default:
		}
	}
	if now := count(t, server, waits); now != pid {
		t.Errorf("process %d was waiting, now it is %d", pid, now)
	}
	let()
	ok(t, <-done)
}

// lockRows locks the rows of addRow until let is called. pid is the locking process.
func lockRows(t *testing.T, dsn string) (pid uint32, let func()) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, text := range []string{"BEGIN", "SELECT 1 FROM blobs FOR UPDATE"} {
		if _, err := conn.Exec(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	return conn.PgConn().PID(), func() {
		if _, err := conn.Exec(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
	}
}
