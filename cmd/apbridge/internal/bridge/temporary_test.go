package bridge

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// TestSweepOfTemporaryFiles checks that a start removes the remains of killed processes, but no files that are in use
// or belong to another program.
func TestSweepOfTemporaryFiles(t *testing.T) {
	t.Parallel()
	dir, old := t.TempDir(), time.Now().Add(-2*settledAge)
	file := func(path string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("a client's bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	database := func(path string) *store.Store {
		s, err := store.Open(t.Context(), filepath.Join(dir, path), store.Options{}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	file("apbridge-upload-123")
	file("apbridge-upload-folder/kept")
	file("another-upload-123")
	file("apbridge-run-unlocked/other")
	for _, folder := range []string{"apbridge-run-dead", "apbridge-run-alive", "apbridge-demo-dead", "apbridge-run-new"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"apbridge-run-dead/" + RunDatabase, "apbridge-demo-dead/" + DemoDatabase, "apbridge-run-new/" + RunDatabase} {
		if err := database(path).Close(); err != nil {
			t.Fatal(err)
		}
	}
	database("apbridge-run-alive/" + RunDatabase)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "apbridge-run-new" {
			if err := os.Chtimes(filepath.Join(dir, e.Name()), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	SweepTemporary(dir)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	want := []string{"another-upload-123", "apbridge-run-alive", "apbridge-run-new", "apbridge-run-unlocked", "apbridge-upload-folder"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left in the folder (-want +got):\n%s", diff)
	}
}

// TestSweepLeavesAnOpenUploadItsBytes checks that a process can still read a removed file that it has open.
func TestSweepLeavesAnOpenUploadItsBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, "apbridge-upload-*")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("bytes"); err != nil {
		t.Fatal(err)
	}
	SweepTemporary(dir)
	got := make([]byte, 5)
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != "bytes" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := os.Stat(f.Name()); runtime.GOOS != "windows" && err == nil {
		t.Error("the file has its name still")
	}
}
