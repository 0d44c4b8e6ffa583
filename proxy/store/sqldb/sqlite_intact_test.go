package sqldb

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
	sqlite3 "zombiezen.com/go/sqlite"
)

// TestFileTruncatedInUse checks that a truncated file is noticed at the next write, or at the next readiness check if
// nothing is written, even if no lost page is read (D3).
func TestFileTruncatedInUse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, left := range map[string]func(size int64) int64{
		"by half":    func(size int64) int64 { return size / 2 / pageSize * pageSize },
		"by a page":  func(size int64) int64 { return size - pageSize },
		"by a byte":  func(size int64) int64 { return size - 1 },
		"to nothing": func(int64) int64 { return 0 },
	} {
		for _, asks := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := damaged(t, func(path string) error {
					info, err := os.Stat(path)
					if err != nil {
						return err
					}
					return os.Truncate(path, left(info.Size()))
				})
				if asks {
					if err := s.Ping(ctx); err == nil || !strings.Contains(err.Error(), "truncated") {
						t.Errorf("readiness check: %v", err)
					}
				}
				err := s.Write(ctx, note("after", nil))
				if e := mapping.Classify(err); e.Class != mapping.Unavailable || e.Code != CodeUnavailable || !strings.Contains(e.Message, "truncated") {
					t.Errorf("a write: %v", err)
				}
				if err := s.Ping(ctx); err == nil {
					t.Error("the readiness check succeeded")
				}
			})
		}
	}
}

// TestLogRemovedInUse checks that a missing write-ahead log is noticed. Without the log, the file lacks the latest
// acknowledged data after a crash (D3).
func TestLogRemovedInUse(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	if err := s.Write(ctx, note("before", nil)); err != nil {
		t.Fatal(err)
	}
	path := s.on.(*sqlite).path
	if err := os.Remove(path + "-wal"); err != nil {
		t.Skipf("open files cannot be deleted here: %v", err)
	}
	if err := s.Write(ctx, note("after", nil)); err == nil || !strings.Contains(err.Error(), "-wal was moved or deleted") {
		t.Errorf("a write: %v", err)
	}
	if err := s.Ping(ctx); err == nil {
		t.Error("the readiness check succeeded")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, path, Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := noted(t, s); !sameNames(got, []string{"before"}) {
		t.Errorf("after an orderly stop: %v", got)
	}
}

// Space freed by another program's VACUUM is not damage.
func TestFileShrunkByAnotherProgram(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	for i := range 100 {
		put(t, s, i)
	}
	for i := range 99 {
		if err := deleteItem(s, itoa(int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	path := s.on.(*sqlite).path
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	size := func() int64 {
		t.Helper()
		if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if err := s.Write(ctx, note("large", nil)); err != nil { // records that size
		t.Fatal(err)
	}
	if _, err := db.Exec("VACUUM"); err != nil {
		t.Fatal(err)
	}
	if after := size(); after > before/2 {
		t.Fatalf("%d bytes, %d before", after, before)
	}
	if err := s.Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Write(ctx, note("small", nil)); err != nil {
		t.Error(err)
	}
	put(t, s, 1000)
}

// Any client may check readiness, so the check only reads.
func TestReadinessOnlyReads(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	if err := s.Write(ctx, note("before", nil)); err != nil {
		t.Fatal(err)
	}
	was, _ := s.LogSize()
	for range 100 {
		if err := s.Ping(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if now, _ := s.LogSize(); now != was {
		t.Errorf("the log has grown from %d to %d bytes", was, now)
	}
}

var full = sqlite3.ResultFull.ToError()

// TestReadinessOnAFullDisk checks that readiness reports a full disk and tries again (D1).
func TestReadinessOnAFullDisk(t *testing.T) {
	t.Parallel()
	s, ctx := fresh(t), context.Background()
	db := &flaky{sqlite: s.on.(*sqlite), fails: full}
	db.writer.db = db
	if err := s.Write(ctx, note("a", nil)); mapping.Classify(err).Class != mapping.StorageFull {
		t.Fatal(err)
	}
	db.fails = full
	for range 10 { // one of them tries to write
		if err := s.Ping(ctx); mapping.Classify(err).Class != mapping.StorageFull {
			t.Fatalf("got %v", err)
		}
	}
	if db.fails != nil {
		t.Error("no write was tried")
	}
	db.probe.last = db.probe.last.Add(-probeEvery)
	for range 2 {
		if err := s.Ping(ctx); err != nil {
			t.Fatalf("with space again: %v", err)
		}
	}
}
