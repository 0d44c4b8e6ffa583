package sqldb

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	sqlite3 "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// beside returns another program's connection to the store's file.
func beside(t *testing.T, s *DB) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.OpenConn(s.on.(*sqlite).path, sqlite3.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func must(t *testing.T, conn *sqlite3.Conn, text string) {
	t.Helper()
	if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
		t.Fatal(err)
	}
}

// TestAnotherProgramHoldsTheFile checks that writes wait while another program writes, and are then refused without
// effect. Later writes succeed (D4).
func TestAnotherProgramHoldsTheFile(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	conn := s.on.(*sqlite).writer.conn
	var usual int64
	if err := (sqliteTx{conn}).get("PRAGMA busy_timeout", nil, []any{&usual}); err != nil || usual != 5000 {
		t.Fatalf("the busy timeout is %d ms, %v", usual, err)
	}
	const patience = 200 * time.Millisecond // keeps the test short
	conn.SetBusyTimeout(patience)
	other := beside(t, s)
	must(t, other, "BEGIN IMMEDIATE")
	begin := time.Now()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if e := mapping.Classify(s.Write(ctx, note("a", nil))); e.Class != mapping.Unavailable || e.Code != CodeUnavailable {
				t.Errorf("refused with %v", e)
			}
		})
	}
	if _, err := readItems(s); err != nil {
		t.Errorf("reading at the same time: %v", err)
	}
	all.Wait()
	if took := time.Since(begin); took < patience || took > 50*patience {
		t.Errorf("all were refused after %v; they should wait together, not one at a time", took)
	}
	must(t, other, "ROLLBACK")
	if err := s.Write(ctx, note("b", nil)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if got := noted(t, s); !sameNames(got, []string{"b"}) {
		t.Errorf("got %v", got)
	}
}

// TestBusyForAMoment checks that writes wait for a program that holds the file for a shorter time (D4).
func TestBusyForAMoment(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	begins := make(chan struct{})
	db := s.on.(*sqlite)
	db.writer.db = beginning{db, begins}
	other := beside(t, s)
	must(t, other, "BEGIN IMMEDIATE")
	gave := make(chan error)
	go func() { gave <- s.Write(ctx, note("a", nil)) }()
	<-begins
	must(t, other, "ROLLBACK")
	if err := <-gave; err != nil {
		t.Fatal(err)
	}
}

// beginning is a database that signals when a transaction is about to begin.
type beginning struct {
	*sqlite
	begins chan struct{}
}

func (b beginning) begin(conn *sqlite3.Conn) error {
	close(b.begins)
	return b.sqlite.begin(conn)
}

// TestLongReaderHoldsTheLog covers another program whose long read keeps the write-ahead log from restarting. No
// operation waits for it, the log's size is reported, and the log is truncated afterwards (D4).
func TestLongReaderHoldsTheLog(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	const limit = 64 << 20                        // journal_size_limit
	grow := func(n int) (slowest time.Duration) { // a different text each time; an unchanged one is not written
		t.Helper()
		for i := range n {
			begin := time.Now()
			if err := putItem(s, "one", bytes.Repeat([]byte{'a' + byte(i%2)}, 1<<20)); err != nil {
				t.Fatal(err)
			}
			slowest = max(slowest, time.Since(begin))
		}
		return slowest
	}
	size := func() int64 {
		n, ok := s.LogSize()
		if !ok {
			t.Fatal("there is no log")
		}
		return n
	}
	grow(30)
	if n := size(); n > 24<<20 {
		t.Errorf("a log without readers has %d bytes", n)
	}
	other := beside(t, s)
	must(t, other, "BEGIN")
	must(t, other, "SELECT count(*) FROM items")
	const patience = 20 * time.Second // no write takes that long by itself
	s.on.(*sqlite).writer.conn.SetBusyTimeout(patience)
	if took := grow(80); took >= patience {
		t.Errorf("writes waited for the reader: %v", took)
	}
	if n := size(); n < 80<<20 {
		t.Errorf("the log has %d bytes", n)
	}
	must(t, other, "COMMIT")
	grow(2)
	if n := size(); n > limit {
		t.Errorf("the log still has %d bytes", n)
	}
}
