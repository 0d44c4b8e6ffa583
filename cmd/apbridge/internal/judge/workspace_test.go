package judge

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file is written below the folder or not at all, whatever its name.
func FuzzWorkspace(f *testing.F) {
	for _, name := range []string{"a.txt", "../a.txt", "/etc/a.txt", "in/../../a.txt", "", ".", "a\x00", `..\a`, "a/", "//a", strings.Repeat("x/", 300)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		above := t.TempDir()
		w, err := newWorkspace(filepath.Join(above, "w"))
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Write(name, func(to io.Writer) error { _, err := io.WriteString(to, "x"); return err })
		_, _ = w.matching(name)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if there, err := os.ReadDir(above); err != nil || len(there) != 1 {
			t.Errorf("%q came out: %v, %v", name, there, err)
		}
	})
}

// A link made by an agent's program does not lead out of the folder.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := newWorkspace("")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Symlink(outside, filepath.Join(w.dir, "a.txt")); err != nil {
		t.Skip("symbolic links cannot be created here:", err)
	}
	if text, err := w.text("a.txt", 10); err == nil {
		t.Errorf("read %q", text)
	}
	if err := w.Write("a.txt", func(to io.Writer) error { _, err := io.WriteString(to, "x"); return err }); err == nil {
		t.Error("written through the link")
	}
	if raw, err := os.ReadFile(outside); string(raw) != "secret" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
}

// Read-only folders are removed, too.
func TestCloseRemovesLockedFolders(t *testing.T) {
	t.Parallel()
	heedLocks(t)
	w, err := newWorkspace("")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write("locked/in/a.txt", func(to io.Writer) error { _, err := io.WriteString(to, "x"); return err }); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"locked/in", "locked"} {
		if err := os.Chmod(filepath.Join(w.dir, folder), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.dir); err == nil {
		t.Errorf("%s was left", w.dir)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, young, other := filepath.Join(dir, "apbridge-bench-1"), filepath.Join(dir, "apbridge-bench-2"), filepath.Join(dir, "mine")
	for _, folder := range []string{old, young, other} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-abandoned - time.Minute)
	for _, folder := range []string{old, other} {
		if err := os.Chtimes(folder, long, long); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(dir)
	for folder, stays := range map[string]bool{old: false, young: true, other: true} {
		if _, err := os.Stat(folder); (err == nil) != stays {
			t.Errorf("%s: %v", folder, err)
		}
	}
}
