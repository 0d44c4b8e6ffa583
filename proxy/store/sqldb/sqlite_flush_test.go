package sqldb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

// The kernel reports a failed write once and drops the data. The next flush would succeed without it.
func TestAFailedFlushIsTheLast(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{Synchronous: "full"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := s.on.(*sqlite)
	if _, err := db.renewLease(t.Context(), 1); err != nil { // relaxed
		t.Fatal(err)
	}
	log := harm(t, &db.disk)
	if s.Flush() == nil {
		t.Fatal("a pipe was flushed")
	}
	db.disk.file = log
	if s.Flush() == nil {
		t.Error("the second flush succeeded")
	}
	if _, err := readItems(s); err == nil {
		t.Error("data that may be lost was returned")
	}
	if _, err := db.renewLease(t.Context(), 1); err == nil {
		t.Error("a write was accepted")
	}
}

// The log is removed with the last connection, and a new log in its place belongs to another process.
func TestNothingIsFlushedAfterClose(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{Synchronous: "full"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	db := s.on.(*sqlite)
	_, err = db.renewLease(t.Context(), 1)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); !errors.Is(err, errClosed) {
		t.Errorf("flushed after Close: %v", err)
	}
}

// harm replaces the log by a pipe, which cannot be flushed.
func harm(t *testing.T, f *flushes) (log *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	log, f.file = f.file, w
	return log
}
