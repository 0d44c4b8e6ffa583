package sqldb

import (
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

// With full, a write returns when its commit and all earlier ones are flushed. With normal, only SQLite itself flushes.
func TestSynchronousIsAsConfigured(t *testing.T) {
	t.Parallel()
	for configured, want := range map[string]bool{"full": true, "normal": false} {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{Synchronous: configured}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := putItem(s, "k", []byte("{}")); err != nil {
			t.Error(err)
		}
		disk := &s.on.(*sqlite).disk
		if got := disk.flushed.Load() == disk.seen(); disk.seen() == 0 || got != want {
			t.Errorf("%s: %d of %d commits are flushed", configured, disk.flushed.Load(), disk.seen())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
