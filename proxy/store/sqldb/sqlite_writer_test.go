package sqldb

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	sqlite3 "zombiezen.com/go/sqlite"
)

// putItem writes a row, replacing the one with the same key.
func putItem(s *DB, key string, value []byte) error {
	return s.Write(context.Background(), func(t *Tx) error {
		_, err := t.Exec(`INSERT INTO items (tenant, owner, namespace, item_key, value, fields, ttl_us, created_us, updated_us, expires_us)
 VALUES ('', '', $1, $2, $3, NULL, 0, 1, 1, 0) ON CONFLICT (tenant, namespace, item_key) DO UPDATE SET value = excluded.value`, []byte("n"), key, value)
		return err
	})
}

func deleteItem(s *DB, key string) error {
	return s.Write(context.Background(), func(t *Tx) error {
		_, err := t.Exec(`DELETE FROM items WHERE tenant = '' AND namespace = $1 AND item_key = $2`, []byte("n"), key)
		return err
	})
}

func readItems(s *DB) (n int, err error) {
	err = s.ReadOne(context.Background(), func(t *Tx) error {
		n = 0
		return t.Each(`SELECT value FROM items ORDER BY namespace, item_key`, nil, func(scan func(...any) error) error {
			var value []byte
			n++
			return scan(&value)
		})
	})
	return n, err
}

// group queues operations while the writer is busy, so that they are committed together, and returns their errors.
func group(t *testing.T, s *DB, ops ...func(*Tx) error) []error {
	t.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Write(context.Background(), func(*Tx) error {
			close(entered)
			<-leave
			return nil
		})
	})
	<-entered
	errs := make([]error, len(ops))
	for i, do := range ops {
		wg.Go(func() { errs[i] = s.Write(context.Background(), do) })
		until(t, func() bool { return waiting(s) == i+1 })
	}
	close(leave)
	wg.Wait()
	return errs
}

// waiting returns how many operations are queued.
func waiting(s *DB) int { return len(s.on.(*sqlite).writer.queue) }

func until(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition was not met within a minute")
		}
	}
}

func note(name string, err error) func(*Tx) error {
	return func(t *Tx) error {
		if _, e := t.Exec(`INSERT INTO agents_seen (name, at_us) VALUES ($1, 1)`, name); e != nil {
			return e
		}
		return err
	}
}

func noted(t *testing.T, s *DB) (names []string) {
	t.Helper()
	err := s.ReadOne(context.Background(), func(t *Tx) error {
		return t.Each(`SELECT name FROM agents_seen ORDER BY name`, nil, func(scan func(...any) error) error {
			var n string
			err := scan(&n)
			names = append(names, n)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func sameNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestFailingOperationDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	s, boom := fresh(t), errors.New("boom")
	errs := group(t, s, note("a", nil), note("b", boom), note("c", nil), func(*Tx) error { panic("ouch") }, note("d", nil), note("a", nil))
	if errs[0] != nil || !errors.Is(errs[1], boom) || errs[2] != nil || errs[3] == nil || errs[4] != nil || !Duplicate(errs[5]) {
		t.Fatalf("errors %v", errs)
	}
	if got := noted(t, s); !sameNames(got, []string{"a", "c", "d"}) {
		t.Fatalf("got %v", got)
	}
}

// A failed operation does not make its neighbours run twice, whether or not it has written.
func TestOtherOperationsOfAFailedGroupRunOnce(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(*Tx) error{
		"after a look": func(t *Tx) error {
			return t.Get(`SELECT name FROM agents_seen WHERE name = 'nobody'`, nil, []any{new(string)})
		},
		"after a write": note("x", errors.New("boom")),
	} {
		s, runs := fresh(t), 0
		counted := func(t *Tx) error {
			runs++
			return note("a", nil)(t)
		}
		if errs := group(t, s, counted, fails, note("b", nil)); errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Fatalf("%s: errors %v", name, errs)
		}
		if got := noted(t, s); !sameNames(got, []string{"a", "b"}) || runs != 1 {
			t.Errorf("%s: got %v after %d runs", name, got, runs)
		}
	}
}

// The database may roll back a whole transaction because of one operation (on a full disk). The other operations must
// then run again, each alone.
func TestLostTransactionIsRunAgainOneByOne(t *testing.T) {
	t.Parallel()
	s, runs := fresh(t), 0
	counted := func(t *Tx) error {
		runs++
		return note("a", nil)(t)
	}
	undo := func(t *Tx) error {
		_, _ = t.Exec("ROLLBACK")
		return errors.New("lost")
	}
	errs := group(t, s, counted, undo, note("b", nil))
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Fatalf("errors %v", errs)
	}
	if got := noted(t, s); !sameNames(got, []string{"a", "b"}) || runs != 2 {
		t.Fatalf("got %v after %d runs", got, runs)
	}
	if err := s.Write(context.Background(), note("c", nil)); err != nil {
		t.Fatalf("the writer is stuck: %v", err)
	}
}

func TestWithdrawnOperationWritesNothing(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	ctx, cancel := context.WithCancel(context.Background())
	entered, leave := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.Write(context.Background(), func(*Tx) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	gave := make(chan error)
	go func() { gave <- s.Write(ctx, note("late", nil)) }()
	until(t, func() bool { return waiting(s) == 1 })
	cancel()
	if err := <-gave; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(leave)
	if err := s.Write(context.Background(), note("next", nil)); err != nil {
		t.Fatal(err)
	}
	if got := noted(t, s); !sameNames(got, []string{"next"}) {
		t.Fatalf("got %v", got)
	}
}

// Close waits for queued operations and refuses later ones.
func TestCloseLetsQueuedOperationsFinish(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	w := s.on.(*sqlite).writer
	entered, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	write := func(do func(*Tx) error) {
		all.Go(func() {
			if err := s.Write(context.Background(), do); err != nil {
				t.Error(err)
			}
		})
	}
	write(func(*Tx) error {
		close(entered)
		<-leave
		return nil
	})
	<-entered
	ran := 0
	for i := range 3 {
		write(func(*Tx) error {
			ran++
			return nil
		})
		until(t, func() bool { return waiting(s) == i+1 })
	}
	all.Go(w.close)
	until(t, func() bool {
		w.gate.RLock()
		defer w.gate.RUnlock()
		return w.closed
	})
	if err := s.Write(context.Background(), note("late", nil)); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	close(leave)
	all.Wait()
	if ran != 3 {
		t.Errorf("%d of 3 operations ran", ran)
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(context.Background(), note("a", nil)); mapping.Classify(err).Class != mapping.Unavailable {
		t.Fatalf("write: %v", err)
	}
	if _, err := readItems(s); mapping.Classify(err).Class != mapping.Unavailable {
		t.Fatalf("read: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
}

// TestFullDiskIsReportedUntilThereIsSpace checks that a full disk is reported as storage_full, that reads continue, and that writes
// do once there is space (D1).
func TestFullDiskIsReportedUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	limit := func(pages int64) {
		t.Helper()
		if err := s.Write(ctx, func(t *Tx) error {
			var now int64
			if pages > 0 {
				return t.Get("PRAGMA max_page_count = 200", nil, []any{&now})
			}
			return t.Get("PRAGMA max_page_count = 1000000", nil, []any{&now})
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	big := make([]byte, 200_000)
	var err error
	var key string
	kept := 0
	for ; err == nil && kept < 100; kept++ {
		key = string(rune('a' + kept))
		err = putItem(s, key, big)
	}
	if mapping.Classify(err).Class != mapping.StorageFull {
		t.Fatalf("got %v", err)
	}
	errs := group(t, s, func(t *Tx) error {
		_, err := t.Exec(`INSERT INTO chunks (blob, n, data) VALUES (9, 9, $1)`, make([]byte, 1_000_000))
		return err
	}, note("small", nil))
	if mapping.Classify(errs[0]).Class != mapping.StorageFull {
		t.Fatalf("in a group: %v", errs)
	}
	n, err := readItems(s)
	if err != nil || n != kept-1 {
		t.Fatalf("reading: %d of %d items, %v", n, kept-1, err)
	}
	limit(0)
	if err := putItem(s, key, big); err != nil {
		t.Fatalf("with space again: %v", err)
	}
}

// flaky is a database in which one commit fails.
type flaky struct {
	*sqlite
	fails error // of the next commit
}

func (f *flaky) exec(conn *sqlite3.Conn, text string) error {
	if err := f.fails; text == "COMMIT" && err != nil {
		f.fails = nil
		return err
	}
	return f.sqlite.exec(conn, text)
}

// TestFailedFlushEndsWriting checks that nothing more is acknowledged after the disk failed a commit, because the
// content of the file is unknown, even if the next commit might succeed. Reads continue (D2).
func TestFailedFlushEndsWriting(t *testing.T) {
	t.Parallel()
	for code, last := range map[sqlite3.ResultCode]bool{
		sqlite3.ResultIOErrFsync: true, sqlite3.ResultIOErrWrite: true, sqlite3.ResultCorrupt: true,
		sqlite3.ResultFull: false, sqlite3.ResultBusy: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			s, ctx := fresh(t), context.Background()
			if err := s.Write(ctx, note("before", nil)); err != nil {
				t.Fatal(err)
			}
			db := &flaky{sqlite: s.on.(*sqlite)}
			db.writer.db = db
			failing := func(t *Tx) error {
				db.fails = code.ToError()
				return note("a", nil)(t)
			}
			for i, err := range group(t, s, failing, note("b", nil)) {
				if sqlite3.ErrCode(err) != code {
					t.Errorf("operation %d: %v", i, err)
				}
			}
			err := s.Write(ctx, note("after", nil))
			if ping := s.Ping(ctx); (ping != nil) != last || (err != nil) != last {
				t.Errorf("afterwards: write %v, ping %v", err, ping)
			}
			if e := mapping.Classify(err); last && (e.Class != mapping.Unavailable || e.Code != CodeUnavailable) {
				t.Errorf("refused with %v", err)
			}
			want := []string{"before"}
			if !last {
				want = []string{"after", "before"}
			}
			if got := noted(t, s); !sameNames(got, want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// A panic in a read leaves its connection usable.
func TestPanicOfAReadDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	for range readersMost {
		func() {
			defer func() { _ = recover() }()
			_ = s.Read(ctx, func(*Tx) error { panic("ouch") })
		}()
	}
	for range readersMost {
		if err := s.Read(ctx, func(*Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// panicking is a database whose transactions fail to begin.
type panicking struct{ *sqlite }

func (panicking) begin(*sqlite3.Conn) error { panic("ouch") }

func TestPanicOfTheWriterLeavesNoCallerWaiting(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	w := s.on.(*sqlite).writer
	w.db = panicking{s.on.(*sqlite)}
	for range 2 {
		if err := s.Write(context.Background(), note("a", nil)); err == nil || !strings.Contains(err.Error(), "panic in the writer") {
			t.Fatalf("got %v", err)
		}
	}
}
