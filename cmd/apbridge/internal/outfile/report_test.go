package outfile_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
)

// A report that is not written leaves an existing file unchanged and creates none.
func TestDrop(t *testing.T) {
	t.Parallel()
	old, fresh := filepath.Join(t.TempDir(), "old.json"), filepath.Join(t.TempDir(), "new.json")
	if err := os.WriteFile(old, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{old, fresh} {
		f, err := outfile.OpenReport("--report", file, func(string, io.Writer) error { return nil })
		if err == nil {
			err = f.Drop()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := os.ReadFile(old); string(raw) != "before" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("an empty report was left")
	}
}
