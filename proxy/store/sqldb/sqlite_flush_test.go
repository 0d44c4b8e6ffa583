package sqldb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

// TestAFailedFlushIsTheLast: the kernel tells of a write that failed once, and drops what was to be written. The next
// flush would succeed, without it.
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
		t.Error("what may be lost was read")
	}
	if _, err := db.renewLease(t.Context(), 1); err == nil {
		t.Error("a write was accepted")
	}
}

// TestNothingIsFlushedAfterClose: the log is removed with the last connection, and the next one at its place is another
// process's.
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
		t.Errorf("flushed behind Close: %v", err)
	}
}

// harm puts a pipe in the place of the log, which cannot be flushed.
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
